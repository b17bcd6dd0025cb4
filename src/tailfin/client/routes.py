"""Where a topic's queues are: what a name server's answer means. No I/O."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from tailfin.client.queues import Queue
from tailfin.wire.bodies.routes import QueueData, TopicRouteData
from tailfin.wire.bodies.topics import Perm

MASTER = 0


@dataclass(frozen=True, slots=True)
class Route:
    """A topic's queues, and the addresses of the brokers that have them.

    Attributes:
        topic: whose route it is.
        publish: queues to send to, in the order in which they take turns.
        subscribe: queues to read from.
        brokers: addresses by broker name and id; id 0 is the master.
        ordered: the operator has fixed the queues (`orderTopicConf`).
        is_default: the topic does not exist; brokers create it with the first message.
    """

    topic: str
    publish: tuple[Queue, ...]
    subscribe: tuple[Queue, ...]
    brokers: Mapping[str, Mapping[int, str]]
    ordered: bool = False
    is_default: bool = False

    def masters(self) -> Iterator[tuple[str, str]]:
        """Yield name and address of every broker that has a master."""
        for name, addresses in self.brokers.items():
            if MASTER in addresses:
                yield name, addresses[MASTER]


def read_route(topic: str, answer: TopicRouteData) -> Route:
    """Make a route of a name server's answer."""
    brokers = {each.broker_name: dict(each.broker_addrs) for each in answer.broker_datas}
    queue_datas = sorted(answer.queue_datas, key=lambda each: each.broker_name)
    static = _static_queues(topic, answer)
    if answer.order_topic_conf:
        publish = _configured_queues(topic, answer.order_topic_conf)
    elif static:
        publish = static
    else:
        publish = _queues(
            topic,
            [each for each in queue_datas if MASTER in brokers.get(each.broker_name, {})],
            Perm.WRITE,
        )
    subscribe = static or _queues(topic, queue_datas, Perm.READ)
    return Route(topic, publish, subscribe, brokers, ordered=bool(answer.order_topic_conf))


def for_missing_topic(topic: str, template: TopicRouteData, queue_count: int) -> Route:
    """Return the route of a topic that brokers will create; `template` is the route of TBW102."""
    shrunk = [
        replace(
            each,
            read_queue_nums=min(queue_count, each.read_queue_nums),
            write_queue_nums=min(queue_count, each.read_queue_nums),
        )
        for each in template.queue_datas
    ]
    route = read_route(topic, replace(template, queue_datas=shrunk, order_topic_conf=None))
    return replace(route, subscribe=(), is_default=True)


def widened(route: Route, default: Route) -> Route:
    """Return a young topic's route with the queues of brokers that have not created it yet."""
    if route.ordered:
        return route
    having = {each.broker for each in route.publish}
    lacking = [each for each in default.publish if each.broker not in having | route.brokers.keys()]
    if not lacking:
        return route
    brokers = {**default.brokers, **route.brokers}
    return replace(route, publish=tuple(sorted([*route.publish, *lacking])), brokers=brokers)


def reading_address(
    addresses: Mapping[int, str], preferred: int, unreachable: Collection[str] = ()
) -> tuple[int, str] | None:
    """Choose the member of a broker to read from: the preferred one, else the master, else any slave.

    Members that do not answer come last: one of them is better than none.
    """
    if not addresses:
        return None
    order = sorted(addresses, key=lambda each: (each != preferred, each != MASTER, each))
    for broker_id in order:
        if addresses[broker_id] not in unreachable:
            return broker_id, addresses[broker_id]
    return order[0], addresses[order[0]]


def _queues(topic: str, queue_datas: list[QueueData], perm: Perm) -> tuple[Queue, ...]:
    return tuple(
        Queue(topic, each.broker_name, number)
        for each in queue_datas
        if each.perm & perm
        for number in range(each.write_queue_nums if perm is Perm.WRITE else each.read_queue_nums)
    )


def _configured_queues(topic: str, config: str) -> tuple[Queue, ...]:
    queues = []
    for entry in filter(None, config.split(";")):
        broker, _, count = entry.strip().rpartition(":")
        if broker and count.isdecimal():
            queues += [Queue(topic, broker, number) for number in range(int(count))]
    return tuple(queues)


def _static_queues(topic: str, answer: TopicRouteData) -> tuple[Queue, ...]:
    """Return the logical queues of a static topic, each on the broker that leads it now."""
    leaders: dict[int, tuple[int, str]] = {}
    for broker, mapping in (answer.topic_queue_mapping_by_broker or {}).items():
        for number in mapping.curr_id_map:
            known = leaders.get(number)
            if known is None or mapping.epoch > known[0]:
                leaders[number] = mapping.epoch, broker
    return tuple(Queue(topic, broker, number) for number, (_, broker) in sorted(leaders.items()))
