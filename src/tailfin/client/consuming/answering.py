"""What brokers ask of a consumer: notices, offsets, how it is doing, and to consume one message now."""

import sys
import threading
import time
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Protocol

from tailfin.client.queues import Queue
from tailfin.remoting.connection import Handler
from tailfin.wire.bodies.clients import GetConsumerStatusBody, ResetOffsetBody
from tailfin.wire.bodies.stats import CMResult, ConsumeMessageDirectlyResult, ConsumerRunningInfo
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.frame import Frame
from tailfin.wire.headers.clients import (
    ConsumeMessageDirectlyResultRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetConsumerStatusRequestHeader,
    ResetOffsetRequestHeader,
)


class Asked(Protocol):
    """A consumer that brokers can ask."""

    def rebalance_soon(self) -> None:
        """Look who is in the group."""

    async def reset_offsets(self, offsets: Mapping[Queue, int]) -> None:
        """Go on from other offsets."""

    def offsets_of(self, topic: str) -> Mapping[Queue, int]:
        """Return how far each queue of a topic is done."""

    def running_info(self) -> ConsumerRunningInfo:
        """Tell everything."""

    async def consume_now(self, record: bytes, broker: str | None) -> tuple[CMResult, str | None]:
        """Have the handler consume a message outside its turn."""


def answers(consumer: Asked, *, orderly: bool) -> dict[int, Handler]:
    """Return what to do with brokers' requests, by code."""

    def members_changed(request: Frame) -> Frame:
        consumer.rebalance_soon()
        return Frame(code=ResponseCode.SUCCESS)

    async def reset(request: Frame) -> Frame:
        header = ResetOffsetRequestHeader.decode(request.fields)
        table = ResetOffsetBody.from_json(request.body).offset_table
        offsets = {
            Queue.of_body(each): offset for each, offset in table.items() if each.topic == header.topic
        }
        await consumer.reset_offsets(offsets)
        return Frame(code=ResponseCode.SUCCESS)

    def status(request: Frame) -> Frame:
        header = GetConsumerStatusRequestHeader.decode(request.fields)
        table = {queue.to_body(): offset for queue, offset in consumer.offsets_of(header.topic).items()}
        return Frame(
            code=ResponseCode.SUCCESS, body=GetConsumerStatusBody(message_queue_table=table).to_json()
        )

    def running(request: Frame) -> Frame:
        header = GetConsumerRunningInfoRequestHeader.decode(request.fields)
        info = consumer.running_info()
        if header.jstack_enable:
            info = replace(info, jstack=thread_stacks())
        return Frame(code=ResponseCode.SUCCESS, body=info.to_json())

    async def consume(request: Frame) -> Frame:
        header = ConsumeMessageDirectlyResultRequestHeader.decode(request.fields)
        begun = time.monotonic()
        result, remark = await consumer.consume_now(request.body, header.broker_name)
        answer = ConsumeMessageDirectlyResult(
            order=orderly,
            consume_result=result,
            remark=remark,
            spent_time_mills=int((time.monotonic() - begun) * 1000),
        )
        return Frame(code=ResponseCode.SUCCESS, body=answer.to_json())

    return {
        Code.NOTIFY_CONSUMER_IDS_CHANGED: members_changed,
        Code.RESET_CONSUMER_CLIENT_OFFSET: reset,
        Code.GET_CONSUMER_STATUS_FROM_CLIENT: status,
        Code.GET_CONSUMER_RUNNING_INFO: running,
        Code.CONSUME_MESSAGE_DIRECTLY: consume,
    }


def thread_stacks() -> str:
    """Return what each thread of this process does now."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "\n".join(
        f"{names.get(ident, ident)}\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in sys._current_frames().items()
    )
