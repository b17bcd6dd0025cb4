"""Filters by properties: what is let through, what is refused and how, what is kept of them."""

import asyncio
import json
from pathlib import Path

import pytest

from tailfin.broker.app import Broker
from tailfin.broker.bloom import BloomFilter
from tailfin.broker.filters import ConsumerFilters
from tailfin.broker.rulebook import tag_codes
from tailfin.config.broker import BrokerConfig
from tailfin.wire.bodies.clients import CheckClientRequestBody, SubscriptionData
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.frame import Frame
from tests.unit.broker.talking import OK, Talker, messages, running
from tests.unit.loops import in_loop, until

SQL = "SQL92"
ON = {"enablePropertyFilter": True}


async def send_all(talker: Talker, *values: str, topic: str = "T") -> None:
    """Send messages with these values of `a`, and wait until all can be read."""
    before = len(messages((await talker.pull(topic)).body)) if values else 0
    for value in values:
        properties = {"a": value} if value else {}
        assert (await talker.send(topic, value.encode() or b"-", properties=properties)).code == OK
    await talker.read(topic, before + len(values))


def bodies(answer: Frame) -> list[bytes]:
    return [message.body for message in messages(answer.body)]


async def _held_for_two(broker: Broker, talker: Talker, *, hold_ms: int = 15_000) -> asyncio.Task[Frame]:
    """Pull for a group that wants "2", behind a message that it does not want; return when that is held."""
    await send_all(talker, "1")
    await talker.beat(topics={"T": "a = '2'"}, kind=SQL)
    held = asyncio.create_task(
        talker.pull("T", subscription=None, version=1, kind=SQL, offset=1, hold_ms=hold_ms)
    )
    await until(broker.hot.held_pulls, "the pull is held")
    return held


@pytest.mark.shows("FI-02", "FI-04")
@in_loop
async def test_a_subscription_by_properties_gets_what_matches(tmp_path: Path) -> None:
    async with running(tmp_path, **ON) as (_, _, talker):
        await send_all(talker, "1", "5", "", "x", "7")
        assert (await talker.beat(topics={"T": "a > 4"}, kind=SQL, version=7)).code == OK
        answer = await talker.pull("T", subscription=None, version=7, kind=SQL)
        assert answer.code == OK
        assert bodies(answer) == [b"5", b"7"]
        assert answer.fields["nextBeginOffset"] == "5"


@pytest.mark.shows("FI-04", "PL-06")
@in_loop
async def test_a_pull_may_bring_its_own_expression(tmp_path: Path) -> None:
    async with running(tmp_path, **ON) as (_, _, talker):
        await send_all(talker, "1", "5", "", "x")
        for _ in range(2):
            answer = await talker.pull("T", subscription="a IN ('x', '1') OR a IS NULL", kind=SQL)
            assert bodies(answer) == [b"1", b"-", b"x"]
        nothing = await talker.pull("T", subscription="a = 'nobody'", kind=SQL)
        assert (nothing.code, nothing.fields["nextBeginOffset"]) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "4")


@pytest.mark.shows("PL-20")
@in_loop
async def test_a_held_pull_is_woken_by_a_message_that_matches_and_by_no_other(tmp_path: Path) -> None:
    async with running(tmp_path, **ON) as (_, broker, talker):
        held = await _held_for_two(broker, talker)
        await send_all(talker, "1", "x")
        assert broker.hot.held_pulls() == 1
        await talker.send("T", b"2", properties={"a": "2"})
        assert bodies(await held) == [b"2"]


@pytest.mark.shows("PL-19")
@in_loop
async def test_a_held_pull_moves_on_past_messages_that_do_not_match(tmp_path: Path) -> None:
    async with running(tmp_path, **ON) as (_, broker, talker):
        held = await _held_for_two(broker, talker, hold_ms=60_000)
        await send_all(talker, "1")
        answer = await held
        assert (answer.code, answer.fields["nextBeginOffset"]) == (ResponseCode.PULL_RETRY_IMMEDIATELY, "2")


@in_loop
async def test_a_held_pull_is_given_what_its_group_has_come_to_want(tmp_path: Path) -> None:
    async with running(tmp_path, **ON) as (_, broker, talker):
        held = await _held_for_two(broker, talker, hold_ms=60_000)
        await talker.beat(topics={"T": "a = '2' OR a = '3'"}, kind=SQL, version=2)
        await talker.send("T", b"3", properties={"a": "3"})
        assert bodies(await held) == [b"3"]


@in_loop
async def test_without_enable_property_filter_every_door_names_the_key_to_set(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await send_all(talker, "1")
        body = CheckClientRequestBody(
            client_id="c",
            group="G",
            subscription_data=SubscriptionData(topic="T", sub_string="a>1", expression_type=SQL),
        )
        answers = [
            await talker.beat(topics={"T": "a > 1"}, kind=SQL),
            await talker.pull("T", subscription=None, version=1, kind=SQL),
            await talker.pull("T", subscription="a > 1", kind=SQL),
            await talker.ask(Code.CHECK_CLIENT_CONFIG, body=body.to_json()),
        ]
        for answer in answers:
            assert answer.code == ResponseCode.SYSTEM_ERROR
            assert "does not support consumer to filter message by SQL92" in (answer.remark or "")
            assert "enablePropertyFilter=true" in (answer.remark or "")


@in_loop
async def test_a_wrong_expression_is_refused_with_its_position_and_harms_no_other_group(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, **ON) as (_, _, talker):
        await send_all(talker, "1")
        body = CheckClientRequestBody(
            client_id="c",
            group="G",
            subscription_data=SubscriptionData(topic="T", sub_string="a >", expression_type=SQL),
        )
        answers = [
            await talker.beat(topics={"T": "a >"}, kind=SQL),
            await talker.pull("T", subscription="a >", kind=SQL),
            await talker.ask(Code.CHECK_CLIENT_CONFIG, body=body.to_json()),
        ]
        for answer in answers:
            assert answer.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
            assert "at position 4" in (answer.remark or "")
        missing = await talker.pull("T", subscription=None, version=1, kind=SQL)
        assert missing.code == ResponseCode.FILTER_DATA_NOT_EXIST
        assert "at position 4" in (missing.remark or "")
        assert (await talker.pull("T", group="other")).code == OK
        unknown = await talker.pull("T", subscription="x", kind="XPATH")
        assert unknown.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
        assert "XPATH" in (unknown.remark or "")


@in_loop
async def test_a_newer_filter_takes_over_and_a_wrong_one_ends_the_old(tmp_path: Path) -> None:
    async with running(tmp_path, **ON) as (_, _, talker):
        await send_all(talker, "1", "2")
        await talker.beat(topics={"T": "a = '1'"}, kind=SQL, version=1)
        assert (await talker.beat(topics={"T": "a = '2'"}, kind=SQL, version=2)).code == OK
        assert bodies(await talker.pull("T", subscription=None, version=2, kind=SQL)) == [b"2"]
        await talker.beat(topics={"T": "a = "}, kind=SQL, version=3)
        answer = await talker.pull("T", subscription=None, version=3, kind=SQL)
        assert answer.code == ResponseCode.FILTER_DATA_NOT_EXIST


@in_loop
async def test_a_filter_older_than_the_one_kept_changes_nothing(tmp_path: Path) -> None:
    """A group gone and back with an older version: RocketMQ keeps the newer filter, and so do we."""
    async with running(tmp_path, **ON) as (_, broker, talker):
        await send_all(talker, "1", "2")
        await talker.beat(topics={"T": "a = '1'"}, kind=SQL, version=9)
        await talker.ask(Code.UNREGISTER_CLIENT, {"clientID": talker.client_id, "consumerGroup": "G"})
        kept = broker.filters.get("T", "G")
        assert kept is not None
        assert kept.data.dead
        await talker.beat(topics={"T": "a = '2'"}, kind=SQL, version=3)
        assert bodies(await talker.pull("T", subscription=None, version=3, kind=SQL)) == [b"1"]


@in_loop
async def test_a_filter_that_fell_behind_its_subscription_is_called_not_latest(tmp_path: Path) -> None:
    async with running(tmp_path, **ON) as (_, _, talker):
        await send_all(talker, "1")
        await talker.beat(topics={"T": "a = '1'"}, kind=SQL, version=1)
        # An empty expression is none, and leaves the filter as it was.
        empty = await talker.beat(topics={"T": ""}, kind=SQL, version=9)
        assert empty.code == ResponseCode.SUBSCRIPTION_PARSE_FAILED
        late = await talker.pull("T", subscription=None, version=9, kind=SQL)
        assert late.code == ResponseCode.FILTER_DATA_NOT_LATEST
        assert bodies(await talker.pull("T", subscription=None, version=1, kind=SQL)) == [b"1"]


@in_loop
async def test_switching_filters_on_and_off_needs_no_restart(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        await send_all(talker, "1", "2")
        await talker.beat(topics={"T": "a = '2'"}, kind=SQL)
        assert (
            await talker.pull("T", subscription=None, version=1, kind=SQL)
        ).code == ResponseCode.SYSTEM_ERROR
        assert (await talker.ask(Code.UPDATE_BROKER_CONFIG, body=b"enablePropertyFilter=true")).code == OK
        assert bodies(await talker.pull("T", subscription=None, version=1, kind=SQL)) == [b"2"]


@pytest.mark.shows("FI-06")
@in_loop
async def test_a_retry_topic_is_filtered_by_its_own_expression_or_by_that_of_the_first_topic(
    tmp_path: Path,
) -> None:
    async with running(tmp_path, **ON) as (_, _, talker):
        await talker.beat(topics={"T": "a = '1'", "%RETRY%G": "a = '2'"}, kind=SQL)
        for value in ("1", "2"):
            properties = {"a": value, "RETRY_TOPIC": "T"}
            assert (await talker.send("%RETRY%G", value.encode(), properties=properties)).code == OK
        await talker.read("%RETRY%G", 2)
        for switch, expected in (("false", [b"2"]), ("true", [b"1"])):
            await talker.ask(Code.UPDATE_BROKER_CONFIG, body=f"filterSupportRetry={switch}".encode())
            assert bodies(await talker.pull("%RETRY%G", subscription=None, version=1, kind=SQL)) == expected


@pytest.mark.shows("FI-07")
@in_loop
async def test_the_file_has_rocketmqs_shape_and_survives_a_restart(tmp_path: Path) -> None:
    async with running(tmp_path, **ON) as (_, broker, talker):
        await talker.send("T")
        await talker.beat(topics={"T": "a > 1"}, kind=SQL, version=5)
        born = broker.filters.snapshot().filter_data_by_topic["T"].group_filter_data["G"].born_time
        folder = broker.config_folder
    kept = json.loads((folder / "consumerFilter.json").read_bytes())["filterDataByTopic"]["T"]
    assert kept["topic"] == "T"
    entry = kept["groupFilterData"]["G"]
    assert entry.pop("bloomFilterData")["bitNum"] == 112
    assert entry == {
        "bornTime": born,
        "clientVersion": 5,
        "consumerGroup": "G",
        "dead": entry["deadTime"] != 0,
        "deadTime": entry["deadTime"],
        "expression": "a > 1",
        "expressionType": SQL,
        "topic": "T",
    }
    async with running(tmp_path, **ON) as (_, broker, talker):
        found = broker.filters.get("T", "G")
        assert found is not None
        assert found.data.dead
        await talker.beat(topics={"T": "a > 1"}, kind=SQL, version=5)
        again = broker.filters.get("T", "G")
        assert again is not None
        assert (again.data.dead, again.data.born_time) == (False, born)


def subscription(expression: str, version: int = 1) -> SubscriptionData:
    return SubscriptionData(topic="T", sub_string=expression, sub_version=version, expression_type=SQL)


class Clock:
    """A time that a test moves."""

    now = 1_700_000_000_000

    def __call__(self) -> int:
        return self.now


def test_filters_of_groups_long_gone_are_forgotten(tmp_path: Path) -> None:
    clock = Clock()
    filters = ConsumerFilters(tmp_path, BrokerConfig(filterDataCleanTimeSpan=1000), clock)
    filters.follow("gone", "T", subscription("a > 1"))
    filters.follow("here", "T", subscription("a > 1"))
    filters.follow("gone", "T", None)
    clock.now += 999
    filters.clean()
    assert filters.get("T", "gone")
    clock.now += 1
    filters.clean()
    assert filters.get("T", "gone") is None
    assert filters.get("T", "here")


def test_a_file_of_other_bloom_settings_begins_anew(tmp_path: Path) -> None:
    filters = ConsumerFilters(tmp_path, BrokerConfig())
    filters.follow("G", "T", subscription("a > 1"))
    filters.persist_if_changed()
    other = ConsumerFilters(tmp_path, BrokerConfig(expectConsumerNumUseFilter=64))
    other.load()
    assert other.get("T", "G") is None
    same = ConsumerFilters(tmp_path, BrokerConfig())
    same.load()
    assert same.get("T", "G")


def test_text_behind_an_expression_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    ConsumerFilters(tmp_path, BrokerConfig()).follow("G", "T", subscription("a = 'x' LIKE 'y%'"))
    assert "read up to \"LIKE 'y%'\" only" in caplog.text


def test_half_a_character_is_refused_like_any_wrong_text(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    filters = ConsumerFilters(tmp_path, BrokerConfig())
    filters.follow("G", "T", subscription("a = '\ud800'"))
    assert filters.get("T", "G") is None
    assert "half a character" in caplog.text


@pytest.mark.parametrize(
    ("error", "entries", "hashes", "bits"), [(20, 32, 3, 112), (20, 64, 3, 216), (1, 1, 7, 16)]
)
def test_bloom_settings_give_rocketmqs_sizes(error: int, entries: int, hashes: int, bits: int) -> None:
    bloom = BloomFilter.of(error, entries)
    assert (bloom.hashes, bloom.bits) == (hashes, bits)


def test_tags_of_a_class_filter_are_not_the_brokers_to_judge() -> None:
    assert tag_codes(SubscriptionData(topic="T", tags_set=["A"], class_filter_mode=True)) == []
    assert tag_codes(SubscriptionData(topic="T", tags_set=["A"])) == [65]
