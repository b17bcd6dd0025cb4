"""What a consumer wants of a topic: everything, some tags, or what an SQL92 expression says."""

from collections.abc import Mapping
from dataclasses import dataclass

from tailfin.broker import names
from tailfin.message import java_hash
from tailfin.wire.bodies.clients import SubscriptionData

ALL = "*"
TAG, SQL92 = "TAG", "SQL92"


@dataclass(frozen=True, slots=True)
class Sql:
    """A subscription by an SQL92 expression over message properties.

    Example:
        ```python
        large = tailfin.Sql("amount > 100 AND region = 'EU'")
        tailfin.PushConsumer("billing", subscribe={"orders": large}, handler=bill)
        ```
    """

    expression: str

    def __post_init__(self) -> None:
        if not self.expression.strip():
            raise ValueError('an SQL subscription needs an expression, such as Sql("amount > 100")')


Expression = str | Sql


def subscription(topic: str, expression: Expression, version: int) -> SubscriptionData:
    """Return a subscription as heartbeats and pulls carry it.

    Args:
        topic: the topic.
        expression: `"*"`, tags separated by `||`, or an `Sql`.
        version: a number that grows with every change, by RocketMQ's custom the time in ms.
    """
    check_topic(topic)
    if isinstance(expression, Sql):
        return SubscriptionData(
            topic=topic, sub_string=expression.expression, sub_version=version, expression_type=SQL92
        )
    tags = list(tags_of(expression))
    return SubscriptionData(
        topic=topic,
        sub_string=expression.strip() if tags else ALL,
        tags_set=tags,
        code_set=sorted({java_hash(tag) for tag in tags}),
        sub_version=version,
        expression_type=TAG,
    )


def tags_of(expression: str) -> dict[str, None]:
    """Return the tags of an expression in their order; none: all messages."""
    if expression.strip() in ("", ALL):
        return {}
    tags = dict.fromkeys(tag.strip() for tag in expression.split("||") if tag.strip())
    if not tags:
        raise ValueError(f"no tag in the subscription {expression!r}; tags are written as 'paid || shipped'")
    for tag in tags:
        if "|" in tag:
            raise ValueError(
                f"{tag!r} in the subscription {expression!r} is no tag; tags are written as 'paid || shipped'"
            )
    return tags


def check_topic(topic: object) -> None:
    """Refuse a name that no broker would take."""
    trouble = names.topic_trouble(topic) if isinstance(topic, str) else f"A topic is a text, not {topic!r}."
    if trouble:
        raise ValueError(trouble)


def check_subscriptions(given: object) -> dict[str, Expression]:
    """Check what a user subscribes to, before anything is started."""
    if not isinstance(given, Mapping):
        raise TypeError(
            f'subscribe is a mapping of topics to expressions, as in {{"orders": "*"}}, not {given!r}'
        )
    for topic, expression in given.items():
        if not isinstance(expression, str | Sql):
            raise TypeError(f"the subscription of {topic!r} is a text or an Sql, not {expression!r}")
        subscription(topic, expression, 0)
    return dict(given)


def matches_tags(tags: Mapping[str, None], tag: str | None) -> bool:
    """Whether a message's tag is one of those asked for; brokers compare hashes, equal by chance at times."""
    return not tags or (tag is not None and tag in tags)


def differing(mine: Mapping[str, SubscriptionData], group: Mapping[str, SubscriptionData]) -> list[str]:
    """Return, in words, where a group's subscriptions at the broker are not those of this member."""
    found = []
    for topic in sorted(mine.keys() | group.keys()):
        own, other = mine.get(topic), group.get(topic)
        if own is None:
            found.append(f"another member reads {topic!r} ({_text(other)}), this one does not")
        elif other is None:
            found.append(f"this member reads {topic!r} ({_text(own)}), another one does not")
        elif (own.expression_type or TAG, _wanted(own)) != (other.expression_type or TAG, _wanted(other)):
            found.append(f"this member reads {topic!r} as {_text(own)}, another one as {_text(other)}")
    return found


def _wanted(data: SubscriptionData) -> frozenset[str] | str:
    if (data.expression_type or TAG) == TAG:
        return frozenset(tags_of(data.sub_string or ALL))
    return data.sub_string or ""


def _text(data: SubscriptionData | None) -> str:
    return repr(data.sub_string) if data is not None else "not at all"
