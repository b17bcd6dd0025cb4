"""Tailfin's answers, held against those of the official store on another copy of the same files."""

import hashlib
import ipaddress
from collections.abc import Iterable, Iterator
from pathlib import Path

from tailfin.store import Message, Store
from tests.interop.corpus import open_store
from tests.interop.official import QUERY_LIMIT, SMALL, Answers, Line, Settings

OF_ACK = (
    *("topic", "queueId", "queueOffset", "physicalOffset", "offsetMsgId", "storeTimestamp", "storeHost"),
    *("bornTimestamp", "bornHost", "flag", "reconsumeTimes", "preparedTransactionOffset"),
    *("tags", "keys", "uniqKey", "bodyLength", "bodyCrc", "bodySha256"),
)
"""What an acknowledgement says of a message and the stored record must repeat."""

NO_QUEUE = (4, 12)
"""Transaction bits of half and rolled-back messages, which stand in no queue."""


def described(message: Message) -> Line:
    """Describe a message in the words of the Java tool."""
    properties = message.properties
    return {
        "topic": message.topic,
        "queueId": message.queue_id,
        "queueOffset": message.queue_offset,
        "physicalOffset": message.physical_offset,
        "offsetMsgId": message.message_id,
        "storeTimestamp": message.store_timestamp,
        "storeHost": message.store_host,
        "bornTimestamp": message.born_timestamp,
        "bornHost": message.born_host,
        "sysFlag": message.sys_flag,
        "flag": message.flag,
        "reconsumeTimes": message.reconsume_times,
        "preparedTransactionOffset": message.prepared_offset,
        "tags": message.tags,
        "keys": message.keys,
        "uniqKey": message.unique_key,
        "properties": properties,
        "bodyLength": len(message.body),
        "bodyCrc": message.body_crc,
        "bodyCrcOk": True,
        "bodySha256": hashlib.sha256(message.body).hexdigest(),
        "size": message.size,
        "recordSha256": hashlib.sha256(message.raw).hexdigest(),
    }


def plain(line: Line) -> Line:
    """Write a line's hosts in one way; leave out the properties' text, which the record's hash covers."""
    line = {key: value for key, value in line.items() if key != "propertiesText"}
    for key in ("bornHost", "storeHost"):
        line[key] = _host(line[key])
    return line


def _host(text: str) -> str:
    address, _, port = text.rpartition(":")
    return f"[{ipaddress.ip_address(address.strip('[]'))}]:{port}"


def queue_messages(store: Store, topic: str, queue_id: int, tags: str | None = None) -> Iterator[Message]:
    """Yield a queue's messages from its first to its last."""
    offset, end = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
    while offset < end:
        result = store.read(topic, queue_id, offset, 32, tags=tags)
        assert result.next_offset > offset, f"no way on from {offset} of {topic}/{queue_id}: {result.status}"
        yield from result
        offset = result.next_offset


def assert_tailfin_answers_alike(directory: Path, java: Answers, settings: Settings = SMALL) -> None:
    """Open a directory with Tailfin and ask it everything that Java was asked."""
    with open_store(directory, settings) as store:
        assert_same_queues(store, java)
        assert_same_tagged(store, java)
        assert_same_times(store, java)
        assert_same_keys(store, java)


def assert_same_queues(store: Store, java: Answers) -> None:
    """Every queue has the same ends, and every message the same fields and the same bytes."""
    queues = {(topic, queue_id) for topic, ids in store.topics().items() for queue_id in ids}
    filled = {queue for queue in queues if store.max_offset(*queue) > 0}
    assert filled == {queue for queue, line in java.queues.items() if line["maxOffset"] > 0}
    assert store.max_physical_offset == java.store["maxPhysicalOffset"]
    for (topic, queue_id), line in java.queues.items():
        assert store.min_offset(topic, queue_id) == line["minOffset"], (topic, queue_id)
        assert store.max_offset(topic, queue_id) == line["maxOffset"], (topic, queue_id)
        found = [plain(described(message)) for message in queue_messages(store, topic, queue_id)]
        assert found == [plain(each) for each in java.messages[topic, queue_id]], (topic, queue_id)


def assert_same_tagged(store: Store, java: Answers) -> None:
    """Each tag finds the same messages.

    The official store compares hashes alone and leaves the tags to its clients; no two tags of the corpus
    share a hash.
    """
    assert java.tagged
    for line in java.tagged:
        topic, queue_id, tags = line["topic"], line["queueId"], line["tags"]
        found = [message.physical_offset for message in queue_messages(store, topic, queue_id, tags)]
        messages, first = java.messages[topic, queue_id], java.queues[topic, queue_id]["minOffset"]
        assert found == [messages[offset - first]["physicalOffset"] for offset in line["offsets"]], line


def assert_same_times(store: Store, java: Answers) -> None:
    """Each time leads to the same first and last offset."""
    assert java.times
    for line in java.times:
        queue, time = (line["topic"], line["queueId"]), line["timestamp"]
        assert store.offset_at_time(*queue, time) == line["lower"], line
        assert store.offset_at_time(*queue, time, upper=True) == line["upper"], line


def assert_same_keys(store: Store, java: Answers) -> None:
    """Each key finds the same messages.

    The official store gives oldest first, a message as often as it was entered, and strangers whose key has
    the same hash; Tailfin gives newest first, each message once, and no strangers.
    """
    assert java.keys
    for line in java.keys:
        topic, key, offsets = line["topic"], line["key"], line["physicalOffsets"]
        assert len(offsets) < QUERY_LIMIT, f"{line}: more than Java tells"
        own = {offset for offset in offsets if _has_key(store.message_at(offset), topic, key)}
        found = [message.physical_offset for message in store.query(topic, key, limit=QUERY_LIMIT)]
        assert found == sorted(own, reverse=True), line


def _has_key(message: Message | None, topic: str, key: str) -> bool:
    assert message is not None
    named = [message.unique_key, *(message.keys or "").split(" ")]
    return message.topic == topic and key in named


def parted(acks: Iterable[Line]) -> tuple[list[Line], list[Line]]:
    """Part what stands in a queue from half and rolled-back messages, which stand in none."""
    queued: list[Line] = []
    unqueued: list[Line] = []
    for ack in acks:
        (unqueued if ack["sysFlag"] & 12 in NO_QUEUE else queued).append(ack)
    return queued, unqueued


def assert_java_has_all(acks: Iterable[Line], java: Answers) -> None:
    """Every acknowledged message stands in its queue, with every field as it was given."""
    places = java.by_place()
    for ack in parted(acks)[0]:
        line = places.get((ack["topic"], ack["queueId"], ack["queueOffset"]))
        assert line is not None, f"lost: {ack}"
        assert _of_ack(line) == _of_ack(ack)
        assert line["bodyCrcOk"]


def assert_tailfin_has_all(acks: Iterable[Line], directory: Path, settings: Settings = SMALL) -> None:
    """Every acknowledged record is in the log, also those that stand in no queue."""
    with open_store(directory, settings) as store:
        for ack in acks:
            message = store.message_by_id(ack["offsetMsgId"])
            assert message is not None, f"lost: {ack}"
            assert _of_ack(described(message)) == _of_ack(ack)


def _of_ack(line: Line) -> Line:
    kept = {key: line[key] for key in OF_ACK}
    for key in ("bornHost", "storeHost"):
        kept[key] = _host(kept[key])
    # The store adds a checksum, or the offsets of light queues.
    given = {key: value for key, value in line["properties"].items() if key not in _CHANGED}
    return {
        **kept,
        "properties": given,
        "compressed": line["sysFlag"] & 1,
        "transaction": line["sysFlag"] & 12,
    }


_CHANGED = ("INNER_MULTI_QUEUE_OFFSET", "__CRC32#")
