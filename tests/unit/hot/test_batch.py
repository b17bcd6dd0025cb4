import struct

import pytest

from tailfin._engine import decode_message_id, encode_batch
from tailfin.wire import frame
from tailfin.wire.frame import Frame
from tests.unit.hot.node import SEND_BATCH, SEND_V2, TOPIC, Client, Node, properties, send_fields, until

ENTRIES = [(n, b"body %d" % n, properties(UNIQ_KEY=f"U{n}", n=str(n)).encode()) for n in range(3)]


def entry(
    body: bytes = b"x", *, size: int | None = None, body_len: int | None = None, prop_len: int = 0
) -> bytes:
    """One message of a batch, whose lengths may lie."""
    length = len(body) if body_len is None else body_len
    content = struct.pack(">iiii", 0, 0, 0, length) + body + struct.pack(">h", prop_len)
    return struct.pack(">i", 4 + len(content) if size is None else size) + content


@pytest.mark.shows("RP-03", "SP-03")
@pytest.mark.parametrize("code", [SEND_BATCH, SEND_V2])
def test_the_messages_of_a_batch_are_stored_side_by_side(node: Node, client: Client, code: int) -> None:
    client.send(b"before")
    reply = client.ask(code, send_fields(m="true", i=properties(UNIQ_KEY="B")), encode_batch(ENTRIES))
    assert reply.code == 0
    until(lambda: node.store.max_offset(TOPIC, 0) == 4)
    messages = list(node.store.read(TOPIC, 0, 1))
    assert [(m.flag, m.body, m.properties) for m in messages] == [
        (n, b"body %d" % n, {"UNIQ_KEY": f"U{n}", "n": str(n)}) for n in range(3)
    ]
    assert {m.born_host for m in messages} == {client.address}
    assert reply.fields["msgId"].split(",") == [m.message_id for m in messages]
    assert [decode_message_id(each)[1] for each in reply.fields["msgId"].split(",")] == [
        m.physical_offset for m in messages
    ]
    assert (reply.fields["queueOffset"], reply.fields["transactionId"]) == ("1", "B")
    assert node.hot.counters()["TOPIC_PUT_NUMS"] == {TOPIC: 4}


def test_the_batch_code_without_the_mark_is_one_message(node: Node, client: Client) -> None:
    assert client.ask(SEND_BATCH, send_fields(m="false"), encode_batch(ENTRIES)).code == 0
    until(lambda: node.store.max_offset(TOPIC, 0) == 1)
    assert node.store.read(TOPIC, 0, 0)[0].body == encode_batch(ENTRIES)


ILLEGAL = {
    "cut short": (encode_batch(ENTRIES)[:-1], {}),
    "entry longer than the batch": (entry(size=1 << 30), {}),
    "entry shorter than its fields": (entry(size=8), {}),
    "negative size": (entry(size=-1), {}),
    "body longer than the entry": (entry(body_len=1 << 30), {}),
    "negative body": (entry(body_len=-5), {}),
    "properties longer than the entry": (entry(prop_len=30_000), {}),
    "negative properties": (entry(prop_len=-1), {}),
    "not a batch": (b"just text, in fact", {}),
    "good messages before a bad one": (encode_batch(ENTRIES) + entry(size=7), {}),
    "transactional": (encode_batch(ENTRIES), {"f": 4}),
    "delayed": (encode_batch(ENTRIES), {"i": properties(DELAY="2")}),
    "one of its messages delayed": (encode_batch([*ENTRIES, (0, b"x", properties(DELAY="2").encode())]), {}),
}


@pytest.mark.parametrize(("body", "changes"), ILLEGAL.values(), ids=ILLEGAL.keys())
def test_a_batch_that_lies_is_refused_and_nothing_of_it_is_stored(
    node: Node, client: Client, body: bytes, changes: dict[str, object]
) -> None:
    reply = client.ask(SEND_BATCH, send_fields(m="true", **changes), body)
    assert reply.code == 13
    assert reply.remark
    assert node.store.max_physical_offset == 0
    assert client.send().code == 0


def test_a_batch_that_lies_among_others_of_one_read_costs_them_nothing(node: Node, client: Client) -> None:
    batches = [encode_batch([(0, b"%d-%d" % (batch, n), b"") for n in range(3)]) for batch in range(4)]
    batches[1] += entry(size=7)
    fields = {key: str(value) for key, value in send_fields(m="true").items()}
    requests = [
        frame.encode(Frame(code=SEND_BATCH, opaque=number, fields=fields, body=body), frame.JSON)
        for number, body in enumerate(batches)
    ]
    client.socket.sendall(b"".join(requests))
    replies = [client.reply(number) for number in range(4)]
    assert [reply.code for reply in replies] == [0, 13, 0, 0]
    until(lambda: node.store.max_offset(TOPIC, 0) == 9)
    stored = list(node.store.read(TOPIC, 0, 0))
    assert [m.body for m in stored] == [b"%d-%d" % (batch, n) for batch in (0, 2, 3) for n in range(3)]
    told = [each for reply in replies if reply.code == 0 for each in reply.fields["msgId"].split(",")]
    assert told == [m.message_id for m in stored]


def test_a_batch_is_as_large_as_a_message_may_be_at_most(node: Node, client: Client) -> None:
    node.store.set_max_message_size(200)
    reply = client.ask(SEND_BATCH, send_fields(m="true"), entry(b"x" * 100) + entry(b"x" * 100))
    assert reply.code == 1
    assert "smaller batches" in (reply.remark or "")


def test_a_batch_for_a_retry_topic_is_left_to_python(node: Node, client: Client) -> None:
    node.tell_topic("%RETRY%readers")
    client.post(SEND_BATCH, send_fields(m="true", b="%RETRY%readers"), encode_batch(ENTRIES))
    assert node.next_request().code == SEND_BATCH
