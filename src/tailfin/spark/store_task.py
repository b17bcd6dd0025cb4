"""What a task does with its part of a commit log."""

import logging
from typing import TYPE_CHECKING

from tailfin.arrow.needing import pyarrow
from tailfin.arrow.ranges import BATCH_BYTES
from tailfin.client import names
from tailfin.spark.memory import keep_freed
from tailfin.spark.store_options import StoreOptions
from tailfin.spark.store_planning import LogPart
from tailfin.store import OfflineLog, StoreDamaged

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

log = logging.getLogger("tailfin.spark")


def batches(part: LogPart, options: StoreOptions, columns: "Sequence[str]") -> "Iterator[pa.RecordBatch]":
    """Yield the messages of a part of a log that are wanted, with these columns.

    Raises:
        StoreDamaged: there are bytes that are no message, and these are not to be skipped.
    """
    keep_freed()
    arrow, files = pyarrow(), OfflineLog(part.folder)
    stored_from, stored_before = options.span()
    topics = options.topics()
    leaves_out = not options.systemTopics and topics is None
    at = part.start if part.is_record else files.next_record(part.start - 1)
    while at is not None and at < part.end:
        found, at, damage = files.scan_arrow(
            at,
            part.end,
            topics=topics,
            without=sorted(names.SYSTEM_TOPICS) if leaves_out else [],
            without_prefix=[names.SYSTEM_PREFIX] if leaves_out else [],
            without_suffix=[names.REPLY_SUFFIX] if leaves_out else [],
            stored_from=stored_from,
            stored_before=stored_before,
            broker=options.brokerName or None,
            halves=options.systemTopics,
            columns=columns,
            rows=options.batchRows,
            bytes=BATCH_BYTES,
        )
        if found is not None:
            yield arrow.record_batch(found).select(columns)
        if damage is not None:
            at = _behind(files, at, damage, options)
        elif found is None:
            return


def _behind(files: OfflineLog, offset: int, damage: str, options: StoreOptions) -> int | None:
    """Find where the log goes on behind damage, if that may be skipped."""
    holding = [(start, path) for start, size, path in files.files() if start <= offset < start + size]
    place = f"{holding[0][1]}, position {offset - holding[0][0]}" if holding else f"offset {offset}"
    if options.onDamage == "fail":
        raise StoreDamaged(
            f"the commit log is damaged at {place}: {damage}; onDamage=skip reads on behind it, and "
            "`tailfin store verify` shows all damage"
        )
    following = files.next_record(offset)
    until = "its end" if following is None else f"offset {following}"
    log.warning("the commit log is damaged at %s: %s; left out up to %s", place, damage, until)
    return following
