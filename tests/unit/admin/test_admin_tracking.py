"""Whether a group consumed a message, decided from what brokers tell."""

import pytest

from tailfin.admin import ConnectedClient, GroupMembers, QueueProgress, Subscription
from tailfin.admin.tracking import judge
from tailfin.client.queues import Queue
from tailfin.wire.bodies.clients import ConsumeType, MessageModel

QUEUE = Queue("orders", "broker-a", 0)
CLIENT = ConnectedClient("me", "127.0.0.1:1", "PYTHON", "V5_3_3")


def at(offset: int, queue: Queue = QUEUE) -> QueueProgress:
    return QueueProgress(queue, offset, offset, 10, None)


def members(
    expression: str = "*", *, kind: str = "TAG", pulls: bool = False, all_get_all: bool = False
) -> GroupMembers:
    return GroupMembers(
        "g",
        (CLIENT,),
        (Subscription("orders", expression, kind),),
        ConsumeType.CONSUME_ACTIVELY if pulls else ConsumeType.CONSUME_PASSIVELY,
        MessageModel.BROADCASTING if all_get_all else MessageModel.CLUSTERING,
    )


@pytest.mark.parametrize(
    ("group", "progress", "status"),
    [
        (members(), [at(6)], "CONSUMED"),
        (members(), [at(5)], "NOT_CONSUME_YET"),
        (members(), [], "NOT_CONSUME_YET"),
        (members(), [at(9, QUEUE._replace(broker="broker-b"))], "NOT_CONSUME_YET"),
        (members("paid || open"), [at(6)], "CONSUMED"),
        (members("open"), [at(6)], "CONSUMED_BUT_FILTERED"),
        (members("open", kind="SQL92"), [at(6)], "CONSUMED"),
        (members(pulls=True), [at(5)], "PULL"),
        (members(pulls=True), [at(6)], "CONSUMED"),
        (members(all_get_all=True), [at(6)], "CONSUME_BROADCASTING"),
        (GroupMembers("g"), [at(5)], "NOT_ONLINE"),
        (GroupMembers("g"), [at(6)], "CONSUMED"),
    ],
)
def test_what_a_group_did_with_a_message(
    group: GroupMembers, progress: list[QueueProgress], status: str
) -> None:
    track = judge(QUEUE, 5, "paid", group, progress)
    assert (track.group, track.status) == ("g", status)
