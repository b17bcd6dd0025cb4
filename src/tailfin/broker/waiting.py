"""Where a message waits before it goes to its topic: in the schedule topic, in the timer's, or nowhere.

Whoever stores a message that came from outside asks here first: sends, retries, ends of transactions.
"""

import random
from dataclasses import replace
from typing import TYPE_CHECKING

from tailfin.broker import names
from tailfin.broker.storing import DELAY, REAL_QUEUE, REAL_TOPIC, Draft
from tailfin.broker.transactions.halves import KIND_BITS, ROLLBACK
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

if TYPE_CHECKING:
    from tailfin.broker.app import Broker

DELAY_S = "TIMER_DELAY_SEC"
DELAY_MS = "TIMER_DELAY_MS"
DELIVER_MS = "TIMER_DELIVER_MS"
OUT_MS = "TIMER_OUT_MS"
RECALLS = "TIMER_DEL_UNIQKEY"
ASKS = (DELAY_S, DELAY_MS, DELIVER_MS)
"""How a message asks to be timed; the first that it has counts."""
PREPARED_BITS = 0x4
NO_LIMIT = 2**31 - 1


def delay_level(draft: Draft) -> int:
    """Return the level that a message names, 0 for none."""
    level = draft.properties.get(DELAY, "0")
    return int(level) if level.isdecimal() else 0


def is_timed(draft: Draft) -> bool:
    """Whether a message asks to be timed and is not on its way through the timer already."""
    asks = any(ask in draft.properties for ask in ASKS)
    return asks and OUT_MS not in draft.properties and draft.topic != names.TIMER_TOPIC


class Waiting:
    """Sends messages where they wait first."""

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def tell_hot_path(self) -> None:
        """Let the hot path do the same with usual messages; with a limit for each moment none is usual."""
        broker, store = self._broker, self._broker.settings.store
        unlimited = store.timerCongestNumEachSlot == NO_LIMIT
        by_hot_path = self._takes_timed() and unlimited and broker.clock.is_the_machines
        broker.hot.set_waiting(
            level_max=broker.schedule.level_max,
            broker=broker.config.brokerName,
            timer_precision=broker.timers.precision_ms if by_hot_path else None,
            timer_delay_max=store.timerMaxDelaySec * 1000,
        )

    def _takes_timed(self) -> bool:
        return self._broker.config.timerWheelEnable and self._broker.timers.is_open

    def placed(self, draft: Draft) -> Draft:
        """Return the message as it is to be stored.

        Raises:
            RemotingError: it asks for a time that it cannot have.
        """
        if draft.sys_flag & KIND_BITS in (PREPARED_BITS, ROLLBACK):
            return draft
        if (level := delay_level(draft)) > 0:
            plain = {name: value for name, value in draft.properties.items() if name not in ASKS}
            return replace(draft, properties=plain).delayed(level, self._broker.schedule.level_max)
        return self._timed(draft) if is_timed(draft) else draft

    def _timed(self, draft: Draft) -> Draft:
        settings = self._broker.settings
        if not self._takes_timed():
            since = "since its start" if settings.broker.timerWheelEnable else "timerWheelEnable=false"
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR,
                f"timed messages are off on this broker ({since}): use a delay level",
            )
        now = self._broker.clock.now_ms()
        deliver = _deliver_ms(draft, now)
        if deliver <= now:
            if RECALLS in draft.properties:
                raise _illegal("a recall must come before the time of its message")
            return draft
        if deliver - now > settings.store.timerMaxDelaySec * 1000:
            asked, longest = (deliver - now) // 1000, settings.store.timerMaxDelaySec
            raise _illegal(f"it would wait for {asked} s, and timerMaxDelaySec allows {longest} s")
        out = slot_of(deliver, self._broker.timers.precision_ms)
        self._make_way(out)
        properties = {
            **draft.properties,
            OUT_MS: str(out),
            REAL_TOPIC: draft.topic,
            REAL_QUEUE: str(draft.queue_id),
        }
        return replace(draft, topic=names.TIMER_TOPIC, queue_id=0, properties=properties)

    def _make_way(self, out: int) -> None:
        """Refuse when too many wait for the same moment; beyond the limit first some, then all."""
        most = self._broker.settings.store.timerCongestNumEachSlot
        if most == NO_LIMIT:
            return
        waiting = self._broker.timers.waiting_at(out)
        if waiting > most + random.random() * most:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR,
                f"{waiting} messages wait for the same moment and timerCongestNumEachSlot is {most}: "
                "ask for another time",
            )


def slot_of(deliver_ms: int, precision_ms: int) -> int:
    """Return the time of the slot for a message: it goes on when that slot is over, so never early."""
    return (deliver_ms - 1) // precision_ms * precision_ms


def _deliver_ms(draft: Draft, now: int) -> int:
    ask = next(ask for ask in ASKS if ask in draft.properties)
    try:
        asked = int(draft.properties[ask])
    except ValueError:
        raise _illegal(f"{ask} must be a whole number, not {draft.properties[ask]!r}") from None
    if ask == DELIVER_MS:
        return asked
    return now + asked * (1000 if ask == DELAY_S else 1)


def _illegal(what: str) -> RemotingError:
    return RemotingError(ResponseCode.MESSAGE_ILLEGAL, f"the timed message is illegal: {what}")
