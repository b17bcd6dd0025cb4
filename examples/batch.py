"""Many messages of one topic in few requests. What is too large for one request is split.

Run it with `python examples/batch.py [NAMESERVER]`.
"""

import sys

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("batch-producer", nameserver=nameserver) as producer:
        # 600 messages of 10 KB are more than the 4 MiB that a broker takes at once: two requests.
        messages = [tailfin.Message("BatchTest", b"x" * 10_000, keys=str(number)) for number in range(600)]
        results = producer.send_batch(messages)
        print(len(results), "messages stored in", len({result.queue for result in results}), "queues")

        try:
            producer.send_batch([messages[0], tailfin.Message("OtherTopic", b"x")])
        except tailfin.MessageRefused as refused:
            print("refused:", refused)


if __name__ == "__main__":
    main(*sys.argv[1:2])
