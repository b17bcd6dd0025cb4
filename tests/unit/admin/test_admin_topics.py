"""Topics as an operator sees and changes them."""

import pytest

from tailfin.admin import NotFound, Perm
from tailfin.client.queues import Queue
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError
from tests.unit.admin.scene import Scene, eventually


def test_a_topic_is_made_on_all_masters_and_known_at_once(scene: Scene) -> None:
    assert scene.admin.topics.create("everywhere", queues=3) == ("broker-a", "broker-b")
    places = scene.admin.topics.route("everywhere")
    assert [(each.broker, each.read_queues, each.write_queues) for each in places] == [
        ("broker-a", 3, 3),
        ("broker-b", 3, 3),
    ]
    assert [each.cluster for each in places] == ["DefaultCluster"] * 2
    assert places[0].addresses == {0: scene.cluster.broker.address}
    assert places[0].perm == Perm.READ | Perm.WRITE


@pytest.mark.parametrize("by", ["name", "address"])
def test_a_topic_is_made_on_one_broker(scene: Scene, by: str) -> None:
    broker = "broker-b" if by == "name" else scene.cluster.brokers[1].address
    assert scene.admin.topics.create(f"one_{by}", broker=broker, read_queues=4, write_queues=2) == (
        "broker-b",
    )
    (place,) = scene.admin.topics.route(f"one_{by}")
    assert (place.broker, place.read_queues, place.write_queues) == ("broker-b", 4, 2)


def test_the_list_leaves_out_what_is_not_the_users(scene: Scene) -> None:
    scene.admin.topics.create("mine", cluster="DefaultCluster")
    scene.admin.topics.create("%RETRY%mine")
    names = scene.admin.topics.list()
    assert "mine" in names
    assert not [name for name in names if name.startswith(("%", "RMQ_SYS", "rmq_sys", "broker-", "TBW102"))]
    assert scene.admin.topics.list(cluster="DefaultCluster") == names
    assert {"mine", "%RETRY%mine", "TBW102", "broker-a"} <= set(scene.admin.topics.list(everything=True))


def test_settings_change_one_by_one(scene: Scene) -> None:
    scene.admin.topics.create("changing", queues=2, attributes={"message.type": "NORMAL"})
    changed = scene.admin.topics.update("changing", read_queues=5, perm=Perm.READ, broker="broker-a")
    assert [
        (name, each.read_queue_nums, each.write_queue_nums, each.perm) for name, each in changed.items()
    ] == [("broker-a", 5, 2, 4)]
    settings = scene.admin.topics.config("changing")
    assert {name: each.read_queue_nums for name, each in settings.items()} == {"broker-a": 5, "broker-b": 2}
    assert settings["broker-a"].attributes == {"message.type": "NORMAL"}


def test_a_deleted_topic_is_gone_everywhere(scene: Scene) -> None:
    scene.admin.topics.create("short_lived", order=True)
    order = scene.admin.cluster.kv_get("ORDER_TOPIC_CONFIG", "short_lived")
    assert order == "broker-a:8;broker-b:8"
    assert scene.admin.topics.delete("short_lived") == ("broker-a", "broker-b")
    assert scene.admin.cluster.kv_get("ORDER_TOPIC_CONFIG", "short_lived") is None
    for ask in (scene.admin.topics.route, scene.admin.topics.config, scene.admin.topics.delete):
        with pytest.raises(NotFound, match="'short_lived'"):
            ask("short_lived")


def test_the_status_tells_the_ends_of_the_queues(scene: Scene) -> None:
    scene.admin.topics.create("counted", queues=2)
    for _ in range(3):
        scene.send("counted", queue_id=1)
    status = eventually(
        lambda: (found := scene.admin.topics.status("counted")).messages == 3 and found, "three messages"
    )
    assert status
    ends = {each.queue: (each.min_offset, each.max_offset) for each in status.queues}
    assert ends[Queue("counted", "broker-a", 1)] == (0, 3)
    assert sum(last for _, last in ends.values()) == 3
    assert len(ends) == 4
    by_queue = {each.queue: each.last_store_timestamp for each in status.queues}
    assert by_queue[Queue("counted", "broker-b", 0)] is None
    assert by_queue[Queue("counted", "broker-a", 1)]


def test_the_groups_of_a_topic_are_those_with_offsets(scene: Scene) -> None:
    scene.admin.topics.create("watched")
    scene.admin.groups.create("watcher")
    assert scene.admin.topics.groups("watched") == ()
    scene.admin.offsets.skip("watcher", "watched")
    assert scene.admin.topics.groups("watched") == ("watcher",)


def test_what_is_not_there_is_named(scene: Scene) -> None:
    topics = scene.admin.topics
    with pytest.raises(NotFound, match=r"'nowhere' does not exist.*topic create nowhere"):
        topics.status("nowhere")
    with pytest.raises(NotFound, match="no cluster 'Moon'; there are: DefaultCluster"):
        topics.create("anything", cluster="Moon")
    with pytest.raises(NotFound, match=r"no broker 'broker-z'.*broker-a, broker-b"):
        topics.create("anything", broker="broker-z")
    with pytest.raises(RemotingError, match="illegal characters") as refused:
        topics.create("not a name")
    assert refused.value.code == ResponseCode.INVALID_PARAMETER
