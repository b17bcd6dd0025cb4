"""Messages that are delivered later: by one of the broker's levels, after any time, or at a moment.

Run it with `python examples/delay.py [NAMESERVER]`. It takes ten seconds.
"""

import queue
import sys
from datetime import UTC, datetime, timedelta

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("delay-producer", nameserver=nameserver) as producer:
        # Level 3 of 1 s, 5 s, 10 s, 30 s, 1 min ... 2 h. Every RocketMQ broker knows these.
        producer.send(tailfin.Message("DelayTest", b"by level", delay_level=3))
        # Any time: seconds or a timedelta (RocketMQ 5 and Tailfin).
        producer.send(tailfin.Message("DelayTest", b"by time", delay=timedelta(seconds=7)))
        # A moment.
        soon = datetime.now(UTC) + timedelta(seconds=5)
        producer.send(tailfin.Message("DelayTest", b"at a moment", deliver_at=soon))
        # What is timed can be taken back until then, if the broker has recallMessageEnable=true.
        mistake = producer.send(tailfin.Message("DelayTest", b"a mistake", delay=timedelta(days=1)))
        if mistake.recall_handle:
            try:
                print("recalled:", producer.recall("DelayTest", mistake.recall_handle))
            except tailfin.RemotingError as refused:
                print("not recalled:", refused)

    arrived: queue.SimpleQueue[str] = queue.SimpleQueue()
    with tailfin.PushConsumer(
        "delay-consumer",
        nameserver=nameserver,
        subscribe={"DelayTest": "*"},
        handler=lambda message: arrived.put(message.body.decode()),
        consume_from="first",
    ):
        for _ in range(3):
            print("arrived:", arrived.get(timeout=60))


if __name__ == "__main__":
    main(*sys.argv[1:2])
