"""A cluster, its admin client, and somebody who sends and consumes."""

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from tailfin.admin.blocking import AdminClient
from tailfin.testing import Cluster, cluster
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.headers.send import SendMessageResponseHeader
from tests.unit.broker.talking import Talker

T = TypeVar("T")


@dataclass
class Scene:
    """Everything a test needs."""

    cluster: Cluster
    admin: AdminClient
    talker: Talker

    def send(
        self,
        topic: str,
        body: bytes = b"hello",
        *,
        queue_id: int = 0,
        properties: Mapping[str, str] | None = None,
    ) -> str:
        """Send to the first broker; return the broker's message id when the message can be read."""
        answer = self.cluster.run(
            self.talker.send(topic, body, queue_id=queue_id, properties=properties or {})
        )
        assert answer.code == ResponseCode.SUCCESS, answer.remark
        sent = SendMessageResponseHeader.decode(answer.fields)
        broker = self.cluster.broker
        eventually(lambda: broker.store.max_offset(topic, queue_id) > sent.queue_offset, "the message")
        return sent.msg_id

    def beat(self, group: str, topics: Mapping[str, str], *, producer: str | None = None) -> None:
        """Be a connected consumer of a group, and a producer."""
        answer = self.cluster.run(self.talker.beat(group, topics, producer=producer))
        assert answer.code == ResponseCode.SUCCESS, answer.remark

    def kill_letter(self, group: str, message_id: str) -> None:
        """Hand a message back for the last time."""
        offset = int(message_id[16:], 16)
        fields = {"group": group, "offset": offset, "delayLevel": -1}
        answer = self.cluster.run(self.talker.ask(Code.CONSUMER_SEND_MSG_BACK, fields))
        assert answer.code == ResponseCode.SUCCESS, answer.remark


@contextlib.contextmanager
def scene(*, brokers: int = 1, **settings: str) -> Iterator[Scene]:
    """Start a cluster with an admin client."""
    with (
        cluster(brokers=brokers, data=None, **settings) as running,
        AdminClient(nameserver=running.namesrv) as admin,
    ):
        talker = Talker(running.broker.address)
        try:
            yield Scene(running, admin, talker)
        finally:
            running.run(talker.client.stop())


def eventually(condition: Callable[[], T], what: str, seconds: float = 30.0) -> T:
    """Wait for something true; return it."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s: {what}"
        time.sleep(0.005)
    return found
