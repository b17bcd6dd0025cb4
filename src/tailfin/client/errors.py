"""What can go wrong in a client; each text says what to do about it."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

if TYPE_CHECKING:
    from tailfin.client.results import SendResult


class ClientError(Exception):
    """Base of everything that producers and consumers raise by themselves."""


class ClientStopped(ClientError):
    """The client is not running: it was not started yet, or it was stopped."""


class NoNameServer(ClientError):
    """No name server answers."""

    def __init__(self, tried: Iterable[str], reason: str) -> None:
        """Say which were tried, and what the last one's trouble was."""
        self.tried = tuple(tried)
        super().__init__(
            f"no name server answers (tried {', '.join(self.tried)}): {reason}; "
            "check `nameserver=` and that a name server runs there"
        )


class NoRoute(ClientError):
    """A topic has no queues that could be used."""

    def __init__(self, topic: str, reason: str) -> None:
        self.topic = topic
        super().__init__(f"no route for topic {topic!r}: {reason}")


class NoBroker(ClientError):
    """A broker is in no route that this client knows."""

    def __init__(self, broker: str, broker_id: int | None = None) -> None:
        self.broker = broker
        what = f"broker {broker!r}" if broker_id is None else f"broker {broker!r} with id {broker_id}"
        super().__init__(
            f"no address of {what} is known: it is down, or it has no queue of a topic that this client uses"
        )


class MessageRefused(ClientError, ValueError):
    """A message that no broker would take; nothing was sent. `.index` is its place in a batch."""

    def __init__(self, text: str, index: int | None = None) -> None:
        self.index = index
        super().__init__(text if index is None else f"message {index} of the batch: {text}")


class SendFailed(ClientError):
    """A message was not acknowledged. It may be stored all the same if an answer was lost.

    Attributes:
        code: the response code of the last try; negative when there was no response.
        tries: how often it was tried.
        results: of a batch that travels in several requests: those of the requests before this one.
    """

    def __init__(self, text: str, *, code: int, tries: int) -> None:
        self.code = code
        self.tries = tries
        self.results: tuple[SendResult, ...] = ()
        super().__init__(text)


class SendTimeout(SendFailed, TimeoutError):
    """The time for a send was over before a broker acknowledged it."""


class RequestTimeout(ClientError, TimeoutError):
    """A request message was sent, and no reply to it came in time."""


class ReadFailed(ClientError):
    """A part of a queue could not be read: the broker refuses, or did not answer for too long.

    Attributes:
        code: the last response code; negative when there was no response.
    """

    def __init__(self, text: str, *, code: int) -> None:
        self.code = code
        super().__init__(text)


class DataLost(ClientError):
    """Messages that were to be read are gone, most likely because they expired.

    Attributes:
        lost: which ones: topic, queue, broker and offsets.
    """

    def __init__(self, lost: str, why: str) -> None:
        self.lost = lost
        super().__init__(
            f"messages are lost: {lost}: {why}; begin later, keep messages longer, or allow it to be skipped"
        )


UNREACHABLE = frozenset({ResponseCode.RPC_SEND_TO_CHANNEL_FAILED, ResponseCode.RPC_TIME_OUT})
"""Codes of requests that got no answer at all."""


def got_no_answer(error: RemotingError) -> bool:
    """Whether a server was not reached, or did not answer: another one may."""
    return error.code in UNREACHABLE
