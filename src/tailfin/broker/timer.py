"""Messages timed to any moment. They wait in the timer's topic; the engine keeps the wheel of their times.

Here is decided when it works, how much at once, and when its state is written down.
"""

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from tailfin.broker.config_file import ConfigFile, following
from tailfin.off_loop import to_its_end
from tailfin.remoting import Request, Response, handles
from tailfin.store import Timer
from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.bodies.timers import TimerCount, TimerMetrics
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

log = logging.getLogger("tailfin.broker")

LOOK_EVERY_S = 0.1
PAUSE_AFTER_FAILURE_S = 1.0
BATCH = 16_384
"""Messages moved before the loop looks around."""
CLEAN_EVERY_S = 30.0
KEEP_COUNTS_S = 10.0
KEEP_IDLE_S = 60.0
"""A timer without messages notes this often how far it is."""


class Timers:
    """Keeps timed messages until their time."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker
        self._engine: Timer | None = None
        self._file = ConfigFile(broker.config_folder / "timermetrics", TimerMetrics)
        self._version = DataVersion()
        self._counts: dict[str, TimerCount] = {}
        self._in_trouble = False
        self.precision_ms = broker.settings.store.timer_precision()
        """Of the wheel as it was opened: a changed setting waits for the next start."""

    @property
    def is_open(self) -> bool:
        """Whether there is a wheel; one that is turned on later is made with the next start."""
        return self._engine is not None

    def load(self) -> None:
        """Open the wheel, unless timed messages are off or another broker's to deliver."""
        broker = self._broker
        if not broker.config.timerWheelEnable or broker.is_slave:
            return
        found = self._file.read() or TimerMetrics()
        self._counts, self._version = dict(found.timing_count), found.data_version or self._version
        root, config = broker.settings.store.paths()["storePathRootDir"], broker.settings.store
        self._engine = Timer(
            broker.store,
            wheel=root / "timerwheel",
            log=root / "timerlog",
            checkpoint=broker.config_folder / "timercheck",
            log_file_size=config.mappedFileSizeTimerLog,
            precision=self.precision_ms,
            roll_slots=config.timerRollWindowSlot,
            waiting={topic: count.count for topic, count in self._counts.items()},
            now=broker.clock.now_ms(),
        )

    def waiting_at(self, slot_ms: int) -> int:
        """How many messages wait for a slot."""
        return self._engine.waiting_at(slot_ms) if self._engine else 0

    def figures(self) -> dict[str, int]:
        """Return how far the timer is behind, in seconds and messages, and how many messages wait."""
        if self._engine is None:
            return {"ReadBehind": 0, "OffsetBehind": 0, "CongestNum": 0}
        return {
            "ReadBehind": max(self._broker.clock.now_ms() - self._engine.read_time, 0) // 1000,
            "OffsetBehind": self._engine.behind,
            "CongestNum": sum(self._engine.waiting().values()),
        }

    async def run(self) -> None:
        """Work for ever."""
        while self._engine:
            try:
                idle = await self._work(self._engine)
                pause = self._until_look() if idle else 0.0
            except Exception:
                log.exception("the timer failed; it goes on")
                pause = PAUSE_AFTER_FAILURE_S
            await self._broker.clock.sleep(pause)

    def _until_look(self) -> float:
        precision = self.precision_ms / 1000
        return min(precision - self._broker.clock.now_ms() / 1000 % precision, LOOK_EVERY_S)

    async def _work(self, engine: Timer) -> bool:
        config = self._broker.settings.store
        # Also when the broker stops meanwhile: a round that has begun is finished.
        idle, stored, trouble = await to_its_end(
            engine.work,
            self._broker.clock.now_ms(),
            limit=BATCH,
            enqueue=not config.timerStopEnqueue,
            dequeue=not config.timerStopDequeue,
        )
        self._broker.counting.count_delivered(stored)
        if trouble and not self._in_trouble:
            log.warning("timed messages wait: %s", trouble)
        self._in_trouble = trouble is not None
        return idle or self._in_trouble

    async def keep(self) -> None:
        """Write down for ever how far the timer is."""
        since = {"idle": 0.0, "counts": 0.0, "clean": 0.0}

        def is_time(what: str, every: float) -> bool:
            if time.monotonic() - since[what] < every:
                return False
            since[what] = time.monotonic()
            return True

        while engine := self._engine:
            await asyncio.sleep(self._broker.settings.store.timerFlushIntervalMs / 1000)
            try:
                even_if_idle = is_time("idle", KEEP_IDLE_S)
                await to_its_end(engine.flush, even_if_idle=even_if_idle)
                if is_time("counts", KEEP_COUNTS_S):
                    await to_its_end(self._keep_counts)
                if is_time("clean", CLEAN_EVERY_S):
                    await to_its_end(engine.remove_expired)
            except Exception:
                log.exception("the timer's state could not be written; it is tried again")

    def persist_if_changed(self) -> None:
        """Write everything down, as at the stop."""
        if self._engine:
            self._engine.flush(even_if_idle=True)
            self._keep_counts()

    def _keep_counts(self) -> None:
        if self._engine is None:
            return
        now, waiting, before = self._broker.clock.now_ms(), self._engine.waiting(), self._counts
        if waiting == {topic: count.count for topic, count in before.items()}:
            return
        self._version = following(self._version)
        changed = {topic: TimerCount(count=count, time_stamp=now) for topic, count in waiting.items()}
        same = {topic: count for topic, count in before.items() if waiting.get(topic) == count.count}
        self._counts = {**changed, **same}
        self._file.write(TimerMetrics(timing_count=self._counts, data_version=self._version))

    @handles(Code.GET_TIMER_CHECK_POINT)
    def checkpoint(self, request: Request) -> Response:
        """Tell a slave how far the timer is."""
        return Response(body=self._running().checkpoint)

    @handles(Code.GET_TIMER_METRICS)
    def metrics(self, request: Request) -> Response:
        """Return how many messages of each topic wait."""
        now, waiting = self._broker.clock.now_ms(), self._running().waiting()
        counts = {topic: TimerCount(count=count, time_stamp=now) for topic, count in waiting.items()}
        return Response(body=TimerMetrics(timing_count=counts, data_version=self._version).to_json())

    def _running(self) -> Timer:
        if self._engine is None:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "the timer does not run on this broker")
        return self._engine
