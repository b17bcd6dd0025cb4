"""A store directory with its config files goes from the official broker to Tailfin's, and back.

The name server is the official one all the while.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from tailfin.wire import fastjson
from tailfin.wire.bodies.groups import SubscriptionGroupConfig
from tailfin.wire.bodies.topics import TopicConfig, TopicConfigSerializeWrapper
from tailfin.wire.codes import Code
from tests.crash.waiting import wait_until
from tests.interop.clients import servers
from tests.interop.clients.servers import Make
from tests.unit.broker.talking import OK, Talker, eventually, messages

T = TypeVar("T")

STOPS_WITHIN_S = 60
GROUP = "HandedOver"
FILTER = "KEYS ENDSWITH '5' OR KEYS = 'k9'"


@contextmanager
def broker(make: Make, home: Path, namesrv: str) -> Iterator[str]:
    """Run a broker and stop it in order, so that it writes its files."""
    with servers.broker(make, home, namesrv) as server:
        yield server.address
        server.process.terminate()
        server.process.wait(STOPS_WITHIN_S)
    assert not (home / "store" / "abort").exists(), f"the {make} broker did not stop in order"


def talk(address: str, work: Callable[[Talker], Awaitable[T]]) -> T:
    async def run() -> T:
        talker = Talker(address)
        try:
            return await work(talker)
        finally:
            await talker.client.stop()

    return asyncio.run(run())


async def make_things(talker: Talker) -> None:
    """Make a topic, a group, messages, and an offset half way through them."""
    topic = {
        "topic": "Orders",
        "defaultTopic": "TBW102",
        "readQueueNums": 2,
        "writeQueueNums": 2,
        "perm": 6,
        "topicFilterType": "SINGLE_TAG",
        "attributes": "+message.type=NORMAL",
    }
    assert (await talker.ask(Code.UPDATE_AND_CREATE_TOPIC, topic)).code == OK
    group = SubscriptionGroupConfig(group_name=GROUP, retry_max_times=5)
    assert (await talker.ask(Code.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, body=group.to_json())).code == OK
    await send(talker, 0, 20)
    await commit(talker, 8)


async def send(talker: Talker, begin: int, end: int) -> None:
    for number in range(begin, end):
        properties = {"KEYS": f"k{number}", "UNIQ_KEY": f"u{number}", "TAGS": "a"}
        sent = await talker.send("Orders", b"message %d" % number, queue_id=1, properties=properties)
        assert (sent.code, sent.fields["queueOffset"]) == (OK, str(number))

    async def readable() -> bool:
        found = await talker.ask(Code.GET_MAX_OFFSET, {"topic": "Orders", "queueId": 1})
        return found.fields["offset"] == str(end)

    await eventually(readable)


async def commit(talker: Talker, offset: int) -> None:
    fields = {"consumerGroup": GROUP, "topic": "Orders", "queueId": 1, "commitOffset": offset}
    assert (await talker.ask(Code.UPDATE_CONSUMER_OFFSET, fields)).code == OK


async def see(talker: Talker, offset: int, end: int) -> None:
    """Check that a broker knows all that was made, and goes on where the group was."""
    place = {"consumerGroup": GROUP, "topic": "Orders", "queueId": 1}
    found = await talker.ask(Code.QUERY_CONSUMER_OFFSET, place)
    assert (found.code, found.fields["offset"]) == (OK, str(offset))
    pulled = await talker.pull("Orders", GROUP, queue_id=1, offset=offset)
    assert [m.body for m in messages(pulled.body)] == [b"message %d" % n for n in range(offset, end)]
    config = TopicConfig.from_json((await talker.ask(Code.GET_TOPIC_CONFIG, {"topic": "Orders"})).body)
    assert (config.read_queue_nums, config.attributes) == (2, {"message.type": "NORMAL"})
    answer = await talker.ask(Code.GET_ALL_SUBSCRIPTIONGROUP_CONFIG)
    group = fastjson.loads(answer.body)["subscriptionGroupTable"][GROUP]
    assert group["retryMaxTimes"] == 5
    key = {"topic": "Orders", "key": "k3", "maxNum": 8, "beginTimestamp": 0, "endTimestamp": 1 << 42}
    by_key = await talker.ask(Code.QUERY_MESSAGE, key)
    assert [m.body for m in messages(by_key.body)] == [b"message 3"]


async def filtered(talker: Talker, offset: int, end: int) -> None:
    """Come back with the same filter, and see it applied."""
    assert (await talker.beat(GROUP, {"Orders": FILTER}, kind="SQL92", version=7)).code == OK
    pulled = await talker.pull(
        "Orders", GROUP, queue_id=1, offset=offset, subscription=None, version=7, kind="SQL92"
    )
    matching = [n for n in range(offset, end) if n % 10 == 5 or n == 9]
    assert [m.body for m in messages(pulled.body)] == [b"message %d" % n for n in matching]


def kept_filter(home: Path) -> dict[str, object]:
    """Return the group's filter as the file has it, without what changes when the group leaves."""
    content = fastjson.loads((home / "store" / "config" / "consumerFilter.json").read_bytes())
    entry: dict[str, object] = content["filterDataByTopic"]["Orders"]["groupFilterData"][GROUP]
    return {key: value for key, value in entry.items() if not key.startswith("dead")}


async def names_of_topics(talker: Talker) -> set[str]:
    answer = await talker.ask(Code.GET_ALL_TOPIC_CONFIG)
    return set(TopicConfigSerializeWrapper.from_json(answer.body).topic_config_table)


@pytest.mark.shows("U-17", "CM-06", "FI-07")
def test_directory_goes_from_the_official_broker_to_ours_and_back(tmp_path: Path) -> None:
    home = tmp_path / "broker"
    with servers.nameserver("official", tmp_path / "namesrv") as namesrv:

        async def routed(talker: Talker) -> str:
            answer = await talker.client.call(
                namesrv.address, Code.GET_ROUTEINFO_BY_TOPIC, fields={"topic": "Orders"}
            )
            addresses: dict[str, str] = fastjson.loads(answer.body)["brokerDatas"][0]["brokerAddrs"]
            return addresses["0"]

        with broker("official", home, namesrv.address) as address:
            talk(address, make_things)
            talk(address, lambda talker: filtered(talker, 8, 20))
            topics = talk(address, names_of_topics)
        first = kept_filter(home)
        with broker("tailfin", home, namesrv.address) as address:
            assert talk(address, routed) == address
            talk(address, lambda talker: see(talker, 8, 20))
            talk(address, lambda talker: filtered(talker, 8, 20))
            assert topics <= talk(address, names_of_topics)

            async def go_on(talker: Talker) -> None:
                await send(talker, 20, 30)
                await commit(talker, 25)

            talk(address, go_on)
        assert kept_filter(home) == first
        with broker("official", home, namesrv.address) as address:
            talk(address, lambda talker: see(talker, 25, 30))
            talk(address, lambda talker: filtered(talker, 25, 30))
            assert topics <= talk(address, names_of_topics)
        assert kept_filter(home) == first


WAITS = {"messageDelayLevel": "9s 22s", "timerFlushIntervalMs": 1000}
TIMER_CHECK = Path("store") / "config" / "timercheck"


async def send_later(talker: Talker, name: str, level: str, seconds: int) -> None:
    """Let two messages wait: one in a delay level, one until a moment."""
    for kind, asked in (("level", {"DELAY": level}), ("timer", {"TIMER_DELAY_SEC": str(seconds)})):
        properties = {**asked, "UNIQ_KEY": f"{kind} {name}", "TAGS": "a"}
        body = f"{kind} {name}".encode()
        assert (await talker.send("Later", body, queue_id=1, properties=properties)).code == OK


def entered(home: Path) -> int:
    """Return how many timed messages are in the wheel, by the file that says so."""
    found = (home / TIMER_CHECK).read_bytes()[16:24]
    return int.from_bytes(found, "big")


async def arrive(talker: Talker, *wanted: str) -> None:
    """Wait for messages, and see that there are no others."""

    async def there() -> bool:
        found = messages((await talker.pull("Later", queue_id=1)).body)
        return len(found) >= len(wanted) and sorted(m.body.decode() for m in found) == sorted(wanted)

    await eventually(there, 40)


@pytest.mark.shows("DL-04")
def test_waiting_messages_go_with_the_directory_from_the_official_broker_to_ours_and_back(
    tmp_path: Path,
) -> None:
    home = tmp_path / "broker"
    with servers.nameserver("official", tmp_path / "namesrv") as namesrv:
        # Killed as soon as the timer's files say that they have the messages.
        with servers.broker("official", home, namesrv.address, settings=WAITS) as server:
            talk(server.address, lambda talker: send_later(talker, "soon", "1", 9))
            talk(server.address, lambda talker: send_later(talker, "later", "2", 22))
            wait_until(lambda: entered(home) == 2, "the official timer to write its files")
        with servers.broker("tailfin", home, namesrv.address, settings=WAITS) as server:
            talk(server.address, lambda talker: send_later(talker, "ours", "2", 14))
            talk(server.address, lambda talker: arrive(talker, "level soon", "timer soon"))
            server.process.terminate()
            server.process.wait(STOPS_WITHIN_S)
        assert entered(home) == 3
        with servers.broker("official", home, namesrv.address, settings=WAITS) as server:
            kinds = [f"{kind} {name}" for kind in ("level", "timer") for name in ("soon", "later", "ours")]
            talk(server.address, lambda talker: arrive(talker, *kinds))
