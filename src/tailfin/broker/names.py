"""Names of topics and groups: which are allowed, which are the system's own."""

import re

RETRY_PREFIX = "%RETRY%"
DLQ_PREFIX = "%DLQ%"
LIGHT_PREFIX = "%LMQ%"
DEFAULT_TOPIC = "TBW102"
SELF_TEST_TOPIC = "SELF_TEST_TOPIC"
BENCHMARK_TOPIC = "BenchmarkTest"
OFFSET_MOVED_TOPIC = "OFFSET_MOVED_EVENT"
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
OP_TOPIC = "RMQ_SYS_TRANS_OP_HALF_TOPIC"
CHECK_MAX_TOPIC = "TRANS_CHECK_MAX_TIME_TOPIC"
TIMER_TOPIC = "rmq_sys_wheel_timer"
CHECKPOINT_TOPIC = "CHECKPOINT_TOPIC"
TRACE_TOPIC = "RMQ_SYS_TRACE_TOPIC"
SYSTEM_PREFIX = "rmq_sys_"

TOPIC_LENGTH_MAX = 127
RETRY_TOPIC_LENGTH_MAX = 255
GROUP_LENGTH_MAX = 120

TRANSACTION_GROUP = "CID_RMQ_SYS_TRANS"
SYSTEM_GROUPS = (
    "TOOLS_CONSUMER",
    "FILTERSRV_CONSUMER",
    "SELF_TEST_C_GROUP",
    "CID_ONS-HTTP-PROXY",
    "CID_ONSAPI_PULL",
    "CID_ONSAPI_PERMISSION",
    "CID_ONSAPI_OWNER",
    TRANSACTION_GROUP,
)
SYSTEM_GROUP_PREFIX = "CID_RMQ_SYS_"

NO_CLIENT_MAY_SEND = frozenset(
    {SCHEDULE_TOPIC, HALF_TOPIC, OP_TOPIC, CHECK_MAX_TOPIC, SELF_TEST_TOPIC, OFFSET_MOVED_TOPIC}
)
SYSTEM_TOPICS = NO_CLIENT_MAY_SEND | {DEFAULT_TOPIC, BENCHMARK_TOPIC, TRACE_TOPIC, CHECKPOINT_TOPIC}
"""RocketMQ's own at every broker, also where one is not there; each broker has more by its own names."""

_ALLOWED = re.compile(r"[%|a-zA-Z0-9_-]+")


def retry_topic(group: str) -> str:
    """Topic from which a group's failed messages come back."""
    return RETRY_PREFIX + group


def dead_letter_topic(group: str) -> str:
    """Topic where a group's messages end that failed too often."""
    return DLQ_PREFIX + group


def topic_trouble(topic: str) -> str | None:
    """Say what is wrong with a topic's name, None when nothing is."""
    if not topic.strip():
        return "The specified topic is blank."
    of_group = topic.startswith((RETRY_PREFIX, DLQ_PREFIX))
    longest = RETRY_TOPIC_LENGTH_MAX if of_group else TOPIC_LENGTH_MAX
    return _trouble("topic", topic, longest)


def group_trouble(group: str) -> str | None:
    """Say what is wrong with a group's name, None when nothing is."""
    if not group.strip():
        return "The specified group is blank."
    return _trouble("group", group, GROUP_LENGTH_MAX)


def _trouble(kind: str, name: str, longest: int) -> str | None:
    if not _ALLOWED.fullmatch(name):
        return (
            f"The specified {kind}[{name[:longest]}] contains illegal characters, "
            "allowing only letters, digits, '%', '|', '_' and '-'."
        )
    if len(name) > longest:
        return f"The specified {kind} is longer than {kind} max length {longest}."
    return None


def is_system_group(group: str) -> bool:
    """Whether a group is RocketMQ's own."""
    return group in SYSTEM_GROUPS or group.startswith(SYSTEM_GROUP_PREFIX)
