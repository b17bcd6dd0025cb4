"""Namespaces: one cluster's topics and groups kept apart by a prefix of their names."""

from tailfin.broker import names

REPLY_SUFFIX = "_REPLY_TOPIC"
"""What follows a cluster's name in the topic of its replies."""

SYSTEM_TOPICS = names.SYSTEM_TOPICS
"""Topics that are RocketMQ's own; others are told by how their names begin or end."""
SYSTEM_PREFIX = names.SYSTEM_PREFIX
_PREFIXES = (names.RETRY_PREFIX, names.DLQ_PREFIX)


def is_system_topic(topic: str) -> bool:
    """Whether a topic is RocketMQ's own and has no namespace."""
    return topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIX) or topic.endswith(REPLY_SUFFIX)


def wrap(namespace: str | None, name: str) -> str:
    """Return a topic's or group's name inside a namespace; what is inside already stays as it is.

    Example:
        >>> wrap("shop", "orders"), wrap("shop", "%RETRY%billing")
        ('shop%orders', '%RETRY%shop%billing')
    """
    if not namespace or is_system_topic(name) or names.is_system_group(name):
        return name
    prefix, bare = _split(name)
    if bare.startswith(f"{namespace}%"):
        return name
    return f"{prefix}{namespace}%{bare}"


def unwrap(namespace: str | None, name: str) -> str:
    """Return a name as its user knows it."""
    if not namespace:
        return name
    prefix, bare = _split(name)
    return prefix + bare.removeprefix(f"{namespace}%")


def _split(name: str) -> tuple[str, str]:
    for prefix in _PREFIXES:
        if name.startswith(prefix):
            return prefix, name[len(prefix) :]
    return "", name
