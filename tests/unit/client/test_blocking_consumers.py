"""The blocking faces: the same names without `await`."""

import os
import signal
import subprocess
import sys
import threading
from typing import Any

import pytest

import tailfin
from tailfin._engine import ReceivedMessage
from tailfin.testing import Cluster, until
from tests.unit.client.consumers import QUICK, bodies, fresh


def quick(running: Cluster, **options: object) -> dict[str, Any]:
    return {"nameserver": running.namesrv, **QUICK, **options}


def sent(running: Cluster, topic: str, count: int) -> None:
    with tailfin.Producer("senders", nameserver=running.namesrv) as producer:
        for body in bodies(count):
            producer.send(tailfin.Message(topic, body, tags="paid"))


FIRST_PROGRAM = """
import tailfin
with tailfin.Producer("shop", nameserver="127.0.0.1:9876") as producer:
    producer.send(tailfin.Message("orders", b"paid 42", tags="paid", keys="42"))
with tailfin.PushConsumer("billing", nameserver="127.0.0.1:9876", subscribe={"orders": "paid"}, \\
        handler=print, consume_from="first"):
    input()
"""


def test_the_first_program_works_as_printed(running: Cluster) -> None:
    program = FIRST_PROGRAM.replace("127.0.0.1:9876", running.namesrv)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    _, errors = process.communicate("\n", timeout=25)
    assert "paid 42" in line
    assert (errors, process.returncode) == ("", 0)


@pytest.mark.parametrize("kind", ["function", "coroutine"])
def test_a_push_consumer(running: Cluster, kind: str) -> None:
    topic, heard = fresh("T"), list[bytes]()
    sent(running, topic, 20)

    def handle(message: ReceivedMessage) -> None:
        heard.append(message.body)

    async def handle_awaited(message: ReceivedMessage) -> None:
        heard.append(message.body)

    consumer = tailfin.PushConsumer(fresh("G"), **quick(running, consume_from="first"))
    consumer.subscribe(topic, "paid")
    consumer.handler(handle if kind == "function" else handle_awaited)
    with consumer:
        until(lambda: len(heard) == 20)
        until(lambda: consumer.stats().consumed == 20)
        assert {queue.topic for queue in consumer.queues} >= {topic}
        consumer.pause()
        consumer.resume()
    assert sorted(heard) == sorted(bodies(20))
    with pytest.raises(tailfin.ClientStopped):
        consumer.stats()


def test_a_lite_pull_consumer(running: Cluster) -> None:
    topic = fresh("T")
    sent(running, topic, 20)
    options = {"nameserver": running.namesrv, "consume_from": "first", "commit_interval": 3600.0}
    group, seen = fresh("G"), list[bytes]()
    with tailfin.LitePullConsumer(group, subscribe={topic: "*"}, **options) as consumer:  # type: ignore[arg-type]
        for message in consumer:
            seen.append(message.body)
            if len(seen) == 7:
                break
    with tailfin.LitePullConsumer(group, subscribe={topic: "*"}, **options) as consumer:  # type: ignore[arg-type]
        while len(seen) < 20:
            seen += [message.body for message in consumer.poll(5.0)]
        consumer.commit()
        assert sum(consumer.committed(queue) or 0 for queue in consumer.queues) == 20
    assert sorted(seen) == sorted(bodies(20))


def test_seeking_and_assigning(running: Cluster) -> None:
    topic = fresh("T")
    sent(running, topic, 8)
    with tailfin.PullConsumer(fresh("G"), nameserver=running.namesrv) as puller:
        queue = next(each for each in puller.queues(topic) if puller.end_offset(each))
        first = puller.pull(queue, puller.first_offset(queue)).messages[0]
        puller.commit(queue, 1)
        assert puller.committed(queue) == 1
    consumer = tailfin.LitePullConsumer(fresh("G"), nameserver=running.namesrv)
    consumer.assign([queue])
    with consumer:
        assert consumer.queues == {queue}
        consumer.seek_to_end(queue)
        consumer.seek_to_begin(queue)
        assert consumer.poll()[0].message_id == first.message_id


def test_another_thread_ends_an_iteration(running: Cluster) -> None:
    topic = fresh("T")
    sent(running, topic, 1)
    consumer = tailfin.LitePullConsumer(
        fresh("G"), subscribe={topic: "*"}, nameserver=running.namesrv, consume_from="first"
    )
    consumer.start()
    got = threading.Event()

    def iterate() -> None:
        for _ in consumer:
            got.set()

    thread = threading.Thread(target=iterate)
    thread.start()
    assert got.wait(20)
    consumer.stop()
    thread.join(20)
    assert not thread.is_alive()


STUCK = """
import sys, time, tailfin
def handle(message):
    print("begun", flush=True)
    time.sleep(600)
with tailfin.PushConsumer(
    "{group}", nameserver="{namesrv}", subscribe={{"{topic}": "*"}}, handler=handle, consume_from="first",
    stop_timeout=0.3,
):
    time.sleep(600)
"""


def test_ctrl_c_ends_it_within_the_stop_timeout_whatever_the_handler_does(running: Cluster) -> None:
    topic = fresh("T")
    sent(running, topic, 1)
    program = STUCK.format(group=fresh("G"), namesrv=running.namesrv, topic=topic)
    process = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode != 0
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_two_threads_that_poll_one_consumer_are_told_to_have_one_each(running: Cluster) -> None:
    refused = list[tailfin.ClientError]()

    def poll() -> None:
        try:
            consumer.poll(20)
        except tailfin.ClientError as error:
            refused.append(error)

    options = quick(running)
    del options["suspend"]
    with tailfin.LitePullConsumer(fresh("G"), **options) as consumer:
        threads = [threading.Thread(target=poll) for _ in range(2)]
        for thread in threads:
            thread.start()
        until(lambda: refused)
        consumer.stop()
        for thread in threads:
            thread.join()
    (error,) = refused
    assert "give each thread or task a consumer of its own" in str(error)
