"""What a process on this machine uses, from /proc."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")
_USER_TIME, _SYSTEM_TIME = 11, 12  # fields of /proc/PID/stat, counted behind the name


@dataclass(frozen=True)
class ProcessUse:
    """Processor time since the process began, and memory now."""

    cpu_seconds: float
    resident_bytes: int
    anonymous_bytes: int
    """Heap and stacks: what the kernel cannot drop, unlike mapped files."""

    @classmethod
    def of(cls, pid: int) -> "ProcessUse":
        """Look at a process; `ProcessLookupError` when there is none of that number."""
        root = Path("/proc") / str(pid)
        try:
            stat, status = (root / "stat").read_text(), (root / "status").read_text()
        except FileNotFoundError:
            raise ProcessLookupError(f"there is no process {pid}") from None
        times = stat.rpartition(")")[2].split()  # the name may hold blanks and brackets
        ticks = int(times[_USER_TIME]) + int(times[_SYSTEM_TIME])
        sizes = dict(line.partition(":")[::2] for line in status.splitlines())
        return cls(
            ticks / _TICKS_PER_SECOND,
            _kib(sizes.get("VmRSS", "0")) * 1024,
            _kib(sizes.get("RssAnon", "0")) * 1024,
        )


def _kib(text: str) -> int:
    return int(text.split()[0])
