"""Dead letters listed and sent again."""

import pytest

from tailfin.admin import NotFound
from tests.unit.admin.scene import Scene, eventually


def with_dead_letters(scene: Scene, group: str, count: int) -> None:
    topic = f"topic_of_{group}"
    scene.admin.topics.create(topic, queues=1, broker="broker-a")
    scene.admin.groups.create(group)
    for number in range(count):
        unique = f"{group:X<27}{number:05d}"
        scene.kill_letter(
            group, scene.send(topic, b"%d" % number, properties={"UNIQ_KEY": unique, "TAGS": "t"})
        )
    eventually(lambda: scene.admin.dead_letters.groups().get(group) == count, "the dead letters")


@pytest.mark.shows("DQ-04", "DQ-05")
def test_dead_letters_are_found_by_their_group(scene: Scene) -> None:
    with_dead_letters(scene, "failing", 3)
    letters = scene.admin.dead_letters
    assert [each.body for each in letters.list("failing")] == [b"0", b"1", b"2"]
    assert [each.body for each in letters.list("failing", limit=2)] == [b"0", b"1"]
    assert letters.list("failing", start="last") == ()
    eventually(
        lambda: scene.admin.messages.by_unique_key("%DLQ%failing", f"{'failing':X<27}00001"), "the index"
    )
    assert letters.show("failing", f"{'failing':X<27}00001").body == b"1"


@pytest.mark.shows("DQ-06")
def test_a_dead_letter_is_sent_to_its_group_alone(scene: Scene) -> None:
    with_dead_letters(scene, "retrying", 2)
    letter = scene.admin.dead_letters.list("retrying")[1]
    result = scene.admin.dead_letters.resend("retrying", letter.offset_message_id)
    assert result.queue.topic == "%RETRY%retrying"
    (again,) = eventually(lambda: list(scene.admin.messages.read("%RETRY%retrying")), "the copy")
    assert (again.body, again.tags, again.reconsume_times) == (b"1", "t", 0)
    assert again.property("RETRY_TOPIC") == "topic_of_retrying"
    assert again.property("UNIQ_KEY") == f"{'retrying':X<27}00001"
    assert again.property("DELAY") is None
    assert scene.admin.topics.status("topic_of_retrying").messages == 2


def test_all_dead_letters_are_sent_again(scene: Scene) -> None:
    with_dead_letters(scene, "hopeful", 3)
    assert scene.admin.dead_letters.resend_all("hopeful", limit=2) == 2
    assert scene.admin.dead_letters.resend_all("hopeful") == 3
    read = eventually(
        lambda: len(found := list(scene.admin.messages.read("%RETRY%hopeful"))) == 5 and found, "the copies"
    )
    assert read
    assert sorted(each.body for each in read) == [b"0", b"0", b"1", b"1", b"2"]


def test_a_group_without_dead_letters_has_none(scene: Scene) -> None:
    assert scene.admin.dead_letters.list("healthy") == ()
    assert scene.admin.dead_letters.resend_all("healthy") == 0
    with pytest.raises(NotFound, match="group 'healthy' has no dead letters"):
        scene.admin.dead_letters.show("healthy", "anything")
