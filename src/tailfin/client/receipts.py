"""Promises of results, for messages that are sent soon."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import Any

from tailfin._engine import Receipt as EngineReceipt
from tailfin.client.carrying import Carrier
from tailfin.client.letters import Letters
from tailfin.client.queues import Queue
from tailfin.client.results import SendResult, result_of
from tailfin.client.retrying import STORED, Ended, failure


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


class PostedReceipt(Receipt):
    """Of a message that travels with others."""

    __slots__ = ("_carrier", "_ended", "_letters", "_receipt", "_seconds")

    def __init__(self, receipt: EngineReceipt, letters: Letters, seconds: float, carrier: Carrier) -> None:
        self._receipt = receipt
        self._letters = letters
        self._seconds = seconds
        self._carrier = carrier
        self._ended: asyncio.Task[None] | None = None

    @property
    def done(self) -> bool:
        """Whether the message is stored, or given up."""
        return self._receipt.done

    def __await__(self) -> Generator[Any, None, SendResult]:
        if not self._receipt.done:
            # One task, however many wait: the engine tells of a receipt once.
            if self._ended is None:
                self._ended = asyncio.create_task(self._carrier.done(self._receipt))
            yield from asyncio.shield(self._ended).__await__()
        return outcome(self._receipt, self._letters, self._seconds)


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


def outcome(receipt: EngineReceipt, letters: Letters, seconds: float) -> SendResult:
    """Return the result of a receipt that is done, or raise what it came to."""
    topic = letters.user_topic(receipt.topic)
    code = receipt.code
    if code in STORED:
        return result_of(receipt, topic)
    queue = Queue(topic, receipt.broker, receipt.queue_id)
    raise failure(Ended(code or 0, receipt.remark, 0.0), queue, receipt.tries, seconds)
