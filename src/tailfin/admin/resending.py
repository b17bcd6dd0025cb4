"""Copies of stored messages, sent again."""

import random
from collections.abc import Mapping

from tailfin.admin.errors import AdminError
from tailfin.admin.servers import Servers
from tailfin.broker.names import DEFAULT_TOPIC
from tailfin.client.results import SendResult, SendStatus
from tailfin.copying import UNIQUE_KEY, same_message
from tailfin.message import ReceivedMessage, compress_body
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.header import now_ms
from tailfin.wire.headers.send import SendMessageRequestHeader, SendMessageResponseHeader

GROUP = "CLIENT_INNER_PRODUCER"
COMPRESS_OVER = 4096

_STORED = tuple(int(each.value) for each in SendStatus)


class Resending:
    """Sends copies."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers

    async def send(
        self, message: ReceivedMessage, topic: str, further: Mapping[str, str] | None = None
    ) -> SendResult:
        """Send a copy of a message to a topic.

        Args:
            message: the message.
            topic: where to.
            further: properties that the copy has besides the user's own.
        """
        queues = (await self._servers.fresh_route(topic)).publish
        if not queues:
            raise AdminError(
                f"no queue of topic {topic!r} can be written to: its masters are gone, or its permission"
            )
        queue = random.choice(queues)
        body, bits = message.body, 0
        if len(body) >= COMPRESS_OVER:
            body, bits = compress_body(body, "zlib")
        header = SendMessageRequestHeader(
            producer_group=GROUP,
            topic=topic,
            default_topic=DEFAULT_TOPIC,
            default_topic_queue_nums=4,
            queue_id=queue.queue_id,
            sys_flag=bits,
            born_timestamp=now_ms(),
            flag=message.flag,
            properties=text({**same_message(message.properties), **(further or {})}),
            reconsume_times=0,
            unit_mode=False,
            batch=False,
        )
        answer = await self._servers.ask(
            self._servers.network.address_of(queue.broker),
            Code.SEND_MESSAGE_V2,
            fields=header.encode(short=True),
            body=body,
            accept=_STORED,
        )
        stored = SendMessageResponseHeader.decode(answer.fields)
        return SendResult(
            status=SendStatus(ResponseCode(answer.code)),
            message_id=message.property(UNIQUE_KEY) or stored.msg_id,
            offset_message_id=stored.msg_id,
            queue=queue._replace(queue_id=stored.queue_id),
            queue_offset=stored.queue_offset,
        )


def text(properties: Mapping[str, str]) -> str:
    """Write properties as requests carry them."""
    return "".join(f"{name}\x01{value}\x02" for name, value in properties.items())
