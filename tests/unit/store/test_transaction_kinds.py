"""What becomes of records of each kind of transaction, as the bits in their flag say."""

import pytest

from tailfin.store import Store

NONE, PREPARED, COMMIT, ROLLBACK = 0x0, 0x4, 0x8, 0xC


@pytest.mark.shows("TX-03", "TX-04", "TX-06")
def test_queues_have_ordinary_and_committed_messages_and_the_index_all_but_rolled_back_ones(
    store: Store,
) -> None:
    for kind in (NONE, PREPARED, COMMIT, ROLLBACK):
        store.append("T", b"%d" % kind, sys_flag=kind, prepared_offset=7 * kind, keys=f"k{kind}")
    assert [(each.body, each.queue_offset, each.prepared_offset) for each in store.read("T")] == [
        (b"0", 0, 0),
        (b"8", 1, 56),
    ]
    indexed = [kind for kind in (NONE, PREPARED, COMMIT, ROLLBACK) if store.query("T", f"k{kind}")]
    assert indexed == [NONE, PREPARED, COMMIT]
