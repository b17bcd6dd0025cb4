"""A handler that fails: its message comes again, later each time, and at last is a dead letter.

Run it with `python examples/retry.py [NAMESERVER]`. It takes 40 s: the broker waits 10 s before the first
repetition and 30 s before the second.
"""

import queue
import sys

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("retry-producer", nameserver=nameserver) as producer:
        for how in (b"good", b"returns", b"raises", b"hopeless"):
            producer.send(tailfin.Message("RetryTest", how))

    done: queue.SimpleQueue[str] = queue.SimpleQueue()

    def handle(message: tailfin.ReceivedMessage) -> tailfin.Retry | None:
        how, again = message.body.decode(), message.reconsume_times
        print(how, "- try", again + 1)
        if how == "returns" and again == 0:
            return tailfin.RETRY  # or tailfin.Retry(delay_level=5), to say yourself how long to wait
        if how == "raises" and again == 0:
            raise OSError("the database is away")
        if how == "hopeless" and again < 2:
            raise ValueError("this will never work")
        done.put(how)
        return None

    def bury(message: tailfin.ReceivedMessage) -> None:
        print("dead letter:", message.body.decode(), "after", message.reconsume_times, "repetitions")
        done.put("buried")

    with (
        tailfin.PushConsumer(
            "retry-consumer",
            nameserver=nameserver,
            subscribe={"RetryTest": "*"},
            handler=handle,
            consume_from="first",
            max_reconsume_times=1,  # 16 unless you say so
        ),
        # Dead letters of a group are messages of a topic like any other.
        tailfin.PushConsumer(
            "retry-undertaker",
            nameserver=nameserver,
            subscribe={"%DLQ%retry-consumer": "*"},
            handler=bury,
            consume_from="first",
        ),
    ):
        for _ in range(4):
            done.get(timeout=120)


if __name__ == "__main__":
    main(*sys.argv[1:2])
