import signal
from pathlib import Path

import pytest

HERE = Path(__file__).parent
KINDS = ("interop", "crash", "spark")
KIND_TIMEOUT_S = 900  # a JVM start, a Maven class path, 200 kills: the default of 30 s is for unit tests


def pytest_configure() -> None:
    """Let programs that tests start hear Ctrl-C: a job in the background inherits that it is ignored."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by the folder they live in, and give those kinds time."""
    timeout_is_given = config.getoption("timeout") is not None
    for item in items:
        kind = item.path.relative_to(HERE).parts[0] if item.path.is_relative_to(HERE) else ""
        if kind not in KINDS:
            continue
        item.add_marker(kind)
        if not timeout_is_given and item.get_closest_marker("timeout") is None:
            item.add_marker(pytest.mark.timeout(KIND_TIMEOUT_S))
