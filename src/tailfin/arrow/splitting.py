"""How a range of offsets is shared out among those who read it."""

from collections.abc import Iterator

STRETCH_MIN = 1024
"""Fewer messages make batches for which Spark is slow."""


def stretches(start: int, end: int, rows: int, lanes: int) -> Iterator[tuple[int, int]]:
    """Split a range into stretches of a batch each, or a little one into as many as are read at once.

    Args:
        start: the first offset.
        end: the one after the last.
        rows: messages of a batch.
        lanes: how many stretches are read at the same time; 1 leaves the range whole.

    Example:
        >>> list(stretches(0, 25_000, 10_000, 3))
        [(0, 8334), (8334, 16668), (16668, 25000)]
    """
    if end <= start:
        return
    if lanes == 1:
        yield start, end
        return
    share = -(-(end - start) // lanes)
    step = max(min(share, rows), min(STRETCH_MIN, rows))
    for at in range(start, end, step):
        yield at, min(at + step, end)
