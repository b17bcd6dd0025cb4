from pathlib import Path

import pytest

from tailfin._engine import Message, encode_message_id
from tailfin.wire import frame
from tests.unit.hot.node import (
    QUEUES,
    SEND,
    SEND_V2,
    TOPIC,
    Client,
    Node,
    properties,
    running,
    send_fields,
    until,
)

BOTH = pytest.mark.parametrize("kind", [frame.JSON, frame.BINARY], ids=["json", "binary"])
LONG_NAMES = {
    "a": "producerGroup",
    "b": "topic",
    "c": "defaultTopic",
    "d": "defaultTopicQueueNums",
    "e": "queueId",
    "f": "sysFlag",
    "g": "bornTimestamp",
    "h": "flag",
    "i": "properties",
    "j": "reconsumeTimes",
}


def stored(node: Node, queue_id: int = 0, offset: int = 0) -> Message:
    until(lambda: node.store.max_offset(TOPIC, queue_id) > offset)
    return node.store.read(TOPIC, queue_id, offset)[0]


@BOTH
@pytest.mark.shows("RP-02", "SP-04", "SP-10", "SP-14", "SP-24", "SP-12")
def test_a_send_is_stored_as_it_came_and_answered_with_its_place(
    node: Node, client: Client, kind: int
) -> None:
    text = properties(TAGS="TagA", KEYS="k1 k2", UNIQ_KEY="U1", WAIT="true")
    fields = send_fields(e=3, f=1, h=7, i=text, j=2)
    reply = client.ask(SEND_V2, fields, b"\x00binary\xff", kind=kind)
    message = stored(node, queue_id=3)
    assert reply.code == 0
    assert reply.fields == {
        "msgId": message.message_id,
        "queueId": "3",
        "queueOffset": "0",
        "transactionId": "U1",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
    }
    assert (message.body, message.flag, message.sys_flag) == (b"\x00binary\xff", 7, 1)
    assert (message.born_timestamp, message.reconsume_times) == (1234, 2)
    assert message.born_host == client.address
    assert message.properties == {
        "TAGS": "TagA",
        "KEYS": "k1 k2",
        "UNIQ_KEY": "U1",
        "WAIT": "true",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
        "CLUSTER": "DefaultCluster",
    }
    assert reply.fields["msgId"] == encode_message_id(message.store_host, message.physical_offset)


@pytest.mark.shows("RP-01", "SP-02")
def test_the_first_version_spells_its_fields_out(node: Node, client: Client) -> None:
    fields = {LONG_NAMES[key]: value for key, value in send_fields(e=1, i=properties(UNIQ_KEY="U")).items()}
    reply = client.ask(SEND, fields, b"old")
    assert (reply.code, reply.fields["queueId"], reply.fields["transactionId"]) == (0, "1", "U")
    assert stored(node, queue_id=1).body == b"old"


@pytest.mark.shows("SP-08")
def test_a_negative_queue_means_any_that_is_written_to(node: Node, client: Client) -> None:
    node.tell_topic(write_queues=2)
    queues = {client.send(e=-1).fields["queueId"] for _ in range(50)}
    assert queues == {"0", "1"}


def test_a_message_without_a_unique_key_gets_one(node: Node, client: Client) -> None:
    keys = [client.send().fields["transactionId"], client.send(i=properties(a="1")).fields["transactionId"]]
    assert len(set(keys)) == 2
    assert [stored(node, offset=offset).unique_key for offset in (0, 1)] == keys


def test_what_only_the_broker_sets_is_not_taken_from_a_client(node: Node, client: Client) -> None:
    text = properties(MSG_REGION="mine", CLUSTER="mine", TRACE_ON="no", POP_CK="x", k="v") + "last\1one"
    client.send(i=text)
    kept = stored(node).properties
    assert kept.pop("UNIQ_KEY")
    assert kept == {
        "k": "v",
        "last": "one",
        "MSG_REGION": "DefaultRegion",
        "TRACE_ON": "true",
        "CLUSTER": "DefaultCluster",
    }


def test_properties_that_are_no_pairs_harm_nobody(node: Node, client: Client) -> None:
    for offset, text in enumerate(["\1\1\2\2\1", "novalue", "\2\2", "a\1b\1c\2", "x" * 1000]):
        reply = client.send(i=text)
        assert reply.code == 0, text
        assert stored(node, offset=offset).unique_key == reply.fields["transactionId"]


def test_text_outside_ascii_survives(node: Node, client: Client) -> None:
    client.send(i=properties(name='König "☃" 😀 \\ /'))
    assert stored(node).properties["name"] == 'König "☃" 😀 \\ /'


def test_many_sends_in_one_write_are_answered_one_by_one_and_in_order(node: Node, client: Client) -> None:
    numbers = [client.post(SEND_V2, send_fields(e=n % 2), b"%d" % n) for n in range(200)]
    replies = [client.reply(number) for number in numbers]
    assert {reply.code for reply in replies} == {0}
    places = [(reply.fields["queueId"], int(reply.fields["queueOffset"])) for reply in replies]
    assert places == [(str(n % 2), n // 2) for n in range(200)]
    assert stored(node, queue_id=1, offset=99).body == b"199"


def test_a_oneway_send_is_stored_and_not_answered(node: Node, client: Client) -> None:
    client.post(SEND_V2, send_fields(), b"quiet", flag=2)
    assert client.send(b"loud").fields["queueOffset"] == "1"
    assert stored(node).body == b"quiet"


REFUSED: list[tuple[str, dict[str, object], bytes, int, str]] = [
    ("queue that is not there", {"e": QUEUES}, b"x", 29, "queues 0 to 3"),
    ("no queue", {"e": None}, b"x", 1, "queueId"),
    ("queue that is no number", {"e": "two"}, b"x", 1, "queueId"),
    ("queue beyond 32 bits", {"e": 1 << 40}, b"x", 1, "queueId"),
    ("no topic", {"b": None}, b"x", 1, "topic"),
    ("no born time", {"g": None}, b"x", 1, "bornTimestamp"),
    ("empty body", {}, b"", 1, "no body"),
    ("too many properties", {"i": properties(k="v" * 32_767)}, b"x", 13, "properties"),
    ("body too large", {}, b"x" * 2001, 13, "maxMessageSize allows 2000"),
]


@pytest.mark.shows("SP-07", "SP-19")
@pytest.mark.parametrize(
    ("changes", "body", "code", "says"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_wrong_send_is_refused_with_a_code_and_a_reason(
    node: Node, client: Client, changes: dict[str, object], body: bytes, code: int, says: str
) -> None:
    node.store.set_max_message_size(2000)
    reply = client.ask(SEND_V2, send_fields(**changes), body)
    assert reply.code == code
    assert says in (reply.remark or "")
    assert reply.fields == {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
    assert client.send().code == 0, "the connection goes on"


def test_a_refused_send_does_not_spoil_its_neighbours(node: Node, client: Client) -> None:
    bodies = [b"one", b"", b"two", b"x" * 5_000_000, b"three"]
    numbers = [client.post(SEND_V2, send_fields(), body) for body in bodies]
    assert [client.reply(number).code for number in numbers] == [0, 1, 0, 13, 0]
    assert [stored(node, offset=offset).body for offset in range(3)] == [b"one", b"two", b"three"]


@pytest.mark.shows("SP-20")
def test_a_store_that_takes_no_writes_says_so(node: Node, client: Client) -> None:
    node.store.set_writable("disk_full", False)
    reply = client.send()
    assert reply.code == 14
    assert "disk" in (reply.remark or "")
    node.store.set_writable("disk_full", True)
    assert client.send().code == 0


@pytest.mark.shows("RM-26")
def test_a_slave_is_busy_for_producers(tmp_path: Path) -> None:
    with running(tmp_path, store={"brokerRole": "SLAVE"}, brokerId=1) as node, node.client() as client:
        reply = client.send()
        assert reply.code == 2
        assert (reply.remark or "").startswith("[REJECTREQUEST]system busy")


LEFT_TO_PYTHON: dict[str, dict[str, object]] = {
    "unknown topic": {"b": "Unknown"},
    "topic with bad characters": {"b": "a/../b\0"},
    "topic outside ASCII": {"b": "König"},
    "retry topic": {"b": "%RETRY%readers"},
    "dead letter topic": {"b": "%DLQ%readers"},
    "delayed": {"i": properties(DELAY="3")},
    "timed": {"i": properties(TIMER_DELIVER_MS="1")},
    "delayed and transactional": {"i": properties(TRAN_MSG="true", DELAY="3")},
    "half message by its flag": {"f": 4},
    "topic that Python keeps": {"b": "Hooked"},
}


@pytest.mark.parametrize("changes", LEFT_TO_PYTHON.values(), ids=LEFT_TO_PYTHON.keys())
def test_an_unusual_send_is_left_to_python(node: Node, client: Client, changes: dict[str, object]) -> None:
    node.tell_topic("Hooked", by_python=True)
    for name in ("%RETRY%readers", "%DLQ%readers"):
        node.tell_topic(name)
    number = client.post(SEND_V2, send_fields(**changes), b"special")
    request = node.next_request()
    assert (request.code, request.body) == (SEND_V2, b"special")
    assert request.fields.items() >= {key: str(value) for key, value in changes.items()}.items()
    node.server.answer(request, 0, remark="by hand")
    assert client.reply(number).remark == "by hand"
    assert node.store.max_physical_offset == 0


def test_python_may_hand_a_request_back_when_the_rulebook_knows_more(node: Node, client: Client) -> None:
    number = client.post(SEND_V2, send_fields(b="New"), b"first")
    request = node.next_request()
    assert not node.server.hand_back(request)
    node.tell_topic("New")
    assert node.server.hand_back(request)
    assert client.reply(number).code == 0
    until(lambda: node.store.max_offset("New", 0) == 1)


def test_codes_can_be_left_to_python_and_taken_back(node: Node, client: Client) -> None:
    node.hot.send_to_python([SEND_V2])
    number = client.post(SEND_V2, send_fields(), b"hooked")
    node.server.answer(node.next_request(), 7)
    assert client.reply(number).code == 7
    node.hot.send_to_python([])
    assert client.send().code == 0


def test_a_broker_that_may_not_be_written_to_leaves_sends_to_python(tmp_path: Path) -> None:
    with running(tmp_path, brokerPermission=4) as node, node.client() as client:
        client.post(SEND_V2, send_fields(), b"x")
        assert node.next_request().code == SEND_V2


def test_options_change_at_once(node: Node, client: Client) -> None:
    from tailfin.config import BrokerConfig
    from tailfin.config.hot import hot_options

    node.hot.set_options(hot_options(BrokerConfig(regionId="North", traceOn=False, brokerClusterName="C2")))
    reply = client.send()
    assert (reply.fields["MSG_REGION"], reply.fields["TRACE_ON"]) == ("North", "false")
    kept = stored(node).properties
    assert (kept["MSG_REGION"], kept["TRACE_ON"], kept["CLUSTER"]) == ("North", "false", "C2")


@pytest.mark.shows("SP-24")
def test_stored_messages_are_counted(node: Node, client: Client) -> None:
    sizes = 0
    for _ in range(3):
        client.send()
        sizes = node.store.max_physical_offset
    client.send(b"")
    assert node.hot.counters() == {
        "TOPIC_PUT_NUMS": {TOPIC: 3},
        "TOPIC_PUT_SIZE": {TOPIC: sizes},
        "BROKER_PUT_NUMS": {"DefaultCluster": 3},
    }
    node.hot.drop_topic(TOPIC)
    node.tell_topic()
    client.send()
    assert node.hot.counters()["TOPIC_PUT_NUMS"] == {TOPIC: 4}
