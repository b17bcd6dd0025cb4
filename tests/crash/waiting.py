"""Waiting for a condition instead of a time."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 20) -> None:
    """Wait until a condition holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.005)
