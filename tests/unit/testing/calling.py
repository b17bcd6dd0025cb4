"""Requests to a cluster from tests that have no event loop."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tailfin.broker.clock import machine_ms
from tailfin.message import Message
from tailfin.testing import Cluster
from tailfin.wire.codes import Code
from tailfin.wire.frame import Frame
from tests.unit.broker.talking import ANY, OK, Talker, messages


class Calls:
    """A talker that waits for its answers."""

    def __init__(self, running: Cluster, talker: Talker) -> None:
        self._running = running
        self.talker = talker

    def send(self, body: bytes = b"x", **properties: str) -> Frame:
        work = self.talker.send("T", body, properties=properties, born_timestamp=machine_ms())
        answer = self._running.run(work)
        assert answer.code == OK, answer.remark
        return answer

    def bodies(self, topic: str = "T") -> list[bytes]:
        return [message.body for message in self.found(topic)]

    def found(self, topic: str = "T") -> list[Message]:
        return messages(self._running.run(self.talker.pull(topic)).body)

    def ask(self, code: Code, fields: Mapping[str, str] | None = None, timeout: float = 20.0) -> Frame:
        work = self.talker.client.call(
            self.talker.address, code, fields=fields or {}, accept=ANY, timeout=timeout
        )
        return self._running.run(work)


@contextmanager
def talking(running: Cluster) -> Iterator[Calls]:
    """Talk to the first broker of a cluster."""

    async def made() -> Talker:
        return Talker(running.broker.address)

    calls = Calls(running, running.run(made()))
    try:
        yield calls
    finally:
        running.run(calls.talker.client.stop())
