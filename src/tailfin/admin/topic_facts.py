"""What there is to know about a topic. No I/O."""

from dataclasses import dataclass

from tailfin.client.queues import Queue
from tailfin.wire.bodies.routes import TopicRouteData
from tailfin.wire.bodies.topics import Perm


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """The ends of a queue.

    Attributes:
        queue: the queue.
        min_offset: offset of the first message that is still stored.
        max_offset: offset that the next message will get.
        last_store_timestamp: when the newest message was stored, in milliseconds since the epoch; None when
            there is none.
    """

    queue: Queue
    min_offset: int
    max_offset: int
    last_store_timestamp: int | None


@dataclass(frozen=True, slots=True)
class TopicStatus:
    """How full a topic is.

    Attributes:
        topic: its name.
        queues: its queues, in order.
        put_tps: messages stored a second over the last minute; brokers before 5.x do not tell it.
    """

    topic: str
    queues: tuple[QueueStatus, ...]
    put_tps: float

    @property
    def messages(self) -> int:
        """How many messages the queues hold."""
        return sum(each.max_offset - each.min_offset for each in self.queues)


@dataclass(frozen=True, slots=True)
class TopicPlace:
    """A topic on one broker.

    Attributes:
        broker: the broker's name.
        cluster: the cluster it belongs to.
        addresses: addresses of its members by id; 0 is the master.
        read_queues: queues that consumers read.
        write_queues: queues that producers write.
        perm: what may be done.
    """

    broker: str
    cluster: str
    addresses: dict[int, str]
    read_queues: int
    write_queues: int
    perm: Perm


def places(route: TopicRouteData) -> tuple[TopicPlace, ...]:
    """Say a route broker by broker."""
    brokers = {each.broker_name: each for each in route.broker_datas}
    return tuple(
        TopicPlace(
            broker=queues.broker_name,
            cluster=brokers[queues.broker_name].cluster or "",
            addresses=dict(sorted(brokers[queues.broker_name].broker_addrs.items())),
            read_queues=queues.read_queue_nums,
            write_queues=queues.write_queue_nums,
            perm=Perm(queues.perm),
        )
        for queues in sorted(route.queue_datas, key=lambda each: each.broker_name)
        if queues.broker_name in brokers
    )
