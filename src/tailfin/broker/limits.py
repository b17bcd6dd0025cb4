"""Which numbers the settings of a topic or a group may hold.

What is no int of Java's cannot be told to the engine either: taken once, it would end every later start.
"""

import logging
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, TypeVar

from tailfin.wire.bodies.groups import SubscriptionGroupConfig
from tailfin.wire.bodies.topics import TopicConfig
from tailfin.wire.header import camel

log = logging.getLogger("tailfin.broker")

Config = TypeVar("Config", TopicConfig, SubscriptionGroupConfig)

QUEUES_MAX = 1 << 16

_JAVA_INT = range(-(1 << 31), 1 << 31)
_QUEUES = range(QUEUES_MAX + 1)
_PERM = range(16)

_OF_TOPIC: Mapping[str, range] = {
    "read_queue_nums": _QUEUES,
    "write_queue_nums": _QUEUES,
    "perm": _PERM,
    "topic_sys_flag": _JAVA_INT,
}
_OF_GROUP: Mapping[str, range] = {
    "retry_queue_nums": _QUEUES,
    "retry_max_times": _JAVA_INT,
    "group_sys_flag": _JAVA_INT,
    "consume_timeout_minute": _JAVA_INT,
}


def topic_trouble(topic: TopicConfig) -> str | None:
    """Say which number of a topic cannot be, None when all can."""
    return _trouble(f"topic {topic.topic_name}", topic, _OF_TOPIC)


def group_trouble(group: SubscriptionGroupConfig) -> str | None:
    """Say which number of a group cannot be, None when all can."""
    return _trouble(f"group {group.group_name}", group, _OF_GROUP)


def _trouble(whose: str, config: Config, allowed: Mapping[str, range]) -> str | None:
    for name, values in allowed.items():
        if (value := getattr(config, name)) not in values:
            told = "2, 4, 6 or 7" if values is _PERM else f"from {values[0]} to {values[-1]}"
            return f"{camel(name)} of {whose} must be {told}, not {value}"
    return None


def mended_topic(topic: TopicConfig) -> TopicConfig:
    """Return a topic from a file, with the default for each number that no broker could have meant."""
    return _mended(f"topic {topic.topic_name}", topic, _OF_TOPIC)


def mended_group(group: SubscriptionGroupConfig) -> SubscriptionGroupConfig:
    """Return a group from a file, with the default for each number that no broker could have meant."""
    return _mended(f"group {group.group_name}", group, _OF_GROUP)


def _mended(whose: str, config: Config, names: Mapping[str, range]) -> Config:
    # RocketMQ lets more be than an operator may ask for here; what it wrote is left as it is.
    wrong = {name: value for name in names if (value := getattr(config, name)) not in _JAVA_INT}
    if not wrong:
        return config
    defaults: dict[str, Any] = {each.name: each.default for each in fields(config) if each.name in wrong}
    for name, value in wrong.items():
        log.error("%s of %s is %d, which cannot be; %d is taken", camel(name), whose, value, defaults[name])
    return replace(config, **defaults)
