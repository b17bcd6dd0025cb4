"""Ctrl-C and SIGTERM while Spark works: the batch under way is finished first."""

import contextlib
import signal
import threading
from collections.abc import Iterator
from types import FrameType


@contextlib.contextmanager
def asked_to_stop() -> Iterator[threading.Event]:
    """Give an event that Ctrl-C and SIGTERM set; the second Ctrl-C is a KeyboardInterrupt."""
    asked = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield asked  # signals are the main thread's
        return

    def hear(number: int, frame: FrameType | None) -> None:
        if asked.is_set() and number == signal.SIGINT:
            raise KeyboardInterrupt
        asked.set()

    before = {each: signal.signal(each, hear) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
