"""Transactions of the official Java client, on servers that ask early."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pytest

from tests.interop.clients import java_client
from tests.interop.clients.clusters import CHECKS_MAX, Cluster
from tests.interop.clients.java_client import Saw
from tests.interop.clients.scenario_checks import assert_same
from tests.unit.broker.talking import OK, messages
from tests.unit.broker.transactions.acting import COMMIT, ROLLBACK, UNKNOWN, Producer, now_ms

T = TypeVar("T")
Seen = dict[str, dict[str, Saw]]

SCENARIOS = (
    "transaction_ended_by_producer",
    "transaction_ended_when_asked",
    "transaction_producer_dies",
    "transaction_given_up",
)
VERSIONS = ("4.9.8", "5.5.0")
BOTH = pytest.mark.parametrize("version", VERSIONS)
KIND_BITS, SYSTEM_ERROR, ILLEGAL_OPERATION = 0xC, 1, 604


@pytest.fixture(scope="module")
def seen(asking: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """What each scenario saw, by version of the client."""

    def run(version: str) -> dict[str, Saw]:
        return java_client.run(version, asking, tmp_path_factory.mktemp("java"), *SCENARIOS)

    with ThreadPoolExecutor() as pool:
        return dict(zip(VERSIONS, pool.map(run, VERSIONS), strict=True))


def saw(seen: Seen, version: str, scenario: str) -> Saw:
    """Return what a scenario saw, once it is known to have come to its end."""
    line = seen[version][f"transaction_{scenario}"]
    assert "error" not in line, line["error"]
    return line


def assert_committed(line: Saw, *, asked: int | None = None) -> None:
    """Hold that just the wanted messages came, as themselves: their ids, places and properties."""
    assert_same(line["received"], line["wanted"])
    ids = {result["id"]: result for result in line["results"]}
    for message in line["received"]:
        result, properties = ids[message["id"]], message["properties"]
        assert result["transactionId"] == properties["__transactionId__"] == message["id"]
        assert (message["queue"], message["sysFlag"] & KIND_BITS) == (result["queue"], 8)
        assert (properties["TRAN_MSG"], properties["color"]) == ("true", message["color"])
        assert message["topic"].endswith(properties["PGROUP"].split("_")[-1].removesuffix("-1"))
        assert not properties.keys() & {"REAL_TOPIC", "REAL_QID", "TRAN_PREPARED_QUEUE_OFFSET"}
        assert properties.get("TRANSACTION_CHECK_TIMES") == (str(asked) if asked else None)
        assert message["reconsumed"] == 0


@BOTH
@pytest.mark.shows("TX-03", "TX-07")
def test_what_the_producer_commits_is_consumed_and_what_it_rolls_back_is_not(
    seen: Seen, version: str
) -> None:
    line = saw(seen, version, "ended_by_producer")
    assert {result["status"] for result in line["results"]} == {"SEND_OK"}
    assert_committed(line)
    numbers = {result["id"]: result["number"] for result in line["results"]}
    for message in line["received"]:
        assert message["flag"] == numbers[message["id"]]


@BOTH
@pytest.mark.shows("TX-07")
def test_producer_that_does_not_know_is_asked_until_it_does(seen: Seen, version: str) -> None:
    line = saw(seen, version, "ended_when_asked")
    assert_committed(line, asked=2)
    assert_same(line["receivedInTheEnd"], line["wanted"])
    assert len(line["asked"]) == 2 * len(line["wanted"])
    results = {result["id"]: result for result in line["results"]}
    for question in line["asked"]:
        result = results[question["transactionId"]]
        assert question["topic"].endswith("tx-asked")
        assert (question["queue"], question["properties"]["UNIQ_KEY"]) == (result["queue"], result["id"])
        assert question["properties"]["TRANSACTION_CHECK_TIMES"] in ("1", "2")
    assert len({question["transactionId"] for question in line["rolledBack"]}) == 4


@BOTH
@pytest.mark.shows("TX-07")
def test_another_producer_of_the_group_answers_for_one_that_is_gone(seen: Seen, version: str) -> None:
    line = saw(seen, version, "producer_dies")
    assert_same(line["received"], line["wanted"])
    assert not line["askedOfTheDead"]


@BOTH
@pytest.mark.shows("TX-07")
def test_transaction_is_given_up_after_the_last_question_and_resumed_by_an_operator(
    seen: Seen, version: str
) -> None:
    line = saw(seen, version, "given_up")
    assert line["askedBefore"] == CHECKS_MAX
    (lost,) = line["lost"]
    assert_same(line["lost"], line["wanted"])
    assert lost["topic"] == "TRANS_CHECK_MAX_TIME_TOPIC"
    assert lost["properties"]["TRANSACTION_CHECK_TIMES"] == str(CHECKS_MAX)
    assert lost["properties"]["REAL_TOPIC"].endswith("tx-lost")
    assert line["resumed"] is True
    assert_committed(line, asked=1)


def talk(cluster: Cluster, work: Callable[[Producer], Awaitable[T]]) -> T:
    """Talk to a cluster's broker in words of our own."""

    async def run() -> T:
        (address,) = cluster.brokers.values()
        producer = Producer(address, group=f"makers-{now_ms()}")
        try:
            await producer.join()
            return await work(producer)
        finally:
            await producer.client.stop()

    return asyncio.run(run())


WRONG = {
    "another group": ({"producerGroup": "others"}, "The producer group wrong"),
    "another half": ({"tranStateTableOffset": 77_777}, "The transaction state table offset wrong"),
    "beyond the log": ({"commitLogOffset": 1 << 40}, "Find prepared transaction message failed"),
}


@pytest.mark.parametrize(("changes", "remark"), WRONG.values(), ids=WRONG.keys())
def test_wrong_end_is_refused_and_the_right_one_still_works(
    asking: Cluster, changes: dict[str, object], remark: str
) -> None:
    topic = f"Wrong-{now_ms()}"

    async def work(producer: Producer) -> None:
        half = await producer.prepare(topic)
        for how in (COMMIT, ROLLBACK):
            refused = await producer.end(half, how, **changes)
            assert (refused.code, refused.remark) == (SYSTEM_ERROR, remark)
        await producer.end_oneway(half, UNKNOWN)
        assert (await producer.end(half, COMMIT)).code == OK
        (message,) = await producer.ordered(topic=topic)
        assert (message.body, message.prepared_offset) == (b"pizza", half.place)

    talk(asking, work)


def test_producer_that_is_later_than_it_said_has_to_wait_for_the_question(asking: Cluster) -> None:
    async def work(producer: Producer) -> None:
        late = await producer.prepare("Late", born_ms=now_ms() - 20_000, CHECK_IMMUNITY_TIME_IN_SECONDS="10")
        assert (await producer.end(late, COMMIT)).code == ILLEGAL_OPERATION
        assert (await producer.end(late, COMMIT, fromTransactionCheck="true")).code == OK

    talk(asking, work)


def test_records_of_a_transaction_are_the_same(asking: Cluster) -> None:
    topic = f"Records-{now_ms()}"

    async def work(producer: Producer) -> None:
        half = await producer.prepare(topic, b"x", born_ms=now_ms(), flag=9, UNIQ_KEY="U-same", KEYS="k")
        by_offset = await producer.ask(33, {"offset": half.place})
        (record,) = messages(by_offset.body)
        assert (record.topic, record.queue_id, record.sys_flag, record.flag) == (
            "RMQ_SYS_TRANS_HALF_TOPIC",
            0,
            0,
            9,
        )
        added = {"REAL_TOPIC": topic, "REAL_QID": "1", "__transactionId__": "U-same"}
        sent = {
            "TRAN_MSG": "true",
            "PGROUP": producer.group,
            "TAGS": "TagA",
            "UNIQ_KEY": "U-same",
            "KEYS": "k",
        }
        broker = {"CLUSTER": "DefaultCluster", "MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
        assert record.properties == added | sent | broker
        assert (await producer.end(half, COMMIT)).code == OK
        (message,) = await producer.ordered(topic=topic)
        kept = {key: value for key, value in added.items() if key == "__transactionId__"}
        assert message.properties == kept | sent | broker
        assert (message.sys_flag, message.flag, message.prepared_offset) == (8, 9, half.place)

    talk(asking, work)
