"""Promises of results, for messages that are sent soon."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

from tailfin._engine import Receipt as EngineReceipt
from tailfin.client.errors import SendFailed
from tailfin.client.results import SendResult

if TYPE_CHECKING:
    from tailfin.client.production import Production


class Receipt(ABC):
    """What `tailfin.aio.Producer.send_soon` returns: `await` it for the result, or its error.

    Example:
        ```python
        receipts = [await producer.send_soon(message) for message in messages]
        results = [await receipt for receipt in receipts]
        ```
    """

    __slots__ = ()

    @property
    @abstractmethod
    def done(self) -> bool:
        """Whether the message is stored, or given up."""

    @abstractmethod
    def __await__(self) -> Generator[Any, None, SendResult]: ...

    async def exception(self) -> SendFailed | None:
        """Wait until the message is stored, and return None; or return why it was given up."""
        try:
            await self
        except SendFailed as error:
            return error
        return None


class PostedReceipt(Receipt):
    """Of a message that travels with others."""

    __slots__ = ("_ended", "_production", "_receipt")

    def __init__(self, receipt: EngineReceipt, production: "Production") -> None:
        self._receipt = receipt
        self._production = production
        self._ended: asyncio.Task[None] | None = None

    @property
    def done(self) -> bool:
        """Whether the message is stored, or given up."""
        return self._receipt.done

    def __await__(self) -> Generator[Any, None, SendResult]:
        if not self._receipt.done:
            # One task, however many wait: the engine tells of a receipt once.
            if self._ended is None:
                self._ended = asyncio.create_task(self._production.network.carrier.done(self._receipt))
            yield from asyncio.shield(self._ended).__await__()
        return self._production.outcome(self._receipt)


class OwnReceipt(Receipt):
    """Of a message that travels by itself."""

    __slots__ = ("task",)

    def __init__(self, task: asyncio.Task[list[SendResult]]) -> None:
        self.task = task

    @property
    def done(self) -> bool:
        """Whether the message is stored, or given up."""
        return self.task.done()

    def __await__(self) -> Generator[Any, None, SendResult]:
        results = yield from asyncio.shield(self.task).__await__()
        return results[0]
