"""How long puts took, as RocketMQ's `brokerStatus` prints it."""

from collections.abc import Sequence

SPANS = (
    "<=0ms",
    "0~10ms",
    "10~50ms",
    "50~100ms",
    "100~200ms",
    "200~500ms",
    "500ms~1s",
    "1~2s",
    "2~3s",
    "3~4s",
    "4~5s",
    "5~10s",
    "10s~",
)
LIMITS_MS = (0, 10, 50, 100, 200, 500, 1000, 2000, 3000, 4000, 5000, 10_000)


def distribution(counts: Sequence[int]) -> str:
    """Return how many puts took how long."""
    return " ".join(f"[{span}]:{count}" for span, count in zip(SPANS, counts, strict=True))


def share_within_ms(counts: Sequence[int], share: float, slowest_ms: int) -> int:
    """Return a time that this share of the puts stayed within, as exactly as the spans tell it."""
    wanted, seen = share * sum(counts), 0
    for limit, count in zip(LIMITS_MS, counts, strict=False):
        seen += count
        if seen >= wanted:
            return min(limit, slowest_ms)
    return slowest_ms
