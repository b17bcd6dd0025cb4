"""Waiting in a test for what will happen."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LOOK_EVERY_S = 0.005


def until(condition: Callable[[], T], timeout: float = 10.0) -> T:
    """Wait until a condition holds, and return what it gave.

    Args:
        condition: called again and again, until it gives something true.
        timeout: seconds after which the test has waited in vain.

    Raises:
        AssertionError: the condition did not hold in time.

    Example:
        >>> until(lambda: len(received) == 3)
    """
    deadline = time.monotonic() + timeout
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited in vain for {timeout:g} s: the condition still gives {found!r}")
        time.sleep(LOOK_EVERY_S)
    return found
