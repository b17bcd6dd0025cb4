"""The changes of a config file since it was written whole: one line each, on disk before it is acknowledged.

A line is a checksum and a JSON object. The journal lies beside its file, is gone after an orderly stop, and
means nothing to RocketMQ, which leaves it alone.
"""

import contextlib
import logging
import os
import zlib
from pathlib import Path

from tailfin.config import files
from tailfin.wire import fastjson
from tailfin.wire.fastjson import Json

log = logging.getLogger("tailfin.broker")

_sync_data = getattr(os, "fdatasync", os.fsync)


def line_of(record: Json) -> bytes:
    """Write a record as a line."""
    text = fastjson.dumps(record)
    return b"%08x %s\n" % (zlib.crc32(text), text)


class Journal:
    """Lines that are only ever added, until the journal begins anew."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = 0
        """Bytes known to be whole; what lies behind them is overwritten."""
        self._handle: int | None = None

    def read(self) -> list[Json]:
        """Return every record; a line that is torn or damaged is said and left out."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return []
        *lines, torn = data.split(b"\n")
        self.size = len(data) - len(torn)
        if torn:
            log.warning(
                "%s ends in %d bytes of a change that was never acknowledged; they are dropped",
                self.path,
                len(torn),
            )
        records = []
        for number, line in enumerate(lines, 1):
            record = _read(line)
            if record is None:
                log.error("%s: line %d is damaged; that change is lost", self.path, number)
            else:
                records.append(record)
        return records

    def append(self, lines: list[bytes]) -> None:
        """Add lines; they are on disk when this returns."""
        data = b"".join(lines)
        handle = self._open()
        try:
            _write_all(handle, data, self.size)
            _sync_data(handle)
        except OSError:
            # Opened again, it is cut to what is known to be whole.
            self.close()
            raise
        self.size += len(data)

    def restart(self, lines: list[bytes]) -> None:
        """Begin anew with these lines, with none of them as no file at all."""
        data = b"".join(lines)
        if data:
            files.put_file(self.path, data)
        else:
            self.path.unlink(missing_ok=True)
        self.close()
        self.size = len(data)

    def close(self) -> None:
        """Let go of the file."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with contextlib.suppress(OSError):
                os.close(handle)

    def _open(self) -> int:
        if self._handle is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                os.ftruncate(handle, self.size)
                files.sync_folder(self.path.parent)
            except OSError:
                os.close(handle)
                raise
            self._handle = handle
        return self._handle


def _write_all(handle: int, data: bytes, at: int) -> None:
    rest = memoryview(data)
    while rest:
        written = os.pwrite(handle, rest, at)
        rest, at = rest[written:], at + written


def _read(line: bytes) -> Json:
    checksum, _, text = line.partition(b" ")
    if checksum != b"%08x" % zlib.crc32(text):
        return None
    try:
        return fastjson.loads(text)
    except fastjson.NotReadable:
        return None
