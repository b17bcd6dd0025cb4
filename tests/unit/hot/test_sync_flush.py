from collections.abc import Iterator
from pathlib import Path

import pytest

from tailfin._engine import encode_batch
from tests.unit.hot.node import SEND_BATCH, SEND_V2, TOPIC, Node, properties, running, send_fields, until


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    # The flush by the clock stays out of the way: what is answered was flushed for its own sake.
    with running(tmp_path, store={"flushDiskType": "SYNC_FLUSH", "flushIntervalCommitLog": 60_000}) as node:
        yield node


@pytest.mark.shows("FL-02", "FL-05")
def test_a_send_is_answered_when_it_is_on_disk(node: Node) -> None:
    with node.client() as client:
        for offset in range(20):
            reply = client.send(i=properties(UNIQ_KEY=f"U{offset}"))
            assert node.store.flushed_offset == node.store.max_physical_offset
            assert (reply.code, reply.fields["queueOffset"]) == (0, str(offset))
            assert reply.fields["transactionId"] == f"U{offset}"
            assert reply.fields["MSG_REGION"] == "DefaultRegion"


def test_one_flush_answers_many(node: Node) -> None:
    clients = [node.client() for _ in range(4)]
    numbers = [
        [client.post(SEND_V2, send_fields(e=q), b"x") for _ in range(100)] for q, client in enumerate(clients)
    ]
    for client, posted in zip(clients, numbers, strict=True):
        replies = [client.reply(number) for number in posted]
        assert [reply.fields["queueOffset"] for reply in replies] == [str(n) for n in range(100)]
        client.close()
    assert node.store.stats()["log_syncs"] < 400


def test_a_batch_waits_as_one(node: Node) -> None:
    with node.client() as client:
        reply = client.ask(SEND_BATCH, send_fields(m="true"), encode_batch([(0, b"a", b""), (0, b"b", b"")]))
        assert (reply.code, len(reply.fields["msgId"].split(","))) == (0, 2)
        assert node.store.flushed_offset == node.store.max_physical_offset


@pytest.mark.shows("FL-03")
def test_a_producer_that_does_not_wait_is_answered_at_once(node: Node) -> None:
    with node.client() as client:
        assert client.send(i=properties(WAIT="false")).code == 0
        until(lambda: node.store.max_offset(TOPIC, 0) == 1)


def test_a_flush_that_takes_too_long_is_said(tmp_path: Path) -> None:
    store = {"flushDiskType": "SYNC_FLUSH", "syncFlushTimeout": 0}
    with running(tmp_path, store=store) as node, node.client() as client:
        codes = [client.send() for _ in range(50)]
        assert {reply.code for reply in codes} <= {0, 10}
        late = [reply for reply in codes if reply.code == 10]
        assert all("msgId" in reply.fields and "flushed" in (reply.remark or "") for reply in late)
        until(lambda: node.store.max_offset(TOPIC, 0) == 50)
