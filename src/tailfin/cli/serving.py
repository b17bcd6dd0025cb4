"""What commands that serve have in common: settings as pairs, logging, an orderly end."""

import asyncio
import contextlib
import logging
import resource
import signal
from collections.abc import Iterable

from tailfin.config.setting import ConfigError


def pairs(given: Iterable[str]) -> dict[str, object]:
    """Take `KEY=VALUE` words apart."""
    found: dict[str, object] = {}
    for pair in given:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            raise ConfigError(f"--set takes KEY=VALUE, not {pair!r}")
        found[key.strip()] = value.strip()
    return found


def log_to_stderr(level: int = logging.INFO) -> None:
    """Log to the terminal."""
    logging.basicConfig(level=level, format="%(asctime)s %(levelname)s %(name)s: %(message)s")


def take_all_descriptors() -> None:
    """Allow this process as many open files and connections as the machine allows it at all."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    # Some systems name a limit that they do not grant; what was allowed before stays then.
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def asked_to_stop() -> asyncio.Event:
    """Return an event that Ctrl-C and SIGTERM set; a second Ctrl-C is not listened to."""
    stopping = asyncio.Event()
    loop = asyncio.get_running_loop()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stopping.set)
    return stopping
