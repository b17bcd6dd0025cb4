from pathlib import Path

import pytest

from tailfin.broker import names
from tailfin.broker.groups import GroupTable
from tailfin.config.broker import BrokerConfig
from tailfin.wire.bodies.groups import SubscriptionGroupConfig
from tests.unit.loops import in_loop


def loaded(folder: Path, **settings: object) -> GroupTable:
    groups = GroupTable(folder, BrokerConfig(**settings))  # type: ignore[arg-type]
    groups.load()
    return groups


def test_system_groups_are_there(tmp_path: Path) -> None:
    groups = loaded(tmp_path)
    assert all(name in groups for name in names.SYSTEM_GROUPS)


def test_first_use_makes_a_group_with_rocketmqs_settings(tmp_path: Path) -> None:
    group = loaded(tmp_path).find("G")
    assert group is not None
    assert (group.retry_max_times, group.retry_queue_nums, group.consume_enable) == (16, 1, True)


def test_without_auto_creation_only_system_groups_are_made(tmp_path: Path) -> None:
    groups = loaded(tmp_path, autoCreateSubscriptionGroup=False)
    assert groups.find("G") is None
    assert groups.find("CID_RMQ_SYS_X") is not None


@pytest.mark.parametrize("name", ["", "a b", "g" * 121, "a@b"])
def test_bad_group_names_are_refused(tmp_path: Path, name: str) -> None:
    assert loaded(tmp_path).find(name) is None


@in_loop
async def test_file_has_rocketmqs_shape_and_loads_again(tmp_path: Path) -> None:
    groups = loaded(tmp_path)
    groups.put([SubscriptionGroupConfig(group_name="G", retry_max_times=3)])
    groups.set_readable("G", "T", False)
    groups.file.changed(["G"])
    await groups.file.close()
    text = (tmp_path / "subscriptionGroup.json").read_text()
    assert '"subscriptionGroupTable":{' in text
    again = loaded(tmp_path)
    assert again.get("G") == groups.get("G")
    assert not again.may_read("G", "T")
    assert again.may_read("G", "U")


def test_forbidding_ends_with_allowing(tmp_path: Path) -> None:
    groups = loaded(tmp_path)
    groups.set_readable("G", "T", False)
    groups.set_readable("G", "T", True)
    assert groups.may_read("G", "T")
    assert groups.snapshot().forbidden_table == {}


def test_deleted_group_is_gone_and_told(tmp_path: Path) -> None:
    groups = loaded(tmp_path)
    told: list[str] = []
    groups.on_delete = told.append
    groups.find("G")
    assert groups.delete("G")
    assert not groups.delete("G")
    assert told == ["G"]
