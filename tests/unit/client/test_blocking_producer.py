"""The blocking producer."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

import tailfin
from tailfin import Message
from tailfin.client.errors import ClientStopped, SendFailed, SendTimeout
from tailfin.testing import Cluster, cluster, until
from tests.unit.client.reading import bodies


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster(recallMessageEnable=True) as node:
        yield node


def test_the_first_program_works_as_printed(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv) as producer:
        producer.send(tailfin.Message("orders", b"paid 42", tags="paid", keys="42"))
    until(lambda: bodies(running, "orders") == [b"paid 42"])


def test_many_threads_share_a_producer(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv) as producer, ThreadPoolExecutor(8) as threads:
        sent = list(threads.map(lambda number: producer.send(Message("shared", b"%d" % number)), range(200)))
        assert producer.stats().sent == 200
    assert len({each.message_id for each in sent}) == 200
    until(lambda: len(bodies(running, "shared")) == 200)


def test_everything_else_has_its_blocking_face(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv) as producer:
        assert len(producer.queues("faces")) == 4
        assert len(producer.send_batch([Message("faces", b"1"), Message("faces", b"2")])) == 2
        producer.send_oneway(Message("faces", b"3"))
        until(lambda: bodies(running, "faces") == [b"1", b"2", b"3"])
        waiting = producer.send(Message("faces", b"later", delay=600))
        assert waiting.recall_handle
        assert producer.recall("faces", waiting.recall_handle) == waiting.message_id
        with pytest.raises(tailfin.RequestTimeout):
            producer.request(Message("faces", b"?"), timeout=2.0)


def test_a_stopped_producer_says_so_and_starts_again(running: Cluster) -> None:
    producer = tailfin.Producer("shop", nameserver=running.namesrv)
    with pytest.raises(ClientStopped, match=r"call start\(\)"):
        producer.send(Message("orders", b"x"))
    for _ in range(2):
        producer.start()
        producer.start()
        producer.send(Message("orders", b"x"))
        producer.stop()
        producer.stop()
    assert not [each for each in threading.enumerate() if each.name == "tailfin"]


def test_time_runs_out_in_a_blocking_send_too(running: Cluster) -> None:
    with tailfin.Producer("shop", nameserver=running.namesrv) as producer:
        producer.queues("mute")
        with (
            running.faults.drop("send"),
            pytest.raises(SendTimeout, match="no acknowledgement within"),
        ):
            producer.send(Message("mute", b"x"), timeout=0.2)


INTERRUPTED = """
import sys, tailfin
with tailfin.Producer("shop", nameserver=sys.argv[1]) as producer:
    producer.queues("stuck")
    print("sending", flush=True)
    try:
        producer.send(tailfin.Message("stuck", b"x"), timeout=600)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_ctrl_c_ends_a_blocking_send(running: Cluster) -> None:
    with running.faults.drop("send") as fault:
        command = [sys.executable, "-c", INTERRUPTED, running.namesrv]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            assert process.stdout.readline() == "sending\n"
            until(lambda: fault.met)
            process.send_signal(signal.SIGINT)
            assert process.stdout.read() == "interrupted\n"
            assert process.wait(20) == 0


OFTEN_INTERRUPTED = """
import random, signal, sys, tailfin

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
chance = random.Random(7)
with tailfin.Producer("shop", nameserver=sys.argv[1]) as producer:
    producer.queues("often")
    for _ in range(1000):
        try:
            signal.setitimer(signal.ITIMER_REAL, chance.uniform(0.00001, 0.0005))
            while True:
                producer.send(tailfin.Message("often", b"x"))
        except KeyboardInterrupt:
            pass
    print(producer.flush(10))
"""


def test_a_producer_works_on_after_interrupts_at_any_moment_of_a_send(running: Cluster) -> None:
    command = [sys.executable, "-c", OFTEN_INTERRUPTED, running.namesrv]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr


FORGOTTEN = """
import sys, tailfin
producer = tailfin.Producer("shop", nameserver=sys.argv[1])
producer.start()
print(producer.send(tailfin.Message("orders", b"x")).status.name)
"""


def test_a_producer_that_nobody_stops_does_not_hold_up_the_interpreter(running: Cluster) -> None:
    command = [sys.executable, "-c", FORGOTTEN, running.namesrv]
    done = subprocess.run(command, capture_output=True, text=True, timeout=25)
    assert (done.stdout, done.stderr, done.returncode) == ("SEND_OK\n", "", 0)


FORKED = """
import os, sys, tailfin
producer = tailfin.Producer("shop", nameserver=sys.argv[1])
producer.start()
producer.send(tailfin.Message("forked", b"before"))
child = os.fork()
if not child:
    try:
        producer.send(tailfin.Message("forked", b"lost"))
    except tailfin.ClientError as error:
        print(error, flush=True)
    try:
        producer.send_soon(tailfin.Message("forked", b"lost")).result(timeout=20)
    except tailfin.ClientError as error:
        print(error, flush=True)
    with tailfin.Producer("shop", nameserver=sys.argv[1]) as own:
        own.send(tailfin.Message("forked", b"child"))
    os._exit(0)
os.waitpid(child, 0)
producer.send(tailfin.Message("forked", b"parent"))
producer.stop()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_makes_its_own_producer(running: Cluster) -> None:
    command = [sys.executable, "-W", "ignore", "-c", FORKED, running.namesrv]
    done = subprocess.run(command, capture_output=True, text=True, timeout=25)
    assert (done.stderr, done.returncode) == ("", 0)
    assert "started before a fork: make a new one" in done.stdout
    assert "forked" in done.stdout.splitlines()[1]
    until(lambda: bodies(running, "forked") == [b"before", b"child", b"parent"])


def test_a_send_of_another_thread_ends_when_the_producer_stops(running: Cluster) -> None:
    producer = tailfin.Producer("shop", nameserver=running.namesrv, timeout=60, stop_timeout=0.1)
    producer.start()
    producer.queues("cut-off")
    errors: list[BaseException] = []

    def send() -> None:
        try:
            producer.send(Message("cut-off", b"x"))
        except Exception as error:
            errors.append(error)

    with running.faults.drop("send"):
        thread = threading.Thread(target=send)
        thread.start()
        until(lambda: producer.stats().pending == 1)
        producer.stop()
        thread.join(15)
    assert [type(error) for error in errors] == [SendFailed]
