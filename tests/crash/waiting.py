"""Waiting for a condition instead of a time."""

import time
from collections.abc import Callable


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 20) -> None:
    """Wait until a condition holds; fail when it does not in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"waited {seconds} s for {what}"
        time.sleep(0.005)


def wait_equal(look: Callable[[], object], wanted: object, what: str, seconds: float = 20) -> None:
    """Wait until something is as wanted; fail with what it was last when it is not in time."""
    deadline = time.monotonic() + seconds
    while (found := look()) != wanted:
        assert time.monotonic() < deadline, f"waited {seconds} s for {what} to be {wanted}, it is {found}"
        time.sleep(0.005)
