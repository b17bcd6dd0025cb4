"""Closing halves: what takes their place and the op record go into the log as one unit, many at a time."""

import asyncio
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tailfin.broker.storing import Draft, append
from tailfin.broker.transactions import halves
from tailfin.broker.transactions.ledger import Ledger
from tailfin.store import Appended, AppendRefused, Store

BODY_BYTES_MAX = 4 << 20
MESSAGES_MAX = 512


@dataclass(frozen=True, slots=True)
class Closing:
    """A half that is to be closed, with what takes its place, if anything does."""

    offset: int
    key: str | None
    """The unique key of its message."""
    successor: Draft | None = None
    goes_on: bool = False
    """Whether the successor is a half as well, so that the transaction stays open."""


Result = Appended | AppendRefused | None
"""Where the successor stands, why nothing was stored, or None for a half without successor."""


class Closer:
    """Writes closings; those that come while a write is under way share the next one."""

    def __init__(self, store: Store, ledger: Ledger, op_bytes_max: Callable[[], int]) -> None:
        self._store = store
        self._ledger = ledger
        self._op_bytes_max = op_bytes_max
        self._waiting: deque[tuple[Closing, asyncio.Future[Result]]] = deque()
        self._task: asyncio.Task[None] | None = None

    def close(self, closing: Closing) -> asyncio.Future[Result]:
        """Close an open half, which is nobody else's until the future is done."""
        future: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        if not self._ledger.claim(closing.offset, future):
            raise ValueError(f"half {closing.offset} is not open")
        self._waiting.append((closing, future))
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())
        return future

    async def settled(self) -> None:
        """Wait until everything asked for is written."""
        if self._task:
            await self._task

    async def _run(self) -> None:
        while self._waiting:
            unit = self._next_unit()
            await self._write([closing for closing, _ in unit], [future for _, future in unit])

    def _next_unit(self) -> list[tuple[Closing, asyncio.Future[Result]]]:
        unit: list[tuple[Closing, asyncio.Future[Result]]] = []
        body_bytes, op_bytes, op_bytes_max = 0, 0, self._op_bytes_max()
        while self._waiting and len(unit) < MESSAGES_MAX:
            closing, _ = self._waiting[0]
            body_bytes += len(closing.successor.body) if closing.successor else 0
            op_bytes += len(halves.op_body([closing.offset]))
            if unit and (body_bytes > BODY_BYTES_MAX or op_bytes > op_bytes_max):
                break
            unit.append(self._waiting.popleft())
        return unit

    async def _write(self, unit: list[Closing], futures: list[asyncio.Future[Result]]) -> None:
        try:
            appended = await asyncio.to_thread(self._append, unit)
        except AppendRefused as refused:
            if len(unit) > 1:
                # One that cannot be stored must not keep the others waiting.
                for closing, future in zip(unit, futures, strict=True):
                    await self._write([closing], [future])
                return
            self._failed(unit, futures, refused)
        except BaseException as error:
            for closing, future in zip(unit, futures, strict=True):
                self._ledger.release(closing.offset)
                if not future.done():
                    future.set_exception(error)
            if not isinstance(error, Exception):
                raise
        else:
            *successors, op = appended
            self._ledger.close([closing.offset for closing in unit], op.queue_offset)
            stored = iter(successors)
            for closing, future in zip(unit, futures, strict=True):
                result = next(stored) if closing.successor else None
                if result and closing.goes_on:
                    self._ledger.moved(closing.key, result.queue_offset)
                else:
                    self._ledger.ended(closing.key, closing.offset)
                if not future.done():
                    future.set_result(result)

    def _failed(
        self, unit: list[Closing], futures: list[asyncio.Future[Result]], refused: AppendRefused
    ) -> None:
        for closing, future in zip(unit, futures, strict=True):
            self._ledger.release(closing.offset)
            if not future.done():
                future.set_result(refused)

    def _append(self, unit: list[Closing]) -> list[Appended]:
        successors = [closing.successor for closing in unit if closing.successor]
        op = halves.op_record(closing.offset for closing in unit)
        if len(unit) == 1 and successors and self._goes_to_light_queues(successors[0]):
            # The store gives places in light queues only to a message put alone. A kill before the op
            # record is met by the look for what was committed before.
            return [append(self._store, draft, wait=False) for draft in (*successors, op)]
        return self._store.append_together([*successors, op], wait=False)

    def _goes_to_light_queues(self, draft: Draft) -> bool:
        config = self._store.config
        return config.enableLmq and config.enableMultiDispatch and halves.LIGHT_QUEUES in draft.properties
