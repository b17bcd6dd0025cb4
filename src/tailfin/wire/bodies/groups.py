"""Subscription groups: their settings, their offsets."""

from dataclasses import field
from enum import StrEnum

from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.body import Body, body

_STEPS_S = (1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200)


class GroupRetryPolicyType(StrEnum):
    """How long a message handed back waits."""

    EXPONENTIAL = "EXPONENTIAL"
    CUSTOMIZED = "CUSTOMIZED"


@body
class CustomizedRetryPolicy(Body):
    """Waits in milliseconds, by attempt."""

    next: list[int] = field(default_factory=lambda: [1000 * step for step in _STEPS_S])


@body
class ExponentialRetryPolicy(Body):
    """Waits in milliseconds that grow."""

    initial: int = 5000
    max: int = 7_200_000
    multiplier: int = 2


@body
class GroupRetryPolicy(Body):
    """A group's waits before another attempt."""

    type: GroupRetryPolicyType = GroupRetryPolicyType.CUSTOMIZED
    exponential_retry_policy: ExponentialRetryPolicy | None = None
    customized_retry_policy: CustomizedRetryPolicy | None = None


@body
class SimpleSubscriptionData(Body):
    """What a group may subscribe to."""

    topic: str
    expression_type: str | None = None
    expression: str | None = None
    version: int = 0


@body
class SubscriptionGroupConfig(Body):
    """Settings of a consumer group on a broker."""

    group_name: str | None = None
    consume_enable: bool = True
    consume_from_min_enable: bool = True
    consume_broadcast_enable: bool = True
    consume_message_orderly: bool = False
    retry_queue_nums: int = 1
    retry_max_times: int = 16
    group_retry_policy: GroupRetryPolicy = field(default_factory=GroupRetryPolicy)
    broker_id: int = 0
    which_broker_when_consume_slowly: int = 1
    notify_consumer_ids_changed_enable: bool = True
    group_sys_flag: int = 0
    consume_timeout_minute: int = 15
    subscription_data_set: list[SimpleSubscriptionData] | None = None
    attributes: dict[str, str] = field(default_factory=dict)


@body
class SubscriptionGroupWrapper(Body):
    """All groups of a broker, as `subscriptionGroup.json` holds them."""

    subscription_group_table: dict[str, SubscriptionGroupConfig] = field(default_factory=dict)
    forbidden_table: dict[str, dict[str, int]] = field(default_factory=dict)
    data_version: DataVersion = field(default_factory=DataVersion)


@body
class SubscriptionGroupList(Body):
    """Groups to create or change."""

    group_config_list: list[SubscriptionGroupConfig]


@body
class GroupForbidden(Body):
    """Whether a group may read a topic."""

    topic: str | None = None
    group: str | None = None
    readable: bool | None = None


@body
class ConsumerOffsetSerializeWrapper(Body):
    """Offsets by `topic@group` and queue, as `consumerOffset.json` holds them.

    `lmqConsumerOffset.json` has those of light groups in a table of its own: their topics have one queue.
    """

    offset_table: dict[str, dict[int, int]] = field(default_factory=dict)
    lmq_offset_table: dict[str, int] | None = None
    data_version: DataVersion | None = None


@body
class DelayOffsetSerializeWrapper(Body):
    """Offsets by delay level, as `delayOffset.json` holds them.

    `delivered_from` is Tailfin's own: what is delivered beyond the offsets stands in the log from there on.
    """

    offset_table: dict[int, int] = field(default_factory=dict)
    data_version: DataVersion | None = None
    delivered_from: int | None = None


@body
class QueryCorrectionOffsetBody(Body):
    """Offsets by queue that other groups have reached."""

    correction_offsets: dict[int, int] = field(default_factory=dict)
