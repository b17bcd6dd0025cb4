"""The engine's courier on an event loop: whoever has something under way is told when there is news of it."""

import asyncio
import logging
import time
from collections.abc import Callable, Hashable

from tailfin._engine import Courier, Outbox, Parcel, Reader, Receipt
from tailfin.client.options import ClientOptions
from tailfin.wire.frame import FRAME_BYTES_MAX

log = logging.getLogger("tailfin.client")

GATHER_S = 0.001
GATHER_OVER = 3


class Carrier:
    """Carries what is sent and pulled per message, on connections and a thread of the engine's own.

    Nothing is made before it is needed. What has news (a reader, a receipt) is looked up among those that
    `watch` was called for, and its function is called on the event loop.
    """

    def __init__(self, options: ClientOptions) -> None:
        self._options = options
        self._courier: Courier | None = None
        self._watched: dict[Hashable, Callable[[], None]] = {}
        self._deciders: dict[Outbox, Callable[[Parcel], None]] = {}
        self._gathers = False
        self._takes = 0
        self._window_end = 0.0
        self._pause: asyncio.TimerHandle | None = None

    def gather(self) -> None:
        """Let news gather for a millisecond while they come faster than a few in that time.

        That is for readers: messages that arrive meanwhile wait in the engine, and are taken together.
        """
        self._gathers = True

    @property
    def courier(self) -> Courier:
        """The courier; the first look makes it, inside a running event loop."""
        if self._courier is None:
            self._courier = Courier(courier_options(self._options))
            asyncio.get_running_loop().add_reader(self._courier.fileno(), self._take)
        return self._courier

    def watch(self, noticed: Hashable, act: Callable[[], None]) -> None:
        """Have a function called whenever there is news of something."""
        self._watched[noticed] = act

    def forget(self, noticed: Hashable) -> None:
        """Call nobody for it any more."""
        self._watched.pop(noticed, None)

    def decide(self, outbox: Outbox, act: Callable[[Parcel], None]) -> None:
        """Have a function called with every parcel of an outbox that failed and waits for a decision."""
        self._deciders[outbox] = act

    async def done(self, receipt: Receipt) -> None:
        """Wait until a receipt is done."""
        if receipt.done:
            return
        ended = asyncio.Event()
        self.watch(receipt, ended.set)
        receipt.watch()
        try:
            await ended.wait()
        finally:
            self.forget(receipt)

    async def stop(self, drain: float = 0.0) -> None:
        """Wait up to `drain` seconds for what is under way, and close the connections."""
        if self._courier is not None:
            await asyncio.to_thread(self._courier.stop, drain)
            if self._pause is not None:
                self._pause.cancel()
            self._gathers = False
            while self._deal_with(self._courier):
                pass
            asyncio.get_running_loop().remove_reader(self._courier.fileno())
        self._watched.clear()
        self._deciders.clear()

    def _take(self) -> None:
        assert self._courier is not None, "its descriptor was readable"
        if self._gathers and self._come_fast():
            loop = asyncio.get_running_loop()
            loop.remove_reader(self._courier.fileno())
            self._pause = loop.call_later(GATHER_S, self._listen)
        self._deal_with(self._courier)

    def _deal_with(self, courier: Courier) -> int:
        news = courier.take()
        for noticed in news:
            # One that fails must not keep the news from the others.
            try:
                self._tell(noticed)
            except Exception:
                log.exception("news of %r could not be dealt with", noticed)
        return len(news)

    def _listen(self) -> None:
        self._pause = None
        asyncio.get_running_loop().add_reader(self.courier.fileno(), self._take)

    def _come_fast(self) -> bool:
        now = time.monotonic()
        if now > self._window_end:
            self._takes, self._window_end = 0, now + GATHER_S
        self._takes += 1
        return self._takes > GATHER_OVER

    def _tell(self, noticed: Reader | Receipt | Parcel | Outbox) -> None:
        if isinstance(noticed, Parcel):
            self._deciders[noticed.outbox](noticed)
        elif act := self._watched.get(noticed):
            act()


def courier_options(options: ClientOptions) -> dict[str, int | bool | str]:
    """Return what every client can be told, as the courier takes it."""
    tls = options.tls_settings()
    return {
        "connect_ms": int(options.connect_timeout * 1000),
        "idle_ms": int(options.idle_timeout * 1000),
        "max_frame_bytes": FRAME_BYTES_MAX,
        "binary": False,
        "tls": tls is not None,
        "tls_ca": str(tls.trusted()) if tls and tls.verify else "",
        "tls_insecure": bool(tls and not tls.verify),
        "tls_check_host": bool(tls and tls.verify and tls.check_hostname),
        "tls_cert": str(tls.certificate or "") if tls else "",
        "tls_key": str(tls.key or "") if tls else "",
        "access_key": options.access_key or "",
        "secret_key": options.secret_key or "",
        "security_token": options.security_token or "",
    }
