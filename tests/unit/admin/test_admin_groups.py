"""Consumer groups as an operator sees and changes them."""

import pytest

from tailfin.admin import NotFound
from tests.unit.admin.scene import Scene


def test_a_group_is_made_changed_listed_and_deleted(scene: Scene) -> None:
    groups = scene.admin.groups
    assert groups.create("billing", retry_max_times=5, consume_message_orderly=True) == (
        "broker-a",
        "broker-b",
    )
    assert groups.list() == ("billing",)
    assert "TOOLS_CONSUMER" in groups.list(everything=True)
    changed = groups.update("billing", retry_max_times=7, broker="broker-b")
    assert {name: each.retry_max_times for name, each in changed.items()} == {"broker-b": 7}
    settings = groups.config("billing")
    assert {name: each.retry_max_times for name, each in settings.items()} == {"broker-a": 5, "broker-b": 7}
    assert all(each.consume_message_orderly for each in settings.values())
    assert groups.delete("billing") == ("broker-a", "broker-b")
    assert groups.list() == ()


def test_offsets_go_with_a_deleted_group_unless_they_are_kept(scene: Scene) -> None:
    scene.admin.topics.create("read_by_some", queues=1)
    for keep in (False, True):
        scene.admin.groups.create("reader")
        scene.admin.offsets.skip("reader", "read_by_some")
        scene.admin.groups.delete("reader", keep_offsets=keep)
        scene.admin.groups.create("reader")
        assert bool(scene.admin.offsets.progress("reader").queues) is keep
        scene.admin.groups.delete("reader")


def test_a_group_that_is_not_there_is_named(scene: Scene) -> None:
    for ask in (scene.admin.groups.config, scene.admin.groups.delete, scene.admin.offsets.progress):
        with pytest.raises(NotFound, match="'nobody' is on none of the brokers broker-a, broker-b"):
            ask("nobody")
