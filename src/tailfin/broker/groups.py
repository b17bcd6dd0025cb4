"""The subscription groups of a broker: `subscriptionGroup.json`, and creation by the first use."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from pathlib import Path

from tailfin.broker import limits, names
from tailfin.broker.config_file import first_version, following
from tailfin.broker.saved_table import SavedTable
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
    """Every subscription group; `on_change` and `on_delete` hear of what changes, `on_touch` of all names."""

    def __init__(self, folder: Path, config: BrokerConfig, *, light: bool = False) -> None:
        """Take what is kept in `folder`; with `light` any name of a light group is one, kept or not."""
        self.config = config
        self._light = light
        self.version = first_version()
        self.on_change: Callable[[list[SubscriptionGroupConfig]], None] = lambda groups: None
        self.on_delete: Callable[[str], None] = lambda name: None
        self.on_touch: Callable[[Collection[str]], None] = lambda names: None
        self._groups: dict[str, SubscriptionGroupConfig] = {}
        self._forbidden: dict[str, dict[str, int]] = {}
        self.file = SavedTable(
            folder / "subscriptionGroup.json", SubscriptionGroupWrapper, self, "subscription_group_table"
        )

    def load(self) -> None:
        """Read the file, then add the groups that a broker always has."""
        self.file.load()
        for name in names.SYSTEM_GROUPS:
            broadcast = name in OPEN_TO_BROADCAST
            self._groups.setdefault(
                name, SubscriptionGroupConfig(group_name=name, consume_broadcast_enable=broadcast)
            )

    def snapshot(self) -> SubscriptionGroupWrapper:
        """Return the table as the file holds it."""
        return SubscriptionGroupWrapper(
            subscription_group_table=dict(self._groups),
            forbidden_table={name: dict(topics) for name, topics in self._forbidden.items()},
            data_version=self.version,
        )

    def part(self, names: Collection[str]) -> SubscriptionGroupWrapper:
        """Return what there is of some groups."""
        return SubscriptionGroupWrapper(
            subscription_group_table={name: group for name in names if (group := self._groups.get(name))},
            forbidden_table={name: topics for name in names if (topics := self._forbidden.get(name))},
            data_version=self.version,
        )

    def take(self, content: SubscriptionGroupWrapper, names: Collection[str] | None = None) -> None:
        """Take groups from the file, all or some of them, and tell nobody."""
        for name in (
            {**content.subscription_group_table, **content.forbidden_table} if names is None else names
        ):
            if group := content.subscription_group_table.get(name):
                self._groups[name] = limits.mended_group(replace(group, group_name=name))
            else:
                self._groups.pop(name, None)
            if topics := content.forbidden_table.get(name):
                self._forbidden[name] = topics
            else:
                self._forbidden.pop(name, None)

    def get(self, name: str) -> SubscriptionGroupConfig | None:
        """Return a group as it is; nothing is created."""
        if self.is_light(name):
            return SubscriptionGroupConfig(group_name=name)
        return self._groups.get(name)

    def is_light(self, name: str) -> bool:
        """Whether a group reads light queues."""
        return self._light and name.startswith(names.LIGHT_PREFIX)

    def find(self, name: str) -> SubscriptionGroupConfig | None:
        """Return a group, created when that is allowed; None when it is not."""
        if found := self.get(name):
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
        return self.is_light(name) or name in self._groups

    def put(self, groups: Iterable[SubscriptionGroupConfig]) -> None:
        """Make or change groups and tell the others."""
        fresh = [group for group in groups if self._groups.get(name_of(group)) != group]
        fresh = [group for group in fresh if not self.is_light(name_of(group))]
        if fresh:
            self._groups.update({name_of(group): group for group in fresh})
            self.version = following(self.version)
            self.on_change(fresh)
            self.on_touch([name_of(group) for group in fresh])

    def delete(self, name: str) -> bool:
        """Forget a group; false when there was none."""
        if self._groups.pop(name, None) is None:
            return False
        self._forbidden.pop(name, None)
        self.version = following(self.version)
        self.on_delete(name)
        self.on_touch([name])
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
        self.on_touch([group])

    def forbidden_topics(self, group: str) -> list[str]:
        """Topics that a group may not read."""
        return [topic for topic, bits in self._forbidden.get(group, {}).items() if bits & READ_FORBIDDEN]


def name_of(group: SubscriptionGroupConfig) -> str:
    """Return the name of a group; in the table each has one."""
    assert group.group_name is not None
    return group.group_name
