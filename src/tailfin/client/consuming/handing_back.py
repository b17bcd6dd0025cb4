"""Messages that could not be consumed: handed back to their broker, or sent to the group's retry topic."""

import logging
import random

from tailfin._engine import ReceivedMessage
from tailfin.broker import names
from tailfin.client.consuming.judging import retry_level
from tailfin.client.errors import ClientError
from tailfin.client.network import Network
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.header import now_ms
from tailfin.wire.headers.send import ConsumerSendMsgBackRequestHeader, SendMessageRequestHeader

log = logging.getLogger("tailfin.client")

NOT_SENT = frozenset({"TRAN_MSG", "MIN_OFFSET", "MAX_OFFSET"})
"""Properties that belong to the message as it was read, not to the one that is sent."""
STORED = (
    ResponseCode.SUCCESS,
    ResponseCode.FLUSH_DISK_TIMEOUT,
    ResponseCode.SLAVE_NOT_AVAILABLE,
    ResponseCode.FLUSH_SLAVE_TIMEOUT,
)


class HandingBack:
    """Gives messages of a group back to brokers.

    Args:
        network: what the consumer stands on.
        group: the group's name, with the namespace.
        retries_max: how often a message comes again before it is a dead letter.
        unit_mode: the consumer belongs to a unit.
    """

    def __init__(self, network: Network, group: str, retries_max: int, *, unit_mode: bool = False) -> None:
        self._network = network
        self._group = group
        self._retries_max = retries_max
        self._unit_mode = unit_mode

    async def hand_back(self, message: ReceivedMessage, broker: str, delay_level: int) -> bool:
        """Have the broker store a message again for later; return whether it did."""
        header = ConsumerSendMsgBackRequestHeader(
            offset=message.physical_offset,
            group=self._group,
            delay_level=delay_level,
            origin_msg_id=message.offset_message_id,
            origin_topic=message.stored_topic,
            unit_mode=self._unit_mode,
            max_reconsume_times=self._retries_max,
            bname=broker,
        )
        try:
            address = self._network.address_of(broker)
            await self._network.call(address, Code.CONSUMER_SEND_MSG_BACK, header=header)
        except (RemotingError, ClientError) as error:
            log.warning("broker %s did not take back message %s: %s", broker, message.message_id, error)
            return False
        return True

    async def send_to_retry(self, message: ReceivedMessage, reconsume_times: int) -> bool:
        """Send a message to the group's retry topic on any broker; return whether one took it."""
        topic = names.retry_topic(self._group)
        properties = {name: value for name, value in message.properties.items() if name not in NOT_SENT}
        properties.setdefault("ORIGIN_MESSAGE_ID", message.offset_message_id)
        properties.setdefault("RETRY_TOPIC", message.stored_topic)
        properties["DELAY"] = str(retry_level(reconsume_times))
        try:
            queue = random.choice((await self._network.publish_route(topic)).publish)
            header = SendMessageRequestHeader(
                producer_group=self._group,
                topic=topic,
                default_topic=names.DEFAULT_TOPIC,
                default_topic_queue_nums=1,
                queue_id=queue.queue_id,
                sys_flag=0,
                born_timestamp=now_ms(),
                flag=message.flag,
                properties="".join(f"{name}\x01{value}\x02" for name, value in properties.items()),
                reconsume_times=reconsume_times + 1,
                max_reconsume_times=self._retries_max,
                unit_mode=self._unit_mode,
                bname=queue.broker,
            )
            await self._network.call(
                self._network.address_of(queue.broker),
                Code.SEND_MESSAGE_V2,
                fields=header.encode(short=True),
                body=message.body,
                accept=STORED,
            )
        except (RemotingError, ClientError) as error:
            log.warning("message %s could not be sent to %s: %s", message.message_id, topic, error)
            return False
        return True
