"""Promises of results that a thread can wait for."""

import asyncio
from typing import Protocol

from tailfin.client.blocking.portal import Portal
from tailfin.client.errors import SendFailed
from tailfin.client.receipts import OwnReceipt
from tailfin.client.results import SendResult


class Receipt(Protocol):
    """What `tailfin.Producer.send_soon` returns.

    Example:
        ```python
        receipts = [producer.send_soon(message) for message in messages]
        results = [receipt.result() for receipt in receipts]
        ```
    """

    @property
    def done(self) -> bool:
        """Whether the message is stored, or given up."""

    def result(self, timeout: float | None = None) -> SendResult:
        """Wait until the message is stored, and return its result.

        Raises:
            TimeoutError: it is neither stored nor given up yet.
            SendFailed: it was given up.
        """

    def exception(self, timeout: float | None = None) -> SendFailed | None:
        """Wait until the message is stored, and return None; or return why it was given up.

        For those who only care about failures: it costs a fraction of `result`.

        Raises:
            TimeoutError: it is neither stored nor given up yet.

        Example:
            ```python
            failures = [error for receipt in receipts if (error := receipt.exception())]
            ```
        """


class ForwardedReceipt:
    """Of a message that travels by itself, sent by the event loop."""

    __slots__ = ("_portal", "_receipt")

    def __init__(self, receipt: OwnReceipt, portal: Portal) -> None:
        self._receipt = receipt
        self._portal = portal

    @property
    def done(self) -> bool:
        """Whether the message is stored, or given up."""
        return self._receipt.done

    def result(self, timeout: float | None = None) -> SendResult:
        """Wait until the message is stored, and return its result."""
        return self._portal.call(self._result(timeout))

    def exception(self, timeout: float | None = None) -> SendFailed | None:
        """Wait until the message is stored, and return None; or return why it was given up."""
        try:
            self.result(timeout)
        except SendFailed as error:
            return error
        return None

    async def _result(self, timeout: float | None) -> SendResult:
        done, _ = await asyncio.wait([self._receipt.task], timeout=timeout)
        if not done:
            raise TimeoutError(f"the message is still on its way after {timeout:g} s")
        return self._receipt.task.result()[0]
