"""Offsets only grow, unless somebody sets them."""

from tailfin.client.consuming.offset_tables import OffsetTable
from tailfin.client.queues import Queue

Q = Queue("T", "b", 0)


def test_progress_only_goes_forward() -> None:
    table = OffsetTable()
    table.advance(Q, 5)
    table.advance(Q, 3)
    assert table[Q] == 5
    table.put(Q, 2)
    assert table[Q] == 2


def test_only_what_changed_is_told() -> None:
    table = OffsetTable()
    table.put(Q, 5)
    assert table.untold() == {Q: 5}
    table.told({Q: 5})
    assert table.untold() == {}
    table.advance(Q, 6)
    assert table.untold() == {Q: 6}
    # What was told meanwhile is an older offset: the newer one is still to be told.
    table.told({Q: 5})
    assert table.untold() == {Q: 6}


def test_a_queue_that_another_reads_is_forgotten() -> None:
    table = OffsetTable()
    table.put(Q, 5)
    table.forget(Q)
    assert (table[Q], table.untold()) == (None, {})
    table.told({Q: 5})
    table.put(Q, 5)
    assert table.untold() == {Q: 5}
