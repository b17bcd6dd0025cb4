"""Topics: their settings, their mapping to several brokers, and what a broker registers."""

from dataclasses import field
from enum import IntFlag, StrEnum

from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.body import Body, body


class Perm(IntFlag):
    """What may be done with a topic or a broker."""

    INHERIT = 1
    WRITE = 2
    READ = 4
    PRIORITY = 8


class TopicSysFlag(IntFlag):
    """Marks of a topic."""

    UNIT = 1
    UNIT_SUB = 2


class TopicFilterType(StrEnum):
    """Whether a message has one tag or several."""

    SINGLE_TAG = "SINGLE_TAG"
    MULTI_TAG = "MULTI_TAG"


@body
class TopicConfig(Body):
    """Settings of a topic on a broker."""

    topic_name: str | None = None
    read_queue_nums: int = 16
    write_queue_nums: int = 16
    perm: int = 6
    topic_filter_type: TopicFilterType = TopicFilterType.SINGLE_TAG
    topic_sys_flag: int = 0
    order: bool = False
    attributes: dict[str, str] = field(default_factory=dict)


@body
class LogicQueueMappingItem(Body):
    """A stretch of a logical queue on one physical queue."""

    gen: int = 0
    queue_id: int = 0
    bname: str | None = None
    logic_offset: int = 0
    start_offset: int = 0
    end_offset: int = -1
    time_of_start: int = -1
    time_of_end: int = -1


@body
class TopicQueueMappingInfo(Body):
    """Which logical queues of a static topic a broker leads."""

    topic: str | None = None
    scope: str = "__global__"
    total_queues: int = 0
    bname: str | None = None
    epoch: int = 0
    dirty: bool = False
    curr_id_map: dict[int, int] = field(default_factory=dict)


@body
class TopicQueueMappingDetail(TopicQueueMappingInfo):
    """The same with every stretch of the queues."""

    hosted_queues: dict[int, list[LogicQueueMappingItem]] = field(default_factory=dict)


@body
class TopicConfigAndQueueMapping(TopicConfig):
    """Settings of a topic with its mapping."""

    mapping_detail: TopicQueueMappingDetail | None = None


@body
class TopicConfigSerializeWrapper(Body):
    """All topics of a broker, as `topics.json` and old brokers' registrations hold them."""

    topic_config_table: dict[str, TopicConfig] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


@body
class TopicConfigAndMappingSerializeWrapper(TopicConfigSerializeWrapper):
    """All topics of a broker with their mappings."""

    topic_queue_mapping_info_map: dict[str, TopicQueueMappingInfo] = field(default_factory=dict)
    topic_queue_mapping_detail_map: dict[str, TopicQueueMappingDetail] = field(default_factory=dict)
    mapping_data_version: DataVersion = field(default_factory=DataVersion)


@body
class CreateTopicListRequestBody(Body):
    """Topics to create or change."""

    topic_config_list: list[TopicConfig]


@body
class RegisterBrokerBody(Body):
    """What a broker tells a name server; see `registration` for its compressed form."""

    topic_config_serialize_wrapper: TopicConfigAndMappingSerializeWrapper = field(
        default_factory=TopicConfigAndMappingSerializeWrapper
    )
    filter_server_list: list[str] = field(default_factory=list)
