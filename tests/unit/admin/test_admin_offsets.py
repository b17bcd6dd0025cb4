"""Progress of groups, and resets."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from tailfin.admin import AdminError, NotFound
from tailfin.admin.progress import progress
from tailfin.client.queues import Queue
from tailfin.wire.bodies.common import MessageQueue
from tailfin.wire.bodies.stats import ConsumeStats, OffsetWrapper
from tailfin.wire.codes import Code
from tests.unit.admin.scene import Scene, eventually
from tests.unit.admin.scene import scene as started


def with_messages(scene: Scene, topic: str, group: str, count: int = 5) -> Queue:
    """Make a topic of one queue with messages, and a group that has read none."""
    scene.admin.topics.create(topic, queues=1, broker="broker-a")
    scene.admin.groups.create(group)
    for number in range(count):
        scene.send(topic, b"%d" % number)
    return Queue(topic, "broker-a", 0)


def test_progress_tells_the_lag_of_each_queue(scene: Scene) -> None:
    queue = with_messages(scene, "lagging", "slow")
    scene.admin.offsets.reset_queue("slow", queue, 2)
    found = scene.admin.offsets.progress("slow")
    (only,) = found.queues
    assert (only.queue, only.offset, only.max_offset, only.lag, only.in_flight) == (queue, 2, 5, 3, 0)
    assert found.lag == 3
    assert only.last_store_timestamp == scene.admin.messages.by_offset(queue, 1).store_timestamp
    assert scene.admin.offsets.progress("slow", "lagging") == found


def test_a_reset_by_time_goes_to_the_first_message_since(scene: Scene) -> None:
    queue = with_messages(scene, "timed", "traveller")
    messages = list(scene.admin.messages.read("timed"))
    when = messages[3].store_timestamp
    first = next(each.queue_offset for each in messages if each.store_timestamp >= when)
    for to in (when, datetime.fromtimestamp(when / 1000, UTC)):
        scene.admin.offsets.skip("traveller", "timed")
        (change,) = scene.admin.offsets.reset("traveller", "timed", to)
        assert (change.queue, change.before, change.after) == (queue, 5, first)
        assert scene.admin.offsets.progress("traveller").queues[0].offset == first


@pytest.mark.shows("OF-06")
def test_the_offsets_of_times_and_ends_are_found(scene: Scene) -> None:
    queue = with_messages(scene, "searched", "searcher")
    messages = list(scene.admin.messages.read("searched"))
    find = scene.admin.offsets.find
    assert (find(queue, "first"), find(queue, "last")) == (0, 5)
    when = messages[2].store_timestamp
    assert find(queue, when) == next(each.queue_offset for each in messages if each.store_timestamp >= when)
    with pytest.raises(NotFound, match="not on a broker 'broker-z'"):
        find(queue._replace(broker="broker-z"), "first")


def test_a_reset_goes_to_the_ends(scene: Scene) -> None:
    with_messages(scene, "ended", "jumper")
    (change,) = scene.admin.offsets.reset("jumper", "ended", "last")
    assert (change.before, change.after, change.min_offset, change.max_offset) == (None, 5, 0, 5)
    (change,) = scene.admin.offsets.reset("jumper", "ended", "first")
    assert (change.before, change.after) == (5, 0)


def test_a_dry_run_changes_nothing(scene: Scene) -> None:
    queue = with_messages(scene, "dry", "careful")
    (change,) = scene.admin.offsets.skip("careful", "dry", dry_run=True)
    assert (change.before, change.after) == (None, 5)
    assert scene.admin.offsets.reset_queue("careful", queue, 3, dry_run=True).after == 3
    assert scene.admin.offsets.progress("careful").queues == ()


def test_an_offset_that_the_queue_does_not_have_is_refused(scene: Scene) -> None:
    queue = with_messages(scene, "bounded", "wanderer")
    for wrong in (-1, 6):
        with pytest.raises(AdminError, match=f"has offsets 0 to 5, not {wrong}"):
            scene.admin.offsets.reset_queue("wanderer", queue, wrong)
    with pytest.raises(NotFound, match="not on a broker 'broker-z'"):
        scene.admin.offsets.reset_queue("wanderer", queue._replace(broker="broker-z"), 0)
    with pytest.raises(NotFound, match="group 'stranger'"):
        scene.admin.offsets.reset("stranger", "bounded", "first")


def test_a_clone_has_the_offsets_of_its_source(scene: Scene) -> None:
    queue = with_messages(scene, "copied", "original")
    scene.admin.offsets.reset_queue("original", queue, 4)
    scene.admin.groups.create("copy")
    (change,) = scene.admin.offsets.clone("original", "copy")
    assert (change.queue, change.before, change.after) == (queue, None, 4)
    (mine,) = scene.admin.offsets.progress("copy").queues
    assert (mine.queue, mine.offset) == (queue, 4)
    with pytest.raises(NotFound, match="'nobody'"):
        scene.admin.offsets.clone("original", "nobody")


def test_what_brokers_tell_of_a_group_is_put_together() -> None:
    def told(broker: str, *offsets: int) -> ConsumeStats:
        ends = OffsetWrapper(broker_offset=offsets[0], consumer_offset=offsets[1], pull_offset=offsets[2])
        queue = MessageQueue(topic="t", broker_name=broker, queue_id=0)
        return ConsumeStats(offset_table={queue: ends}, consume_tps=1.5)

    found = progress("g", [told("b", 10, 4, 6), told("a", 5, 5, 0)], {Queue("t", "b", 0): "me"})
    assert [each.queue.broker for each in found.queues] == ["a", "b"]
    assert (found.lag, found.in_flight, found.consume_tps) == (6, 2, 3.0)
    assert [each.client_id for each in found.queues] == [None, "me"]


@pytest.fixture(scope="module")
def old_scene() -> Iterator[Scene]:
    """A broker that lets clients do resets, as those before 5.x."""
    with started(useServerSideResetOffset="false") as running:
        yield running


def test_a_group_that_is_offline_is_reset_by_a_commit(old_scene: Scene) -> None:
    queue = with_messages(old_scene, "old", "offline")
    old_scene.admin.offsets.reset_queue("offline", queue, 3)
    assert old_scene.admin.offsets.progress("offline").queues[0].offset == 3
    old_scene.admin.offsets.skip("offline", "old")
    assert old_scene.admin.offsets.progress("offline").lag == 0


def test_members_that_are_connected_are_sent_to_a_time_and_to_no_offset(old_scene: Scene) -> None:
    queue = with_messages(old_scene, "busy", "online")
    old_scene.admin.offsets.skip("online", "busy")
    old_scene.beat("online", {"busy": "*"})
    old_scene.admin.offsets.reset("online", "busy", "first")
    heard = old_scene.talker.heard
    eventually(lambda: [each for each in heard if each.code == Code.RESET_CONSUMER_CLIENT_OFFSET], "a reset")
    with pytest.raises(AdminError, match="stop them first, or reset by time"):
        old_scene.admin.offsets.reset_queue("online", queue, 1)
