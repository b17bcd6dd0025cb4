"""The rows of the table about waiting messages."""

from bench.broker_rows import beside, milliseconds
from bench.rows import Row, memory, rate, seconds


def _at_once(title: str, bench: str) -> Row:
    return beside("delay-due", f"1,000,000 {title}", bench, "messagesPerSecond", rate, goal=3, more=True)


def _lateness(title: str, bench: str) -> list[Row]:
    case, title = "delay-lateness", f"lateness of {title}"
    return [
        beside(case, f"{title}, p99", bench, "p99Ms", milliseconds, goal=1),
        beside(case, f"{title}, p50", bench, "p50Ms", milliseconds),
    ]


def _pending() -> list[Row]:
    case, title = "delay-pending", "1,000,000 waiting"
    return [
        beside(case, f"{title}, anonymous memory", "pending", "anonymousBytes", memory),
        beside(case, f"{title}, resident memory", "pending", "residentBytes", memory),
        beside(case, f"{title}, start after kill -9", "pending", "firstSendSeconds", seconds),
    ]


DELAY_ROWS = (
    _at_once("of a level due at once", "due-levels"),
    _at_once("timed to one moment", "due-timers"),
    *_lateness("a delay level", "lateness-levels"),
    *_lateness("timed messages", "lateness-timers"),
    *_pending(),
)
