"""Ten thousand consumers that say little, at one broker in a process of its own."""

import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import pytest

from tailfin.broker.address import free_port
from tailfin.wire import frame
from tailfin.wire.bodies.clients import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    HeartbeatData,
    MessageModel,
    SubscriptionData,
)
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.frame import Frame

CONSUMERS = 10_000
GROUPS = 2_000  # each member hears of those that join its group
BYTES_MAX = 1 << 30
NEEDED_FILES = CONSUMERS + 500
ANSWER_S = 30


class Consumer:
    """A member of a group on a connection of its own."""

    def __init__(self, number: int, broker: tuple[str, int]) -> None:
        group = ConsumerData(
            group_name=f"group-{number % GROUPS}",
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
            subscription_data_set=[
                SubscriptionData(topic=topic, sub_string="*", sub_version=number)
                for topic in ("orders", f"%RETRY%group-{number % GROUPS}")
            ],
        )
        self._heartbeat = HeartbeatData(client_id=f"192.0.2.1@{number}", consumer_data_set=[group]).to_json()
        self._opaque = 0
        self._socket = socket.create_connection(broker, timeout=ANSWER_S)
        self._answers = self._socket.makefile("rb", buffering=512)

    def close(self) -> None:
        self._answers.close()
        self._socket.close()

    def beat(self) -> None:
        self._opaque += 1
        request = Frame(code=Code.HEART_BEAT, opaque=self._opaque, body=self._heartbeat)
        self._socket.sendall(frame.encode(request))

    def answer(self) -> Frame:
        """Return the answer to the last heartbeat, behind whatever the broker told on its own."""
        while True:
            heard = frame.decode(self._answers.read(int.from_bytes(self._answers.read(4), "big")))
            if heard.is_response:
                assert heard.opaque == self._opaque
                return heard


@contextmanager
def broker_process(folder: Path) -> Iterator[tuple[int, tuple[str, int]]]:
    """Run `tailfin start`; give its process id and the broker's address."""
    port = free_port("127.0.0.1")
    command = [
        sys.executable,
        "-m",
        "tailfin",
        "start",
        "--ephemeral",
        "--port",
        "0",
        "--broker-port",
        str(port),
    ]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert b"Tailfin is running" in process.stdout.readline()
        yield process.pid, ("127.0.0.1", port)
        process.terminate()


def resident_bytes(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.fixture
def many_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    assert before[1] >= NEEDED_FILES, f"{before[1]} open files are allowed here: raise it with ulimit -Hn"
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(before[0], NEEDED_FILES), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.timeout(240)
@pytest.mark.usefixtures("many_files")
def test_ten_thousand_consumers_are_answered_within_a_gibibyte(tmp_path: Path) -> None:
    with broker_process(tmp_path) as (pid, broker), ExitStack() as connections:
        consumers = []
        for number in range(CONSUMERS):
            consumers.append(connections.enter_context(closing(Consumer(number, broker))))
            consumers[-1].beat()
            assert consumers[-1].answer().code == ResponseCode.SUCCESS
        for consumer in consumers:
            consumer.beat()
        assert {consumer.answer().code for consumer in consumers} == {ResponseCode.SUCCESS}
        assert len(list(Path(f"/proc/{pid}/fd").iterdir())) > CONSUMERS
        assert resident_bytes(pid) < BYTES_MAX, f"{resident_bytes(pid) >> 20} MiB"
