"""Programs as users write them, to be interrupted: `… -m tests.crash.client_program KIND NAMESERVER TOPIC`.

Each prints a line for each message it knows to be sent or consumed.
"""

import asyncio
import sys
import threading
import time
from itertools import count

import tailfin
from tailfin import aio
from tailfin.client.blocking.receipts import Receipt

GROUP = "interrupted"
STOP_TIMEOUT_S = 2.0


def say(word: str) -> None:
    # In one piece: handlers run in many threads.
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


def consumed(message: tailfin.ReceivedMessage) -> None:
    time.sleep(0.002)
    say(message.body.decode())


async def consumed_in_a_task(message: tailfin.ReceivedMessage) -> None:
    await asyncio.sleep(0.002)
    say(message.body.decode())


def never_done(message: tailfin.ReceivedMessage) -> None:
    say("stuck")
    threading.Event().wait()


def produce(nameserver: str, topic: str) -> None:
    with tailfin.Producer("producers", nameserver=nameserver) as producer:
        for number in count():
            producer.send(tailfin.Message(topic, b"%d" % number))
            say(str(number))


def produce_soon(nameserver: str, topic: str) -> None:
    receipts = list[Receipt]()
    try:
        with tailfin.Producer("producers", nameserver=nameserver) as producer:
            for number in count():
                receipts.append(producer.send_soon(tailfin.Message(topic, b"%d" % number)))
                if number % 100 == 0:
                    say("at it")
                    time.sleep(0.001)
    finally:
        # The producer has stopped: whatever it took is on the broker now.
        for number, receipt in enumerate(receipts):
            receipt.result(0)
            say(str(number))


def consume(nameserver: str, topic: str) -> None:
    with tailfin.PushConsumer(
        GROUP, nameserver=nameserver, subscribe={topic: "*"}, handler=consumed, consume_from="first"
    ):
        threading.Event().wait()


def consume_stuck(nameserver: str, topic: str) -> None:
    with tailfin.PushConsumer(
        GROUP,
        nameserver=nameserver,
        subscribe={topic: "*"},
        handler=never_done,
        consume_from="first",
        stop_timeout=STOP_TIMEOUT_S,
    ):
        threading.Event().wait()


def poll(nameserver: str, topic: str) -> None:
    with tailfin.LitePullConsumer(
        GROUP, nameserver=nameserver, subscribe={topic: "*"}, consume_from="first"
    ) as consumer:
        for message in consumer:
            consumed(message)


async def produce_in_a_loop(nameserver: str, topic: str) -> None:
    async with aio.Producer("producers", nameserver=nameserver) as producer:
        for number in count():
            await producer.send(tailfin.Message(topic, b"%d" % number))
            say(str(number))


async def consume_in_a_loop(nameserver: str, topic: str) -> None:
    async with aio.PushConsumer(
        GROUP,
        nameserver=nameserver,
        subscribe={topic: "*"},
        handler=consumed_in_a_task,
        consume_from="first",
    ):
        await asyncio.Event().wait()


async def poll_in_a_loop(nameserver: str, topic: str) -> None:
    async with aio.LitePullConsumer(
        GROUP, nameserver=nameserver, subscribe={topic: "*"}, consume_from="first"
    ) as consumer:
        async for message in consumer:
            await consumed_in_a_task(message)


BLOCKING = {
    "produce": produce,
    "produce-soon": produce_soon,
    "consume": consume,
    "consume-stuck": consume_stuck,
    "poll": poll,
}
AWAITED = {
    "produce-in-a-loop": produce_in_a_loop,
    "consume-in-a-loop": consume_in_a_loop,
    "poll-in-a-loop": poll_in_a_loop,
}


def main(kind: str, nameserver: str, topic: str) -> None:
    try:
        if kind in BLOCKING:
            BLOCKING[kind](nameserver, topic)
        else:
            asyncio.run(AWAITED[kind](nameserver, topic))
    except KeyboardInterrupt:
        say("interrupted")


if __name__ == "__main__":
    main(*sys.argv[1:])
