"""Filters of consumer groups, as `consumerFilter.json` holds them."""

from dataclasses import field

from tailfin.wire.body import Body, body


@body
class BloomFilterData(Body):
    """The bits that stand for a group on a topic."""

    bit_num: int = 0
    bit_pos: list[int] = field(default_factory=list)


@body
class ConsumerFilterData(Body):
    """What a group wants of a topic, by an expression."""

    consumer_group: str | None = None
    topic: str | None = None
    expression: str | None = None
    expression_type: str | None = None
    born_time: int = 0
    dead_time: int = 0
    client_version: int = 0
    bloom_filter_data: BloomFilterData | None = None
    dead: bool = False
    """Follows from the two times; readers work it out themselves."""


@body
class FilterDataMapByTopic(Body):
    """The filters on one topic, by group."""

    topic: str | None = None
    group_filter_data: dict[str, ConsumerFilterData] = field(default_factory=dict)


@body
class ConsumerFilterTable(Body):
    """All filters, by topic."""

    filter_data_by_topic: dict[str, FilterDataMapByTopic] = field(default_factory=dict)
