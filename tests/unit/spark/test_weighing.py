"""How many rows have about so many bytes."""

from tailfin.arrow.ranges import QueueRange
from tailfin.client.queues import Queue
from tailfin.spark.offsets import Offsets
from tailfin.spark.weighing import SAMPLE, Look, rows_for_bytes

A0, A1 = Queue("t", "a", 0), Queue("t", "a", 1)
PARTS = [QueueRange(*A0, 0, 100), QueueRange(*A1, 0, 300)]


def always(**sizes: float) -> Look:
    return lambda places: {
        queue: sizes[f"q{queue.queue_id}"] for queue in places if f"q{queue.queue_id}" in sizes
    }


def test_bytes_become_rows_by_the_sizes_of_messages() -> None:
    assert rows_for_bytes(PARTS, 4_000, always(q0=100, q1=100)) == 40
    assert rows_for_bytes(PARTS, 40_000, always(q0=100, q1=100)) == 400
    assert rows_for_bytes(PARTS, 10_000, always(q0=400, q1=100)) == 57


def test_a_message_that_is_larger_than_the_limit_is_read_alone() -> None:
    assert rows_for_bytes(PARTS, 1, always(q0=100, q1=100)) == 1


def test_a_queue_that_does_not_answer_counts_as_the_largest_that_does() -> None:
    assert rows_for_bytes(PARTS, 4_000, always(q1=100)) == 40
    assert rows_for_bytes(PARTS, 4_000, always()) == 1


def test_messages_are_looked_at_where_a_batch_begins_and_where_it_would_end() -> None:
    looked: list[Offsets] = []

    def growing(places: Offsets) -> dict[Queue, float]:
        looked.append(places)
        return {queue: 10.0 if offset < 100 else 1000.0 for queue, offset in places.items()}

    part = QueueRange(*A0, 0, 1000)
    # By the first messages 500 rows would do; those where they end are larger.
    assert rows_for_bytes([part], 5_000, growing) == 9
    assert looked == [{A0: 0}, {A0: 500 - SAMPLE}]


def test_smaller_messages_behind_do_not_make_a_batch_longer_than_was_looked_at() -> None:
    def shrinking(places: Offsets) -> dict[Queue, float]:
        return {queue: 1000.0 if offset < 100 else 10.0 for queue, offset in places.items()}

    assert rows_for_bytes([QueueRange(*A0, 0, 10_000)], 500_000, shrinking) == 500
