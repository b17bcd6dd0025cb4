"""The subscription groups of a broker: `subscriptionGroup.json`, and creation by the first use."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

from tailfin.broker import names
from tailfin.broker.config_file import ConfigFile, first_version, following
from tailfin.config.broker import BrokerConfig
from tailfin.wire.bodies.groups import SubscriptionGroupConfig, SubscriptionGroupWrapper

READ_FORBIDDEN = 4
"""Bit of the forbidden table that keeps a group from reading a topic."""

OPEN_TO_BROADCAST = (
    "TOOLS_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
    "CID_RMQ_SYS_TRANS",
)


class GroupTable:
    """Every subscription group; `on_change` and `on_delete` hear of what changes."""

    def __init__(self, folder: Path, config: BrokerConfig) -> None:
        self.config = config
        self.version = first_version()
        self.on_change: Callable[[list[SubscriptionGroupConfig]], None] = lambda groups: None
        self.on_delete: Callable[[str], None] = lambda name: None
        self.file = ConfigFile(folder / "subscriptionGroup.json", SubscriptionGroupWrapper)
        self._groups: dict[str, SubscriptionGroupConfig] = {}
        self._forbidden: dict[str, dict[str, int]] = {}

    def load(self) -> None:
        """Read the file, then add the groups that a broker always has."""
        if content := self.file.read():
            self.version = content.data_version
            for name, group in content.subscription_group_table.items():
                self._groups[name] = replace(group, group_name=name)
            self._forbidden = content.forbidden_table
        for name in names.SYSTEM_GROUPS:
            broadcast = name in OPEN_TO_BROADCAST
            self._groups.setdefault(
                name, SubscriptionGroupConfig(group_name=name, consume_broadcast_enable=broadcast)
            )

    def snapshot(self) -> SubscriptionGroupWrapper:
        """Return the table as the file holds it."""
        return SubscriptionGroupWrapper(
            subscription_group_table=dict(sorted(self._groups.items())),
            forbidden_table=self._forbidden,
            data_version=self.version,
        )

    def get(self, name: str) -> SubscriptionGroupConfig | None:
        """Return a group as it is; nothing is created."""
        return self._groups.get(name)

    def find(self, name: str) -> SubscriptionGroupConfig | None:
        """Return a group, created when that is allowed; None when it is not."""
        if found := self._groups.get(name):
            return found
        allowed = self.config.autoCreateSubscriptionGroup or names.is_system_group(name)
        if not allowed or names.group_trouble(name):
            return None
        group = SubscriptionGroupConfig(group_name=name)
        self.put([group])
        return group

    def all(self) -> list[SubscriptionGroupConfig]:
        """Return every group."""
        return list(self._groups.values())

    def __contains__(self, name: str) -> bool:
        return name in self._groups

    def put(self, groups: Iterable[SubscriptionGroupConfig]) -> None:
        """Make or change groups and tell the others."""
        fresh = [group for group in groups if self._groups.get(name_of(group)) != group]
        if fresh:
            self._groups.update({name_of(group): group for group in fresh})
            self.version = following(self.version)
            self.on_change(fresh)

    def delete(self, name: str) -> bool:
        """Forget a group; false when there was none."""
        if self._groups.pop(name, None) is None:
            return False
        self._forbidden.pop(name, None)
        self.version = following(self.version)
        self.on_delete(name)
        return True

    def may_read(self, group: str, topic: str) -> bool:
        """Whether an operator left a group free to read a topic."""
        return not self._forbidden.get(group, {}).get(topic, 0) & READ_FORBIDDEN

    def set_readable(self, group: str, topic: str, readable: bool) -> None:
        """Let a group read a topic, or keep it from that."""
        topics = self._forbidden.setdefault(group, {})
        bits = topics.get(topic, 0)
        topics[topic] = bits & ~READ_FORBIDDEN if readable else bits | READ_FORBIDDEN
        if not topics[topic]:
            del topics[topic]
        if not topics:
            del self._forbidden[group]
        self.version = following(self.version)
        self.on_change([found] if (found := self._groups.get(group)) else [])

    def forbidden_topics(self, group: str) -> list[str]:
        """Topics that a group may not read."""
        return [topic for topic, bits in self._forbidden.get(group, {}).items() if bits & READ_FORBIDDEN]


def name_of(group: SubscriptionGroupConfig) -> str:
    """Return the name of a group; in the table each has one."""
    assert group.group_name is not None
    return group.group_name
