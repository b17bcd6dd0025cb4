"""Says in the log that messages were given up whose senders may never look at their receipts."""

import asyncio
import logging

REPORT_S = 1.0

log = logging.getLogger("tailfin.client")


class GivenUp:
    """Counts such messages on the event loop, and tells of many together."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._count = 0
        self._report: asyncio.TimerHandle | None = None

    def add(self, count: int) -> None:
        """Count messages, and tell of them soon."""
        self._count += count
        if self._report is None:
            self._report = self._loop.call_later(REPORT_S, self._tell)

    def close(self) -> None:
        """Tell now, if there is anything to tell."""
        if self._report is not None:
            self._report.cancel()
            self._tell()

    def _tell(self) -> None:
        self._report = None
        log.warning("%d messages of send_soon were given up: their receipts say why", self._count)
        self._count = 0
