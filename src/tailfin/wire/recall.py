"""The handle with which a producer takes a message back."""

import base64
import binascii
from dataclasses import dataclass
from typing import Self

from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

VERSION = "v1"


@dataclass(frozen=True, slots=True)
class RecallHandle:
    """What a producer needs to take a message back."""

    topic: str
    broker: str
    timestamp: int
    unique_key: str

    def encode(self) -> str:
        """Write it as RocketMQ does."""
        text = " ".join((VERSION, self.topic, self.broker, str(self.timestamp), self.unique_key))
        return base64.urlsafe_b64encode(text.encode()).decode()

    @classmethod
    def decode(cls, text: str) -> Self:
        """Read a handle; one that is none is refused."""
        try:
            parts = base64.b64decode(text.encode(), altchars=b"-_", validate=True).decode().split(" ")
        except (binascii.Error, ValueError):
            parts = []
        match parts:
            case ["v1", topic, broker, stamp, key] if stamp.isdecimal():
                return cls(topic, broker, int(stamp), key)
        raise RemotingError(
            ResponseCode.ILLEGAL_OPERATION, "recall failed: the handle is none that a send was answered with"
        )
