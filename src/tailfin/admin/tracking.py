"""Who consumed a message? No I/O."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from tailfin.admin.connections import GroupMembers, Subscription
from tailfin.admin.progress import QueueProgress
from tailfin.client.consuming.subscriptions import matches_tags, tags_of
from tailfin.client.queues import Queue
from tailfin.wire.bodies.clients import ConsumeType, MessageModel


class TrackStatus(StrEnum):
    """What a group did with a message."""

    CONSUMED = "CONSUMED"
    FILTERED = "CONSUMED_BUT_FILTERED"
    PULLED = "PULL"
    NOT_CONSUMED = "NOT_CONSUME_YET"
    NOT_ONLINE = "NOT_ONLINE"
    BROADCAST = "CONSUME_BROADCASTING"


@dataclass(frozen=True, slots=True)
class MessageTrack:
    """What a group did with a message.

    Attributes:
        group: the group.
        status: what it did. CONSUMED says that its offset is beyond the message; FILTERED that it is, and the
            group's tags leave the message out; PULLED that its members pull and commit as they like;
            BROADCAST that each member reads everything and keeps its own offsets; NOT_ONLINE that nobody is
            there and the offset is not beyond the message.
    """

    group: str
    status: TrackStatus


def judge(
    queue: Queue, offset: int, tag: str | None, members: GroupMembers, progress: Iterable[QueueProgress]
) -> MessageTrack:
    """Say what a group did with the message at an offset of a queue."""
    beyond = any(each.queue == queue and each.offset > offset for each in progress)
    return MessageTrack(members.group, _status(queue.topic, tag, members, beyond=beyond))


def _status(topic: str, tag: str | None, members: GroupMembers, *, beyond: bool) -> TrackStatus:
    if members.message_model is MessageModel.BROADCASTING:
        return TrackStatus.BROADCAST
    if beyond:
        return (
            TrackStatus.FILTERED if _leaves_out(topic, tag, members.subscriptions) else TrackStatus.CONSUMED
        )
    if not members.online:
        return TrackStatus.NOT_ONLINE
    return (
        TrackStatus.PULLED
        if members.consume_type is ConsumeType.CONSUME_ACTIVELY
        else TrackStatus.NOT_CONSUMED
    )


def _leaves_out(topic: str, tag: str | None, subscriptions: Iterable[Subscription]) -> bool:
    for each in subscriptions:
        if each.topic == topic and each.kind == "TAG":
            return not matches_tags(tags_of(each.expression), tag)
    return False
