"""Handlers that leave repetitions out: which messages reach them, and what is remembered."""

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import pytest

from tailfin.client.consuming.handlers import RETRY, Retry
from tailfin.client.once import Claim, Keys, MemoryKeys, SqliteKeys, once


@dataclass
class Received:
    """What a message is known by."""

    keys: list[str] = field(default_factory=lambda: ["ORDER-100"])
    topic: str = "orders"
    message_id: str = "ID"


class Time:
    """A clock that stands still until it is told."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture(params=["memory", "sqlite"])
def keys(request: pytest.FixtureRequest, time: Time, tmp_path: Path) -> Iterator[Keys]:
    if request.param == "memory":
        yield MemoryKeys(lease=60, clock=time)
    else:
        with SqliteKeys(tmp_path / "keys.db", lease=60, clock=time) as found:
            yield found


def test_a_repetition_does_not_reach_the_handler(keys: Keys) -> None:
    handled: list[Received] = []
    handler = once(keys=keys)(handled.append)
    first, again = Received(), Received()
    assert handler(first) is None
    assert handler(again) is None
    assert handled == [first]


@pytest.mark.shows("ID-03")
def test_the_key_counts_and_not_the_message_id(keys: Keys) -> None:
    handled: list[str] = []
    handler = once(keys=keys)(lambda message: handled.append(message.message_id))
    handler(Received(message_id="A"))
    handler(Received(message_id="B"))
    handler(Received(message_id="B", keys=["ORDER-101"]))
    handler(Received(message_id="B", topic="refunds"))
    assert handled == ["A", "B", "B"]


@pytest.mark.parametrize("outcome", [RETRY, Retry(3), False])
def test_what_is_to_be_tried_again_is_not_remembered(keys: Keys, outcome: object) -> None:
    outcomes = iter([outcome, None])
    handler = once(keys=keys)(lambda _: next(outcomes))
    assert handler(Received()) == outcome
    assert handler(Received()) is None
    assert handler(Received()) is None, "and now it is done"


def test_what_failed_is_tried_again(keys: Keys) -> None:
    calls: list[Received] = []

    @once(keys=keys)
    def handler(message: Received) -> None:
        calls.append(message)
        if len(calls) == 1:
            raise OSError("no disk")

    with pytest.raises(OSError, match="no disk"):
        handler(Received())
    handler(Received())
    handler(Received())
    assert len(calls) == 2


def test_what_another_handler_is_at_is_put_off(keys: Keys, time: Time) -> None:
    handled: list[Received] = []
    handler = once(keys=keys)(handled.append)
    assert keys.claim("orders ORDER-100") is Claim.YOURS
    assert handler(Received()) == RETRY
    assert not handled
    time.now += 61
    assert handler(Received()) is None, "whoever claimed it is taken for dead"
    assert len(handled) == 1


def test_a_handler_of_batches_gets_what_is_new(keys: Keys) -> None:
    batches: list[list[Received]] = []
    handler = once(keys=keys)(batches.append)
    a, b, c = (Received(keys=[key]) for key in "abc")
    handler([a, b, a])
    handler([a, c])
    handler([b, c])
    assert batches == [[a, b], [c]]


def test_a_batch_is_put_off_whole(keys: Keys) -> None:
    batches: list[list[Received]] = []
    handler = once(keys=keys)(batches.append)
    a, b = (Received(keys=[key]) for key in "ab")
    keys.claim("orders b")
    assert handler([a, b]) == RETRY
    keys.release("orders b")
    handler([a, b])
    assert batches == [[a, b]]


@pytest.mark.parametrize("fails", [False, True])
def test_coroutines_are_treated_alike(keys: Keys, fails: bool) -> None:
    handled: list[Received] = []

    @once(keys=keys)
    async def handler(message: Received) -> None:
        await asyncio.sleep(0)
        handled.append(message)
        if fails:
            raise ValueError("bad")

    async def twice() -> None:
        for _ in range(2):
            if fails:
                with pytest.raises(ValueError, match="bad"):
                    await handler(Received())
            else:
                await handler(Received())

    asyncio.run(twice())
    assert len(handled) == (2 if fails else 1)


def test_a_coroutine_puts_off_what_another_is_at(keys: Keys) -> None:
    begun, goes_on = asyncio.Event(), asyncio.Event()

    @once(keys=keys)
    async def handler(_: Received) -> None:
        begun.set()
        await goes_on.wait()

    async def both() -> object:
        first = asyncio.create_task(handler(Received()))
        await begun.wait()
        second = await handler(Received())
        goes_on.set()
        await first
        return second

    assert asyncio.run(both()) == RETRY


def test_messages_without_a_key_are_handled_each_time_and_named(caplog: pytest.LogCaptureFixture) -> None:
    handled: list[Received] = []
    handler = once()(handled.append)
    with caplog.at_level(logging.WARNING, "tailfin.client"):
        handler(Received(keys=[]))
        handler(Received(keys=[]))
    assert len(handled) == 2
    assert len(caplog.records) == 1
    assert "message ID of topic orders has no key" in caplog.text


def test_a_key_of_ones_own(keys: Keys) -> None:
    handled: list[Received] = []
    handler = once(by=lambda message: message.message_id, keys=keys)(handled.append)
    handler(Received(message_id="A"))
    handler(Received(message_id="B"))
    assert len(handled) == 2


def test_a_key_that_cannot_be_told_leaves_nothing_claimed(keys: Keys) -> None:
    def by(message: Received) -> str:
        return message.keys[0]

    handler = once(by=by, keys=keys)(lambda _: None)
    with pytest.raises(IndexError):
        handler([Received(keys=["a"]), Received(keys=[])])
    assert keys.claim("a") is Claim.YOURS


def test_the_wrapper_keeps_the_handlers_name() -> None:
    def bill(message: Received) -> None: ...

    assert once()(bill).__name__ == "bill"


def test_memory_forgets_the_oldest() -> None:
    keys = MemoryKeys(size=2)
    for key in ("a", "b", "c"):
        assert keys.claim(key) is Claim.YOURS
        keys.done(key)
    assert [keys.claim(key) for key in ("b", "c", "a")] == [Claim.DONE, Claim.DONE, Claim.YOURS]


def test_a_file_remembers_for_as_long_as_it_was_told(tmp_path: Path, time: Time) -> None:
    def opened() -> SqliteKeys:
        return SqliteKeys(tmp_path / "keys.db", keep=timedelta(days=1), clock=time)

    with opened() as keys:
        keys.claim("a")
        keys.done("a")
        keys.release("a")
        assert keys.claim("a") is Claim.DONE, "what is done stays done"
    with opened() as keys:
        assert keys.claim("a") is Claim.DONE
        time.now += 24 * 3600 + 1
        assert keys.claim("a") is Claim.YOURS


def test_a_file_forgets_old_keys(tmp_path: Path, time: Time) -> None:
    with SqliteKeys(tmp_path / "keys.db", keep=timedelta(days=1), clock=time) as keys:
        for number in range(1500):
            keys.claim(str(number))
            keys.done(str(number))
        time.now += 24 * 3600 + 1
        for number in range(1000):
            keys.claim(f"new {number}")
        (count,) = keys._base.execute("SELECT count(*) FROM keys").fetchone()
        assert count < 1500


def test_one_of_many_gets_a_key(keys: Keys) -> None:
    claims: list[Claim] = []
    threads = [threading.Thread(target=lambda: claims.append(keys.claim("k"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(claim.name for claim in claims) == ["BUSY"] * 7 + ["YOURS"]


def test_two_processes_of_one_file_do_not_both_get_a_key(tmp_path: Path) -> None:
    with SqliteKeys(tmp_path / "keys.db") as one, SqliteKeys(tmp_path / "keys.db") as other:
        assert one.claim("k") is Claim.YOURS
        assert other.claim("k") is Claim.BUSY
        one.done("k")
        assert other.claim("k") is Claim.DONE


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda path: MemoryKeys(0), "at least 1, not 0"),
        (lambda path: MemoryKeys(lease=0), "lease is a number of seconds above 0"),
        (lambda path: SqliteKeys(path / "k", keep=timedelta(0)), "keep and lease are times above 0"),
        (lambda path: SqliteKeys(path / "k", lease=-1), "keep and lease are times above 0"),
    ],
)
def test_senseless_numbers_are_refused(make: Callable[[Path], Keys], text: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=text):
        make(tmp_path)
