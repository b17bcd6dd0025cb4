"""Bodies that are parts of others."""

from tailfin.wire.body import Body, body


@body
class MessageQueue(Body):
    """A queue of a topic on a broker; in maps it stands as a key."""

    topic: str
    broker_name: str
    queue_id: int


@body
class DataVersion(Body):
    """How often a table changed, and when last."""

    counter: int = 0
    state_version: int = 0
    timestamp: int = 0


@body
class KVTable(Body):
    """Texts by name."""

    table: dict[str, str]


@body
class TopicList(Body):
    """Names of topics, and for the system topics the address of some broker."""

    topic_list: list[str]
    broker_addr: str | None = None


@body
class GroupList(Body):
    """Names of groups."""

    group_list: list[str]
