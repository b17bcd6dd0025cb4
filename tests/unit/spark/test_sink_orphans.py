import asyncio
from dataclasses import dataclass, field

import pytest

from tailfin.client.errors import ClientError
from tailfin.client.transactions import Transaction
from tailfin.spark.sink.decisions import BatchName, Decision, History, Kind, Record, decide
from tailfin.spark.sink.orphans import Orphans

NAME = BatchName("query", 7)
DECISION = Decision(())


@dataclass
class Half:
    """A message, as far as it is looked at."""

    properties: dict[str, str] = field(default_factory=NAME.marks)

    def property(self, name: str) -> str | None:
        return self.properties.get(name)


def fate(*records: Record, half: Half | None = None) -> Transaction:
    history = History()
    for record in records:
        history.take(record)

    async def look(name: BatchName) -> History:
        assert name == NAME
        return history

    return asyncio.run(Orphans(look).fate(half or Half()))  # type: ignore[arg-type]


def test_a_half_of_a_batch_that_is_done_is_dropped() -> None:
    assert fate(*decide(NAME, DECISION), Record(NAME, Kind.DONE, DECISION.id)) is Transaction.ROLLBACK


def test_a_half_of_a_batch_before_the_newest_is_dropped() -> None:
    later = BatchName("query", 8)
    assert fate(*decide(later, DECISION)) is Transaction.ROLLBACK


@pytest.mark.parametrize("records", [[], decide(NAME, DECISION)])
def test_nothing_is_said_about_a_batch_that_is_not_done(records: list[Record]) -> None:
    assert fate(*records) is Transaction.UNKNOWN


def test_nothing_is_said_about_somebody_elses_half() -> None:
    assert fate(half=Half({})) is Transaction.UNKNOWN


def test_nothing_is_said_when_the_decisions_cannot_be_read_and_it_is_not_tried_at_once_again() -> None:
    looks = []

    async def look(name: BatchName) -> History:
        looks.append(name)
        raise ClientError("away")

    async def ask_twice() -> list[Transaction]:
        orphans = Orphans(look, clock=lambda: 100.0)
        return [await orphans.fate(Half()) for _ in range(2)]  # type: ignore[arg-type]

    assert asyncio.run(ask_twice()) == [Transaction.UNKNOWN] * 2
    assert looks == [NAME]
