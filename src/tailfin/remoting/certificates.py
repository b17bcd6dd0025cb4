"""TLS files that change: new connections are served with what is in them now."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from pathlib import Path

log = logging.getLogger("tailfin.remoting")

LOOK_EVERY_S = 0.5
_KEYS = ("tlsServerCertPath", "tlsServerKeyPath", "tlsServerTrustCertPath")


class CertificateWatch:
    """Looks after the certificate, its key and the trusted certificates of a server.

    Whoever replaces a certificate replaces several files, one after the other. Until they fit together the
    server goes on with what it has.
    """

    def __init__(self, options: Mapping[str, int | bool | str], reload: Callable[[], None]) -> None:
        """Take a server's options and what reads the files again."""
        enabled = options.get("tlsServerMode") != "disabled"
        self.files = [Path(str(path)) for key in _KEYS if (path := options.get(key)) and enabled]
        self._reload = reload
        self._seen = self._marks()

    async def run(self) -> None:
        """Look for ever."""
        while self.files:
            await asyncio.sleep(LOOK_EVERY_S)
            marks = self._marks()
            if marks != self._seen:
                self._seen = marks
                await self._take()

    async def _take(self) -> None:
        names = ", ".join(map(str, self.files))
        try:
            await asyncio.to_thread(self._reload)
        except ValueError as error:
            log.warning("%s changed and cannot be used; what was read before stays: %s", names, error)
        else:
            log.info("%s changed: new connections are served with them", names)

    def _marks(self) -> list[tuple[int, int, int] | None]:
        return [_mark(path) for path in self.files]


def _mark(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns
