"""The rows of the tables about Python clients."""

from collections.abc import Callable

from bench.rows import Pick, Row, cpu, memory, number, rate, seconds

KAFKA = "The Python client beside confluent-kafka on Kafka 4.1"
GRPC = "The Python client beside rocketmq-python-client on the official proxy"
CLIENT_SECTIONS = {KAFKA: ("confluent-kafka", "Tailfin"), GRPC: ("rocketmq-python-client", "Tailfin")}
PEERS = {KAFKA: "kafka", GRPC: "grpc"}
BODIES = {"128": "128 B", "1k": "1 KiB"}


def _beside(
    section: str,
    case: str,
    title: str,
    bench: str,
    key: str,
    show: Callable[[float], str],
    *,
    goal: float | None = None,
    more: bool = False,
) -> Row:
    figure, peer = Pick("tailfin", bench, key), Pick(PEERS[section], bench, key)
    return Row(section, case, title, show, figure, peer, more_is_better=more, ratio_goal=goal)


def _work(section: str, case: str, title: str, bench: str, goal: float | None) -> list[Row]:
    return [
        _beside(section, case, title, bench, "perSecond", rate, goal=goal, more=True),
        _beside(
            section, case, f"{title}, client CPU per million", bench, "cpuSecondsPerMillion", cpu, goal=goal
        ),
    ]


def _beside_kafka() -> list[Row]:
    """Ahead of it in rate and in cost."""
    return [
        row
        for name, size in BODIES.items()
        for row in (
            *_work(KAFKA, f"client-produce-{name}", f"produce {size}, every outcome seen", "collect", 1),
            *_work(KAFKA, f"client-produce-{name}", f"produce {size}, flushed", "produce", 1),
            *_work(KAFKA, f"client-consume-{name}", f"consume {size}", "consume", 1),
        )
    ]


def _beside_grpc() -> list[Row]:
    return [
        row
        for name, size in BODIES.items()
        for row in (
            *_work(GRPC, f"client-produce-{name}", f"produce {size}, every outcome seen", "collect", None),
            *_work(GRPC, f"client-consume-{name}", f"consume {size}", "consume", None),
        )
    ]


def _footprint(section: str) -> list[Row]:
    case, bench = "client-footprint", "footprint"
    return [
        _beside(section, case, "import", bench, "importSeconds", seconds),
        _beside(section, case, "packages installed", bench, "packages", number),
        _beside(section, case, "their wheels", bench, "wheelBytes", memory),
        _beside(section, case, "installed", bench, "installedBytes", memory),
    ]


CLIENT_ROWS = (*_beside_kafka(), *_footprint(KAFKA), *_beside_grpc(), *_footprint(GRPC))
