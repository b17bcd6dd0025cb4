"""What a process on this machine uses: its clock of processor time, and /proc."""

import time
from dataclasses import dataclass
from pathlib import Path

_WHOLE_PROCESS_SCHEDULER = 2  # all threads, in nanoseconds; /proc counts in hundredths of a second


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
            status = (root / "status").read_text()
            cpu_seconds = time.clock_gettime(_clock_of(pid))
        except OSError:
            raise ProcessLookupError(f"there is no process {pid}") from None
        sizes = dict(line.partition(":")[::2] for line in status.splitlines())
        return cls(
            cpu_seconds,
            _kib(sizes.get("VmRSS", "0")) * 1024,
            _kib(sizes.get("RssAnon", "0")) * 1024,
        )


def _clock_of(pid: int) -> int:
    """Return what clock_getcpuclockid does, which Python does not offer."""
    return (~pid << 3) | _WHOLE_PROCESS_SCHEDULER


def _kib(text: str) -> int:
    return int(text.split()[0])
