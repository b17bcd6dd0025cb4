"""One try to send messages."""

import uuid
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field

from tailfin.client.messages import Message
from tailfin.client.network import Network
from tailfin.client.producer_options import ProducerOptions
from tailfin.client.queues import Queue
from tailfin.message import encode_batch
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.header import now_ms
from tailfin.wire.headers.send import SendMessageRequestHeader

ANY = frozenset(range(4096))


@dataclass(slots=True)
class Reply:
    """How it ended."""

    code: int
    remark: str
    message_ids: list[str]
    fields: dict[str, str] = field(default_factory=dict)


async def send_once(
    network: Network,
    group: str,
    options: ProducerOptions,
    messages: Sequence[Message],
    queue: Queue,
    address: str,
    seconds: float,
    *,
    oneway: bool = False,
) -> Reply:
    """Send messages once."""
    ids = []
    texts = []
    for each in messages:
        properties = dict(each.properties)
        ids.append(properties.setdefault("UNIQ_KEY", uuid.uuid4().hex.upper()))
        if network.options.namespace:
            properties["INSTANCE_ID"] = network.options.namespace
        texts.append("".join(f"{name}\x01{value}\x02" for name, value in properties.items()))
    sys_flag, body = 0, messages[0].body
    if len(messages) > 1:
        body = encode_batch(
            [(each.flag, each.body, text.encode()) for each, text in zip(messages, texts, strict=True)]
        )
    elif len(body) >= options.compress_over:
        sys_flag, body = 1 | 3 << 8, zlib.compress(body, 5)
    properties = messages[0].properties
    if properties.get("TRAN_MSG") == "true":
        sys_flag |= 4
    header = SendMessageRequestHeader(
        producer_group=group,
        topic=queue.topic,
        default_topic=options.default_topic,
        default_topic_queue_nums=options.default_queues,
        queue_id=queue.queue_id,
        sys_flag=sys_flag,
        born_timestamp=now_ms(),
        flag=messages[0].flag,
        properties=texts[0] if len(messages) == 1 else "",
        reconsume_times=int(properties.get("RECONSUME_TIME", "0")),
        max_reconsume_times=int(properties["MAX_RECONSUME_TIMES"])
        if "MAX_RECONSUME_TIMES" in properties
        else None,
        unit_mode=bool(network.options.unit),
        bname=queue.broker,
        batch=len(messages) > 1,
    )
    is_reply = properties.get("MSG_TYPE") == "reply"
    code = Code.SEND_REPLY_MESSAGE_V2 if is_reply else Code.SEND_MESSAGE_V2
    if len(messages) > 1:
        code = Code.SEND_BATCH_MESSAGE
    fields = header.encode(short=True)
    try:
        if oneway:
            await network.notify(address, code, fields=fields, body=body, timeout=seconds)
            return Reply(ResponseCode.SUCCESS, "", ids)
        answer = await network.call(address, code, fields=fields, body=body, timeout=seconds, accept=ANY)
    except RemotingError as error:
        return Reply(error.code, error.remark, ids)
    return Reply(answer.code, answer.remark or "", ids, answer.fields)
