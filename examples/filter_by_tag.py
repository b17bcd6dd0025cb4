"""A tag on each message, and a consumer that wants only some of them: the broker leaves out the rest.

Run it with `python examples/filter_by_tag.py [NAMESERVER]`.
"""

import queue
import sys

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("tag-producer", nameserver=nameserver) as producer:
        for tag in ("created", "paid", "shipped", "returned"):
            producer.send(tailfin.Message("TagTest", f"order 1 is {tag}".encode(), tags=tag))

    got: queue.SimpleQueue[str] = queue.SimpleQueue()
    with tailfin.PushConsumer(
        "tag-consumer",
        nameserver=nameserver,
        subscribe={"TagTest": "paid || shipped"},
        handler=lambda message: got.put(f"{message.tags}: {message.body.decode()}"),
        consume_from="first",
    ):
        for line in sorted(got.get(timeout=60) for _ in range(2)):
            print(line)


if __name__ == "__main__":
    main(*sys.argv[1:2])
