"""The rows of the broker's tables, with the goals that the project has set itself."""

from collections.abc import Callable

from bench.rows import Pick, Row, cpu, memory, number, rate, seconds

BROKER = "The broker beside the official one"
BROKER_LIMIT = "The broker beside the machine's limit"
BROKER_SECTIONS = {BROKER: ("official", "Tailfin"), BROKER_LIMIT: ("limit", "Tailfin")}


def milliseconds(value: float) -> str:
    return f"{value:,.3f} ms"


def share(value: float) -> str:
    return f"{value:.1%}"


def beside(
    case: str,
    title: str,
    bench: str,
    key: str,
    show: Callable[[float], str],
    *,
    goal: float | None = None,
    most: float | None = None,
    least: float | None = None,
    more: bool = False,
) -> Row:
    """Make a row with Tailfin's figure beside the official broker's."""
    figure, peer = Pick("tailfin", bench, key), Pick("official", bench, key)
    return Row(BROKER, case, title, show, figure, peer, more, goal, most, least)


def _throughput(case: str, title: str, bench: str, goal: float | None, cpu_goal: float | None) -> list[Row]:
    return [
        beside(case, title, bench, "messagesPerSecond", rate, goal=goal, more=True),
        beside(case, f"{title}, CPU per million", bench, "serverCpuSecondsPerMillion", cpu, goal=cpu_goal),
    ]


def _batches(title: str, bench: str, goal: float) -> list[Row]:
    return [
        *_throughput("broker-batch", f"{title}, acknowledged", bench, goal, None),
        beside(
            "broker-batch", f"{title}, consumable", bench, "consumablePerSecond", rate, goal=goal, more=True
        ),
    ]


def _latency(case: str, title: str, bench: str, keys: dict[str, str], goals: dict[str, float]) -> list[Row]:
    return [
        beside(case, f"{title}, {name}", bench, key, milliseconds, goal=goals.get(name))
        for name, key in keys.items()
    ]


ACKNOWLEDGED = {"p50": "p50Ms", "p99": "p99Ms"}
RECEIVED = {"p50": "receivedP50Ms", "p99": "receivedP99Ms", "p99.9": "receivedP999Ms"}


def _near_the_limit(case: str, title: str, bench: str) -> Row:
    key = "messagesPerSecond"
    figure, peer = Pick("tailfin", bench, key), Pick("limit", bench, key)
    return Row(BROKER_LIMIT, case, title, rate, figure, peer)


def _latency_near_the_limit(case: str, title: str, bench: str, limit: str, goal: float) -> Row:
    figure, peer = Pick("tailfin", bench, "p50Ms"), Pick("limit", limit, "p50Ms")
    return Row(BROKER_LIMIT, case, title, milliseconds, figure, peer, more_is_better=False, ratio_goal=goal)


def _life() -> list[Row]:
    case = "broker-life"
    return [
        beside(case, "start to first acknowledged send", "life", "firstSendSeconds", seconds, goal=1 / 10),
        beside(
            case, "first 10 s, of its later rate", "life", "firstSecondsShare", share, least=0.9, more=True
        ),
        beside(case, "anonymous memory at rest", "life", "restAnonymousBytes", memory, most=64 << 20),
        beside(case, "resident memory at rest", "life", "restResidentBytes", memory),
        beside(case, "CPU at rest, of a core", "life", "restCpuShare", share, most=0.01),
        beside(case, "orderly stop", "life", "stopSeconds", seconds, most=1.0),
    ]


def _many_topics() -> list[Row]:
    case = "broker-topics"
    return [
        beside(case, "create topics", "create", "messagesPerSecond", rate, goal=10, more=True),
        beside(case, "5,000 topics x 8 queues", "many-topics", "messagesPerSecond", rate, more=True),
        beside(
            case,
            "5,000 topics x 8 queues, of one topic's rate",
            "many-topics",
            "shareOfOneTopic",
            share,
            least=0.8,
            more=True,
        ),
        beside(case, "5,000 topics x 8 queues, descriptors", "many-topics", "descriptors", number, most=1024),
    ]


def _overload() -> list[Row]:
    case, title = "broker-overload", "8 x 2,048 under way"
    return [
        beside(case, f"{title}, refused", "overload", "refusedShare", share, most=0.0),
        beside(
            case, f"{title}, of the rate with 8 x 32", "overload", "shareOfUsual", share, least=0.9, more=True
        ),
        beside(case, f"{title}, anonymous memory", "overload", "serverAnonymousBytes", memory),
    ]


def _restarts() -> list[Row]:
    return [
        beside(
            f"broker-restart-{name}",
            f"start after kill -9, 2 GiB of {title} messages, {what}",
            "restart",
            key,
            seconds,
            goal=1 / 5,
        )
        for name, title in (("128", "128 B"), ("1k", "1 KiB"))
        for what, key in (("first send", "firstSendSeconds"), ("all readable", "allReadableSeconds"))
    ]


BROKER_ROWS = (
    *_throughput("broker-send", "send 128 B, 8 x 32", "send-128", 5, 1 / 8),
    *_throughput("broker-send", "send 1 KiB, 8 x 32", "send-1k", 4, 1 / 6),
    *_latency("broker-send", "send 128 B, 1 x 1", "send-128-1x1", ACKNOWLEDGED, {}),
    *_throughput("broker-sync", "sync flush 128 B, 8 x 32", "sync-128", 4, None),
    *_latency("broker-sync", "sync flush 128 B, 1 x 1", "sync-128-1x1", ACKNOWLEDGED, {}),
    *_batches("batch of 32 x 128 B", "batch-128", 5),
    *_batches("batch of 32 x 1 KiB", "batch-1k", 4),
    *_throughput("broker-pull", "pull 32, 128 B, 8 connections", "pull-32-128", 3, 1 / 5),
    *_throughput("broker-pull", "pull 32, 1 KiB, 8 connections", "pull-32-1k", 3, None),
    *_throughput("broker-pull", "pull 512, 128 B, 8 connections", "pull-512-128", None, None),
    *_throughput("broker-pull", "pull 512, 1 KiB, 8 connections", "pull-512-1k", None, None),
    *_latency("broker-e2e", "end to end, 1,000/s", "e2e-1000", RECEIVED, {"p50": 1 / 4, "p99": 1 / 4}),
    *_latency("broker-e2e", "end to end, 10,000/s", "e2e-10000", RECEIVED, {"p99": 1 / 8}),
    *_many_topics(),
    *_overload(),
    *_life(),
    *_restarts(),
    _near_the_limit("broker-send", "send 128 B, 8 x 32", "send-128"),
    _near_the_limit("broker-send", "send 1 KiB, 8 x 32", "send-1k"),
    _near_the_limit("broker-batch", "batch of 32 x 128 B, acknowledged", "batch-128"),
    _near_the_limit("broker-batch", "batch of 32 x 1 KiB, acknowledged", "batch-1k"),
    _near_the_limit("broker-pull", "pull 32, 128 B, 8 connections", "pull-32-128"),
    _near_the_limit("broker-pull", "pull 32, 1 KiB, 8 connections", "pull-32-1k"),
    _latency_near_the_limit("broker-send", "send 128 B, 1 x 1, p50", "send-128-1x1", "send-128-1x1", 1.3),
    _latency_near_the_limit(
        "broker-sync", "sync flush 128 B, 1 x 1, p50 / one fdatasync", "sync-128-1x1", "fdatasync", 2
    ),
)
