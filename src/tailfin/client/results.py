"""How a send ended."""

from collections.abc import Mapping
from enum import Enum
from typing import NamedTuple

from tailfin._engine import Receipt
from tailfin.client.queues import Queue
from tailfin.wire.codes import ResponseCode


class SendStatus(Enum):
    """What a broker did with a message it acknowledged; only SEND_OK is all that was asked for."""

    SEND_OK = ResponseCode.SUCCESS
    FLUSH_DISK_TIMEOUT = ResponseCode.FLUSH_DISK_TIMEOUT
    FLUSH_SLAVE_TIMEOUT = ResponseCode.FLUSH_SLAVE_TIMEOUT
    SLAVE_NOT_AVAILABLE = ResponseCode.SLAVE_NOT_AVAILABLE


class SendResult(NamedTuple):
    """An acknowledged message.

    Attributes:
        status: SEND_OK, or stored but not flushed or copied as the broker is set to.
        message_id: the id made by this client; consumers see the same.
        offset_message_id: the id made by the broker; it says where the message is stored.
        queue: where the message is.
        queue_offset: its place there.
        transaction_id: of a half message.
        region_id: the broker's region.
        trace_on: whether the broker wants traces.
        recall_handle: for `recall`, when the message is delayed.
    """

    status: SendStatus
    message_id: str
    offset_message_id: str
    queue: Queue
    queue_offset: int
    transaction_id: str | None = None
    region_id: str = "DefaultRegion"
    trace_on: bool = True
    recall_handle: str | None = None


class ProducerStats(NamedTuple):
    """What a producer has done since its start, and what it is doing.

    Attributes:
        sent: messages that were acknowledged.
        failed: messages that were not.
        retried: tries after the first.
        pending: messages under way, or held back to go together.
        pending_bytes: their bytes.
        avoided: brokers that are left alone, with the milliseconds that are left.
    """

    sent: int
    failed: int
    retried: int
    pending: int
    pending_bytes: int
    avoided: Mapping[str, float]


_STATUSES: dict[int | None, SendStatus] = {int(each.value): each for each in SendStatus}


def result_of(receipt: Receipt, topic: str) -> SendResult:
    """Return the result of a message that is stored; `topic` is its name without namespace."""
    return SendResult(
        _STATUSES[receipt.code],
        receipt.message_id,
        receipt.offset_message_id,
        Queue(topic, receipt.broker, receipt.queue_id),
        receipt.queue_offset,
        receipt.transaction_id,
        receipt.region_id or "DefaultRegion",
        receipt.trace_on,
        receipt.recall_handle,
    )
