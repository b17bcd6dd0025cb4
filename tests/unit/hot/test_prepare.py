"""First halves of transactions: the engine stores them where nobody reads, with what their end will need."""

import pytest

from tailfin._engine import Message
from tests.unit.hot.node import SEND_BATCH, TOPIC, Client, Node, properties, running, send_fields, until

HALF_TOPIC = "RMQ_SYS_TRANS_HALF_TOPIC"
PREPARED = {"TRAN_MSG": "true", "PGROUP": "makers", "UNIQ_KEY": "U1", "TAGS": "TagA"}


def stored_half(node: Node, offset: int = 0) -> Message:
    until(lambda: node.store.max_offset(HALF_TOPIC, 0) > offset)
    return node.store.read(HALF_TOPIC, 0, offset)[0]


@pytest.mark.shows("TX-01", "TX-02", "SP-11")
def test_a_half_waits_in_its_own_topic_and_knows_where_it_belongs(node: Node, client: Client) -> None:
    reply = client.send(b"order", e=3, f=4 | 1, h=7, i=properties(**PREPARED))
    half = stored_half(node)
    assert reply.code == 0
    assert (reply.fields["queueId"], reply.fields["queueOffset"]) == ("3", "0")
    assert (reply.fields["msgId"], reply.fields["transactionId"]) == (half.message_id, "U1")
    assert (half.topic, half.queue_id, half.body, half.flag) == (HALF_TOPIC, 0, b"order", 7)
    assert half.sys_flag == 1, "the kind of transaction is not in the record, the compression is"
    added = {"__transactionId__": "U1", "REAL_TOPIC": TOPIC, "REAL_QID": "3"}
    assert half.properties.items() >= (PREPARED | added).items()
    assert half.properties["CLUSTER"] == "DefaultCluster"
    assert node.store.max_offset(TOPIC, 3) == 0, "nobody reads it before it is committed"


def test_a_half_without_a_unique_key_gets_one_that_is_its_transaction_s_id(
    node: Node, client: Client
) -> None:
    reply = client.send(i=properties(TRAN_MSG="true", PGROUP="makers"))
    half = stored_half(node)
    assert half.unique_key == half.properties["__transactionId__"] == reply.fields["transactionId"]


def test_what_a_client_claims_about_the_real_topic_does_not_count(node: Node, client: Client) -> None:
    client.send(e=1, i=properties(**PREPARED, REAL_TOPIC="Other", REAL_QID="9", __transactionId__="x"))
    half = stored_half(node).properties
    assert (half["REAL_TOPIC"], half["REAL_QID"], half["__transactionId__"]) == (TOPIC, "1", "U1")


def test_halves_and_ordinary_messages_of_one_read_find_their_places(node: Node, client: Client) -> None:
    for number in range(20):
        client.send(b"%d" % number, i=properties(**PREPARED) if number % 2 else "")
    halves = [stored_half(node, offset).body for offset in range(10)]
    assert halves == [b"%d" % number for number in range(1, 20, 2)]
    until(lambda: node.store.max_offset(TOPIC, 0) == 10)
    counters = node.hot.counters()
    assert counters["HALF_PUT_NUMS"] == {TOPIC: 10}
    assert (counters["TOPIC_PUT_NUMS"][TOPIC], counters["TOPIC_PUT_NUMS"][HALF_TOPIC]) == (10, 10)


@pytest.mark.shows("TX-06", "CL-30")
@pytest.mark.parametrize("changes", [{"i": properties(TRAN_MSG="true")}, {"f": 4}], ids=["property", "flag"])
def test_a_batch_cannot_be_transactional(client: Client, changes: dict[str, object]) -> None:
    reply = client.ask(SEND_BATCH, send_fields(m="true", **changes), b"\0" * 40)
    assert (reply.code, "transactional" in (reply.remark or "")) == (13, True)


def test_halves_are_python_s_to_refuse_where_they_are_forbidden(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with (
        running(tmp_path_factory.mktemp("store"), rejectTransactionMessage=True) as node,
        node.client() as client,
    ):
        client.post(310, send_fields(i=properties(**PREPARED)), b"x")
        assert node.next_request().code == 310
