"""What a name server's answer means to a client."""

import pytest

from tailfin.client.queues import Queue
from tailfin.client.routes import for_missing_topic, read_route, reading_address, widened
from tailfin.wire.bodies.routes import BrokerData, QueueData, TopicRouteData
from tailfin.wire.bodies.topics import TopicQueueMappingInfo


def queue_data(broker: str, *, read: int = 2, write: int = 2, perm: int = 6) -> QueueData:
    return QueueData(broker_name=broker, read_queue_nums=read, write_queue_nums=write, perm=perm)


def broker_data(broker: str, **addresses: str) -> BrokerData:
    return BrokerData(
        broker_name=broker,
        broker_addrs={int(key.removeprefix("id")): each for key, each in addresses.items()},
    )


TWO = TopicRouteData(
    queue_datas=[queue_data("b"), queue_data("a", read=1, write=3)],
    broker_datas=[broker_data("a", id0="1.1.1.1:1"), broker_data("b", id0="2.2.2.2:2", id1="3.3.3.3:3")],
)


@pytest.mark.shows("PR-06")
def test_queues_to_send_to_are_sorted_and_counted_by_writes() -> None:
    route = read_route("T", TWO)
    assert route.publish == tuple(
        Queue("T", *each) for each in [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]
    )
    assert route.subscribe == tuple(Queue("T", *each) for each in [("a", 0), ("b", 0), ("b", 1)])
    assert not route.ordered


@pytest.mark.shows("PR-06")
def test_a_broker_without_master_is_read_from_and_not_sent_to() -> None:
    data = TopicRouteData(queue_datas=[queue_data("a")], broker_datas=[broker_data("a", id1="1.1.1.1:1")])
    route = read_route("T", data)
    assert route.publish == ()
    assert len(route.subscribe) == 2
    assert list(route.masters()) == []


@pytest.mark.shows("TP-09")
@pytest.mark.parametrize(("perm", "publish", "subscribe"), [(2, 2, 0), (4, 0, 2), (6, 2, 2), (0, 0, 0)])
def test_permissions_decide_what_queues_are_for(perm: int, publish: int, subscribe: int) -> None:
    data = TopicRouteData(
        queue_datas=[queue_data("a", perm=perm)], broker_datas=[broker_data("a", id0="1.1.1.1:1")]
    )
    route = read_route("T", data)
    assert (len(route.publish), len(route.subscribe)) == (publish, subscribe)


@pytest.mark.shows("OR-07", "PR-06")
def test_an_order_config_wins() -> None:
    data = TopicRouteData(
        queue_datas=TWO.queue_datas, broker_datas=TWO.broker_datas, order_topic_conf="b:1;a:2;nonsense"
    )
    route = read_route("T", data)
    assert route.publish == (Queue("T", "b", 0), Queue("T", "a", 0), Queue("T", "a", 1))
    assert route.ordered


def test_a_static_topics_queues_are_where_the_newest_mapping_says() -> None:
    mapping = {
        "a": TopicQueueMappingInfo(topic="T", bname="a", epoch=2, curr_id_map={0: 0, 1: 1}),
        "b": TopicQueueMappingInfo(topic="T", bname="b", epoch=1, curr_id_map={1: 0, 2: 1}),
    }
    data = TopicRouteData(
        queue_datas=TWO.queue_datas, broker_datas=TWO.broker_datas, topic_queue_mapping_by_broker=mapping
    )
    expected = (Queue("T", "a", 0), Queue("T", "a", 1), Queue("T", "b", 2))
    route = read_route("T", data)
    assert route.publish == route.subscribe == expected


def test_a_missing_topic_has_as_many_queues_as_it_would_be_created_with() -> None:
    template = TopicRouteData(
        queue_datas=[queue_data("a", read=8, write=8, perm=7), queue_data("b", read=2, write=8, perm=7)],
        broker_datas=TWO.broker_datas,
    )
    route = for_missing_topic("new", template, 4)
    assert [(each.broker, each.queue_id) for each in route.publish] == [
        *(("a", number) for number in range(4)),
        *(("b", number) for number in range(2)),
    ]
    assert route.subscribe == ()
    assert route.is_default


def test_a_topic_that_one_broker_has_created_is_sent_to_the_others_too() -> None:
    one = TopicRouteData(queue_datas=[queue_data("b")], broker_datas=[TWO.broker_datas[1]])
    default = for_missing_topic("new", TWO, 4)
    route = read_route("new", one)
    wider = widened(route, default)
    assert wider.publish == (Queue("new", "a", 0), Queue("new", "b", 0), Queue("new", "b", 1))
    assert wider.subscribe == route.subscribe
    assert wider.brokers.keys() == {"a", "b"}
    assert widened(read_route("new", TWO), default) == read_route("new", TWO)
    fixed = read_route("new", TopicRouteData(broker_datas=one.broker_datas, order_topic_conf="b:1"))
    assert widened(fixed, default) == fixed


@pytest.mark.parametrize(
    ("addresses", "preferred", "unreachable", "expected"),
    [
        ({0: "m", 1: "s"}, 0, (), (0, "m")),
        ({0: "m", 1: "s"}, 1, (), (1, "s")),
        ({0: "m", 1: "s"}, 2, (), (0, "m")),
        ({1: "s", 2: "t"}, 0, (), (1, "s")),
        ({0: "m", 1: "s"}, 0, ("m",), (1, "s")),
        ({0: "m", 1: "s", 2: "t"}, 1, ("s", "m"), (2, "t")),
        ({0: "m"}, 0, ("m",), (0, "m")),
        ({}, 0, (), None),
    ],
)
def test_the_member_to_read_from(
    addresses: dict[int, str], preferred: int, unreachable: tuple[str, ...], expected: object
) -> None:
    assert reading_address(addresses, preferred, unreachable) == expected
