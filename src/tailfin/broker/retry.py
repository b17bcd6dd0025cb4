"""Messages that a consumer hands back: again after a while, or to the group's dead letters."""

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from tailfin.broker import names
from tailfin.broker.storing import DELAY, ORIGIN_MESSAGE_ID, RETRY_TOPIC, WAIT, Draft, put
from tailfin.remoting import Request, Response, handles
from tailfin.wire.bodies.topics import Perm, TopicSysFlag
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import FAQ, RemotingError
from tailfin.wire.headers.send import ConsumerSendMsgBackRequestHeader
from tailfin.wire.version import V3_4_9

if TYPE_CHECKING:
    from tailfin.broker.app import Broker
    from tailfin.message import Message
    from tailfin.wire.bodies.groups import SubscriptionGroupConfig
    from tailfin.wire.bodies.topics import TopicConfig

DLQ_QUEUES = 1
FIRST_RETRY_LEVEL = 3
HANDED_BACK, SENT_TO_RETRY = "0", "-1"
"""The delay level that RocketMQ leaves in a dead letter, by the way that it came."""


class Retry:
    """Handler of CONSUMER_SEND_MSG_BACK."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    @handles(Code.CONSUMER_SEND_MSG_BACK)
    async def send_back(self, request: Request) -> Response:
        """Store a message again for the group that could not consume it."""
        broker = self._broker
        header = ConsumerSendMsgBackRequestHeader.decode(request.fields)
        group = broker.groups.find(header.group)
        if group is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
                f"subscription group not exist, {header.group}{FAQ}",
            )
        if not broker.config.brokerPermission & Perm.WRITE:
            raise RemotingError(
                ResponseCode.NO_PERMISSION,
                f"the broker[{broker.config.brokerIP1}] sending message is forbidden",
            )
        if group.retry_queue_nums <= 0:
            return Response()
        message = self._failed_message(header)
        draft = self._draft(header, group, message, request.version)
        await broker.topic_kept(draft.topic)
        outcome = await put(broker.store, draft)
        if outcome.appended is None:
            raise RemotingError(outcome.code, outcome.remark or "the message could not be stored")
        own_topic = message.get_property(RETRY_TOPIC) or message.topic
        broker.counting.count("SNDBCK_PUT_NUMS", f"{own_topic}@{header.group}")
        return Response()

    def _failed_message(self, header: ConsumerSendMsgBackRequestHeader) -> "Message":
        message = self._broker.store.message_at(header.offset) if header.offset >= 0 else None
        if message is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, f"look message by offset failed, {header.offset}")
        return message

    def _draft(
        self,
        header: ConsumerSendMsgBackRequestHeader,
        group: "SubscriptionGroupConfig",
        message: "Message",
        version: int,
    ) -> Draft:
        broker = self._broker
        topic = broker.topics.create_for_group(
            names.retry_topic(header.group),
            group.retry_queue_nums,
            sys_flag=int(TopicSysFlag.UNIT_SUB) if header.unit_mode else 0,
        )
        if not topic.perm & Perm.WRITE:
            raise RemotingError(
                ResponseCode.NO_PERMISSION, f"the topic[{topic.topic_name}] sending message is forbidden"
            )
        properties = message.properties
        properties.setdefault(RETRY_TOPIC, message.topic)
        if not properties.get(ORIGIN_MESSAGE_ID, "").strip():
            properties[ORIGIN_MESSAGE_ID] = message.message_id
        properties[WAIT] = "false"
        retries_max = group.retry_max_times
        if version >= V3_4_9 and header.max_reconsume_times is not None:
            retries_max = header.max_reconsume_times
        draft = Draft.again(
            message,
            topic=names.retry_topic(header.group),
            queue_id=_any_queue(topic, group),
            properties=properties,
            reconsume_times=message.reconsume_times + 1,
        )
        if message.reconsume_times >= retries_max or header.delay_level < 0:
            broker.counting.count("SNDBCK2DLQ_TIMES", f"{properties[RETRY_TOPIC]}@{header.group}")
            return self.dead_letter(draft, header.group, HANDED_BACK)
        level = header.delay_level or FIRST_RETRY_LEVEL + message.reconsume_times
        return draft.delayed(level, broker.schedule.level_max)

    def dead_letter(self, draft: Draft, group: str, level: str) -> Draft:
        """Turn a message into a dead letter of a group; the topic is made with the first one."""
        topic = names.dead_letter_topic(group)
        self._broker.topics.create_for_group(topic, DLQ_QUEUES)
        self._broker.counting.count("DLQ_PUT_NUMS", f"{topic}@{group}")
        return replace(draft, topic=topic, queue_id=0, properties={**draft.properties, DELAY: level})


def _any_queue(topic: "TopicConfig", group: "SubscriptionGroupConfig") -> int:
    """Choose a queue that the group's members read, whatever the group's settings were when it was made."""
    return random.randrange(max(min(group.retry_queue_nums, topic.read_queue_nums), 1))
