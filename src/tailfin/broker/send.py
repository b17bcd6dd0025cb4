"""Sends that the hot path leaves to Python: first messages, delayed ones, retries, topics with hooks."""

import random
import time
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from tailfin.broker import names
from tailfin.broker.hooks import SendContext
from tailfin.broker.recall import handle_of
from tailfin.broker.retry import SENT_TO_RETRY
from tailfin.broker.storing import (
    DELAY,
    UNIQUE_KEY,
    Draft,
    Outcome,
    parse_properties,
    put,
    put_batch,
)
from tailfin.broker.transactions.halves import KIND_BITS, half_of, is_prepared
from tailfin.broker.waiting import delay_level, is_timed
from tailfin.remoting import Request, Response, handles
from tailfin.wire.bodies.topics import Perm, TopicConfig, TopicFilterType, TopicSysFlag
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import FAQ, RemotingError
from tailfin.wire.headers.send import SendMessageRequestHeader, SendMessageResponseHeader
from tailfin.wire.version import V3_4_9

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

HALF_KIND = "Trans_Msg_Half"
MULTI_TAGS = 0x2
START_DELIVER = "__STARTDELIVERTIME"
TIMED = "TIMER_"
CLUSTER = "CLUSTER"
POP_CHECK_POINT = "POP_CK"


class Sends:
    """Handlers of SEND_MESSAGE in its forms."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    @handles(Code.SEND_MESSAGE, Code.SEND_MESSAGE_V2, Code.SEND_BATCH_MESSAGE)
    async def send(self, request: Request) -> Response | None:
        """Check a send, make its topic if that is what was missing, then store it."""
        broker = self._broker
        marks = self.marks()
        try:
            header = SendMessageRequestHeader.decode(request.fields)
            known = header.topic in broker.topics and header.topic not in broker.topics.unkept
            topic = self.checked(header, request)
            if not known:
                await broker.topic_kept(header.topic)
            ordinary = not known and not broker.rulebook.sends_need_python(topic)
            if ordinary and broker.server.hand_back(request):
                return None
            outcome, draft = await self._store(header, topic, request)
        except RemotingError as error:
            return Response(error.code, error.remark, fields=marks)
        if outcome.appended is None:
            return Response(outcome.code, outcome.remark, fields=marks)
        handle = handle_of(draft, broker.config.brokerName)
        answer = SendMessageResponseHeader(
            msg_id=outcome.appended.message_id,
            queue_id=draft.queue_id,
            queue_offset=outcome.appended.queue_offset,
            transaction_id=draft.properties.get(UNIQUE_KEY),
            recall_handle=handle.encode() if handle else None,
        )
        return Response(outcome.code, outcome.remark, fields={**marks, **answer.encode()})

    def marks(self) -> dict[str, str]:
        """Return what every answer to a send carries."""
        config = self._broker.config
        return {"MSG_REGION": config.regionId, "TRACE_ON": "true" if config.traceOn else "false"}

    def checked(self, header: SendMessageRequestHeader, request: Request) -> TopicConfig:
        """Return the topic of a send, created if it may be; a refusal says what to do."""
        broker = self._broker
        opens = broker.config.startAcceptSendRequestTimeStamp
        if time.time() * 1000 < opens:
            when = datetime.fromtimestamp(opens / 1000).strftime("%Y-%m-%d %H:%M:%S")
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"broker unable to service, until {when}")
        if not request.body:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "the message has no body: send at least one byte")
        if trouble := names.topic_trouble(header.topic):
            raise RemotingError(ResponseCode.INVALID_PARAMETER, trouble)
        if header.topic in names.NO_CLIENT_MAY_SEND:
            raise RemotingError(
                ResponseCode.NO_PERMISSION, f"Sending message to topic[{header.topic}] is forbidden."
            )
        topic = broker.topics.get(header.topic) or self._created(header)
        if not broker.config.brokerPermission & Perm.WRITE and topic.order:
            raise RemotingError(
                ResponseCode.NO_PERMISSION,
                f"the broker[{broker.config.brokerIP1}] sending message is forbidden",
            )
        queues = max(topic.write_queue_nums, topic.read_queue_nums)
        if header.queue_id >= queues:
            raise RemotingError(
                ResponseCode.INVALID_PARAMETER,
                f"request queueId[{header.queue_id}] is illegal, topic[{header.topic}] has {queues} queues "
                f"on this broker, producer: {request.peer}",
            )
        return topic

    def _created(self, header: SendMessageRequestHeader) -> TopicConfig:
        topics = self._broker.topics
        unit = bool(header.unit_mode)
        if header.topic.startswith(names.RETRY_PREFIX):
            flag = TopicSysFlag.UNIT_SUB if unit else 0
            return topics.create_for_group(header.topic, 1, sys_flag=int(flag))
        flag = TopicSysFlag.UNIT if unit else 0
        topic = topics.create_for_send(
            header.topic, header.default_topic, header.default_topic_queue_nums, int(flag)
        )
        if topic is None:
            raise RemotingError(
                ResponseCode.TOPIC_NOT_EXIST, f"topic[{header.topic}] not exist, apply first please!{FAQ}"
            )
        return topic

    def draft(self, header: SendMessageRequestHeader, topic: TopicConfig, request: Request) -> Draft:
        """Return the message of a send, its queue chosen if the producer left that open."""
        queue_id = (
            header.queue_id if header.queue_id >= 0 else random.randrange(max(topic.write_queue_nums, 1))
        )
        sys_flag = header.sys_flag
        if topic.topic_filter_type is TopicFilterType.MULTI_TAG:
            sys_flag |= MULTI_TAGS
        return Draft(
            topic=header.topic,
            queue_id=queue_id,
            body=request.body,
            properties={**self._given(header), **self.marks()},
            flag=header.flag,
            sys_flag=sys_flag,
            born_timestamp=header.born_timestamp,
            born_host=request.peer,
            reconsume_times=header.reconsume_times or 0,
        )

    def _given(self, header: SendMessageRequestHeader) -> dict[str, str]:
        """Return a producer's properties without what only a broker may say."""
        given = parse_properties(header.properties)
        return {name: value for name, value in given.items() if name not in (POP_CHECK_POINT, CLUSTER)}

    async def _store(
        self, header: SendMessageRequestHeader, topic: TopicConfig, request: Request
    ) -> tuple[Outcome, Draft]:
        draft = self.draft(header, topic, request)
        if not header.batch:
            draft.properties.setdefault(UNIQUE_KEY, self._broker.hot.new_unique_key())
        draft.properties[CLUSTER] = self._broker.config.brokerClusterName
        context = SendContext(
            topic=draft.topic,
            producer_group=header.producer_group,
            queue_id=draft.queue_id,
            body=draft.body,
            properties=draft.properties,
            born_host=request.peer,
            batch=bool(header.batch),
            kind=_kind(draft),
        )
        hooks = self._broker.hooks
        hooks.before_send(context)
        if header.batch:
            outcome = await self._put_batch(draft)
        else:
            outcome, draft = await self._put_single(header, draft, request)
        if outcome.appended is not None:
            is_half = context.kind == HALF_KIND
            self._broker.counting.count_put(names.HALF_TOPIC if is_half else draft.topic, outcome.appended)
            context.message_id = outcome.appended.message_id
            context.queue_offset = outcome.appended.queue_offset
        context.code = int(outcome.code)
        hooks.after_send(context)
        return outcome, draft

    async def _put_batch(self, draft: Draft) -> Outcome:
        if draft.topic.startswith(names.RETRY_PREFIX):
            raise RemotingError(
                ResponseCode.MESSAGE_ILLEGAL, f"a batch cannot be sent to the retry topic {draft.topic}"
            )
        waits = any(name == DELAY or name.startswith(TIMED) for name in draft.properties)
        if waits or is_prepared(draft, 0) or draft.sys_flag & KIND_BITS:
            raise RemotingError(
                ResponseCode.MESSAGE_ILLEGAL, "a batch can hold neither transactional nor delayed messages"
            )
        length, most = len(draft.body), self._broker.settings.store.maxMessageSize
        if length > most:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR,
                f"the batch has {length} bytes; maxMessageSize allows {most}: send smaller batches",
            )
        return await put_batch(self._broker.store, draft)

    async def _put_single(
        self, header: SendMessageRequestHeader, draft: Draft, request: Request
    ) -> tuple[Outcome, Draft]:
        broker = self._broker
        draft = self._retried(header, draft, request)
        if draft.topic != header.topic:
            await broker.topic_kept(draft.topic)
        if is_prepared(draft, delay_level(draft)):
            return await self._prepare(draft)
        stored = broker.waiting.placed(draft)
        outcome = await put(broker.store, stored)
        # The producer is told of the queue it named.
        return outcome, replace(stored, queue_id=draft.queue_id)

    async def _prepare(self, draft: Draft) -> tuple[Outcome, Draft]:
        """Store the first half of a transaction."""
        broker = self._broker
        if broker.config.rejectTransactionMessage:
            raise RemotingError(
                ResponseCode.NO_PERMISSION,
                f"the broker[{broker.config.brokerIP1}] sending transaction message is forbidden",
            )
        half = half_of(draft)
        outcome = await put(broker.store, half)
        if outcome.stored:
            broker.transactions.counts.prepared(draft.topic)
        return outcome, replace(draft, properties=half.properties)

    def _retried(self, header: SendMessageRequestHeader, draft: Draft, request: Request) -> Draft:
        """Turn a message that a consumer sends to its retry topic once too often into a dead letter."""
        if not draft.topic.startswith(names.RETRY_PREFIX):
            return draft
        broker = self._broker
        name = draft.topic.removeprefix(names.RETRY_PREFIX)
        group = broker.groups.find(name)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, f"subscription group not exist, {name}{FAQ}"
            )
        retries_max = group.retry_max_times
        if request.version >= V3_4_9 and header.max_reconsume_times is not None:
            retries_max = header.max_reconsume_times
        if draft.reconsume_times <= retries_max and not broker.locks.any_held(name):
            return draft
        return broker.retry.dead_letter(draft, name, SENT_TO_RETRY)


def _kind(draft: Draft) -> str:
    """Return RocketMQ's name for a kind of message."""
    level = delay_level(draft)
    if is_prepared(draft, level):
        return HALF_KIND
    return "Delay_Msg" if level > 0 or is_timed(draft) or START_DELIVER in draft.properties else "Normal_Msg"
