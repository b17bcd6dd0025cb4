"""The rows of the tables: which figure of which side stands beside which other, and what is wanted."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


def rate(value: float) -> str:
    return f"{value / 1e6:.2f} M/s" if value >= 1e6 else f"{value / 1e3:,.1f} k/s"


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{value * 1e3:,.1f} ms"


def cpu(value: float) -> str:
    return f"{value:.2f} s"


def memory(value: float) -> str:
    return f"{value / (1 << 20):,.1f} MiB"


def number(value: float) -> str:
    return f"{value:,.0f}"


def nanoseconds(value: float) -> str:
    return f"{value:,.0f} ns"


@dataclass(frozen=True)
class Pick:
    """Where a figure is found among the results of a case."""

    side: str
    bench: str
    key: str
    where: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Row:
    section: str
    case: str
    title: str
    show: Callable[[float], str]
    figure: Pick
    peer: Pick | None = None
    more_is_better: bool = True
    ratio_goal: float | None = None
    most: float | None = None  # goals for the figure itself
    least: float | None = None


JAVA = "Beside the official Java store"
PYTHON = "Through Python"
LIMIT = "Beside the machine's limit"
QUEUES = "Many queues"
GROWTH = "Growth with the log"
# The heads of the columns for the peer and for the figure.
SECTIONS = {
    JAVA: ("Java", "Tailfin"),
    PYTHON: ("Java itself", "Python"),
    QUEUES: ("Java", "Tailfin"),
    LIMIT: ("limit", "Tailfin"),
    GROWTH: ("empty store", "20 GiB"),
}


def _beside_java(
    case: str,
    title: str,
    bench: str,
    key: str,
    show: Callable[[float], str],
    *,
    more_is_better: bool = True,
    ratio_goal: float | None = None,
) -> Row:
    figure, peer = Pick("tailfin", bench, key), Pick("java", bench, key)
    return Row(JAVA, case, title, show, figure, peer, more_is_better, ratio_goal)


def _puts(case: str, title: str, bench: str, goal: float | None) -> list[Row]:
    return [
        _beside_java(case, f"{title}, acknowledged", bench, "perSecond", rate, ratio_goal=goal),
        _beside_java(case, f"{title}, consumable", bench, "consumablePerSecond", rate, ratio_goal=goal),
        _beside_java(
            case,
            f"{title}, CPU per million",
            bench,
            "cpuSecondsPerMillion",
            cpu,
            more_is_better=False,
        ),
    ]


def _reads(title: str, bench: str, goal: float | None = None) -> list[Row]:
    return [
        _beside_java("read", title, bench, "perSecond", rate, ratio_goal=goal),
        _beside_java(
            "read", f"{title}, CPU per million", bench, "cpuSecondsPerMillion", cpu, more_is_better=False
        ),
    ]


def _opens(case: str, title: str) -> list[Row]:
    time, space = ("dispatchedSeconds", seconds), ("processAnonMaxBytes", memory)
    return [
        _beside_java(case, f"{title}, time", "recover", *time, more_is_better=False, ratio_goal=1 / 5),
        _beside_java(
            case,
            f"{title}, anonymous memory at most",
            "recover",
            *space,
            more_is_better=False,
            ratio_goal=1 / 5,
        ),
        _beside_java(
            case, f"{title}, resident with mapped files", "recover", "rssBytes", memory, more_is_better=False
        ),
        _beside_java(case, f"{title}, CPU", "recover", "cpuSeconds", seconds, more_is_better=False),
    ]


def _through_python(case: str, title: str, bench: str, peer: str) -> Row:
    figure = Pick("python", bench, "perSecond")
    return Row(PYTHON, case, title, rate, figure, Pick("java", peer, "perSecond"))


def _limits(case: str, title: str) -> list[Row]:
    figure = Pick("tailfin", "append", "consumablePerSecond")
    return [
        Row(
            LIMIT,
            case,
            f"append {title} (consumable) / memcpy into a new map",
            rate,
            figure,
            Pick("limit", "memcpy-fresh", "perSecond"),
        ),
        Row(
            LIMIT,
            case,
            f"append {title} (consumable) / memcpy into a pre-faulted map",
            rate,
            figure,
            Pick("limit", "memcpy-prefaulted", "perSecond"),
        ),
    ]


def _many_queues(case: str, title: str, *, beside_java: bool) -> list[Row]:
    rows = []
    for what, key, show, most in (
        ("time", "startedSeconds", seconds, None),
        ("anonymous memory at most", "processAnonMaxBytes", memory, None),
        ("descriptors", "descriptors", number, 1024),
    ):
        peer = Pick("java", "recover", key) if beside_java else None
        figure = Pick("tailfin", "open-queues", key)
        rows.append(
            Row(QUEUES, case, f"{title}, {what}", show, figure, peer, more_is_better=False, most=most)
        )
    maps = Pick("tailfin", "open-queues", "maps")
    rows.append(Row(QUEUES, case, f"{title}, mappings", number, maps, more_is_better=False, most=65_530))
    return rows


def _growth(title: str, key: str) -> Row:
    figure = Pick("tailfin", "large", key, {"state": "large"})
    peer = Pick("tailfin", "large", key, {"state": "empty"})
    # A tenth is what two runs on the same store differ by.
    return Row(GROWTH, "large", title, nanoseconds, figure, peer, more_is_better=False, ratio_goal=1.1)


ROWS = (
    *_puts("append-128", "append 128 B", "append", 5),
    *_puts("append-1k", "append 1 KiB", "append", 5),
    *_puts("batch-128", "batch 32 x 128 B", "batch", None),
    *_puts("batch-1k", "batch 32 x 1 KiB", "batch", None),
    *_puts("syncflush", "sync flush, 64 writers, 128 B", "syncflush", None),
    *_reads("read 5 million, bytes touched", "read-raw", goal=5),
    Row(
        JAVA,
        "read",
        "read 5 million, all fields looked at where they lie / decoded",
        rate,
        Pick("tailfin", "read-fields", "perSecond"),
        Pick("java", "read-decode", "perSecond"),
        ratio_goal=5,
    ),
    *_reads("read 5 million, all fields decoded", "read-decode"),
    *_opens("recover-kill", "4 GiB after kill -9"),
    *_opens("recover-rebuild", "4 GiB, queues and index lost"),
    *_opens("recover-clean", "4 GiB after an orderly close"),
    *_opens("recover-copied", "4 GiB after an orderly close, copied"),
    _through_python("append-128", "Store.append, 128 B", "python-append", "append"),
    _through_python("append-1k", "Store.append, 1 KiB", "python-append", "append"),
    _through_python("batch-128", "Store.append_batch, 32 x 128 B", "python-batch", "batch"),
    _through_python("batch-1k", "Store.append_batch, 32 x 1 KiB", "python-batch", "batch"),
    _through_python("read", "Store.read and message.body, 128 B", "python-read", "read-decode"),
    *_many_queues("queues-10000", "10,000 queues", beside_java=True),
    *_many_queues("queues-100000", "100,000 queues", beside_java=False),
    *_limits("append-128", "128 B"),
    *_limits("append-1k", "1 KiB"),
    Row(
        LIMIT,
        "syncflush",
        "sync flush, 64 writers / one fdatasync after another",
        rate,
        Pick("tailfin", "syncflush", "perSecond"),
        Pick("limit", "fdatasync", "perSecond"),
    ),
    Row(
        LIMIT,
        "read",
        "read 5 million, bytes touched / the same bytes touched in the maps",
        rate,
        Pick("tailfin", "read-raw", "perSecond"),
        Pick("limit", "walk", "perSecond"),
    ),
    _growth("append, acknowledged", "appendNs"),
    _growth("append, consumable", "consumableNs"),
    _growth("read of the last 32, a message", "tailReadNs"),
)
