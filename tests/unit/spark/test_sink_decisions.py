from hypothesis import given
from hypothesis import strategies as st

from tailfin._engine import decode_handles, encode_handles
from tailfin.spark.sink.decisions import (
    BatchName,
    Decision,
    Halves,
    History,
    Kind,
    Record,
    decide,
    identity,
)

NAME = BatchName("query", 7)


def halves(*places: tuple[int, int], broker: str = "broker-a") -> tuple[Halves, ...]:
    return (Halves(broker, "T", encode_handles(places)),)


def history(*records: Record) -> History:
    made = History()
    for record in records:
        made.take(record)
    return made


def mark(kind: Kind, decision: Decision) -> Record:
    return Record(NAME, kind, decision.id)


FIRST = Decision(halves((100, 1), (400, 2)), {"broker-a": 5})
SECOND = Decision(halves((900, 3)))


@given(st.lists(st.tuples(st.integers(0, 1 << 62), st.integers(0, 1 << 40)), max_size=30))
def test_handles_are_the_same_again_in_the_order_of_the_log(places: list[tuple[int, int]]) -> None:
    assert decode_handles(encode_handles(places)) == sorted(places)


def test_a_decision_is_the_same_after_writing_and_reading() -> None:
    assert Decision.decode(FIRST.encode()) == FIRST


def test_the_same_messages_have_the_same_id_in_whatever_order_tasks_report() -> None:
    one, other = halves((1, 1)), halves((2, 2), broker="broker-b")
    assert identity(one + other) == identity(other + one)
    assert identity(one) != identity(other)


def test_a_record_is_the_same_as_a_message() -> None:
    for record in decide(NAME, FIRST):
        assert Record.of(record.properties(), record.body) == record


def test_a_message_that_is_no_record_is_nobodys() -> None:
    assert Record.of({}, b"") is None
    assert Record.of({**mark(Kind.DONE, FIRST).properties(), "SPARK_RECORD": "other"}, b"") is None


def test_a_batch_is_decided_by_the_last_part_of_its_decision() -> None:
    parts = decide(NAME, FIRST, part_bytes=10)
    assert len(parts) > 2
    assert history(*parts[:-1]).decision(7) is None
    assert history(*parts).decision(7) == FIRST


def test_a_part_that_is_there_twice_counts_once() -> None:
    parts = decide(NAME, FIRST, part_bytes=10)
    assert history(parts[0], parts[0], *parts).decision(7) == FIRST


def test_the_first_of_two_decisions_holds() -> None:
    assert history(*decide(NAME, FIRST), *decide(NAME, SECOND)).decision(7) == FIRST


def test_the_first_that_is_whole_holds() -> None:
    begun = decide(NAME, FIRST, part_bytes=10)
    made = history(begun[0], *decide(NAME, SECOND), *begun[1:])
    assert made.decision(7) == SECOND


def test_a_decision_after_its_own_abort_is_void_and_another_one_holds() -> None:
    made = history(mark(Kind.ABORT, FIRST), *decide(NAME, FIRST))
    assert made.decision(7) is None
    for record in decide(NAME, SECOND):
        made.take(record)
    assert made.decision(7) == SECOND


def test_an_abort_after_the_decision_comes_too_late() -> None:
    assert history(*decide(NAME, FIRST), mark(Kind.ABORT, FIRST)).decision(7) == FIRST


def test_only_a_done_record_says_that_everything_is_done() -> None:
    assert not history(*decide(NAME, FIRST)).is_done(7)
    assert history(*decide(NAME, FIRST), mark(Kind.DONE, FIRST)).is_done(7)


def test_older_batches_are_forgotten() -> None:
    made = history(*decide(NAME, FIRST), mark(Kind.DONE, FIRST))
    made.forget_before(7)
    assert made.decision(7) == FIRST
    made.forget_before(8)
    assert made.decision(7) is None
    assert not made.is_done(7)


def test_queries_have_tags_that_brokers_take() -> None:
    assert BatchName("a || b", 1).tag.isalnum()
    assert BatchName("a", 1).tag == BatchName("a", 2).tag != BatchName("b", 1).tag
