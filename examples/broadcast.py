"""Clustering shares messages among the members of a group; broadcasting gives each member all of them.

Run it with `python examples/broadcast.py [NAMESERVER]`.
"""

import queue
import sys
import tempfile

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("news-producer", nameserver=nameserver) as producer:
        for number in range(3):
            producer.send(tailfin.Message("NewsTest", b"news %d" % number))

    got: queue.SimpleQueue[str] = queue.SimpleQueue()

    def member(name: str, folder: str) -> tailfin.PushConsumer:
        return tailfin.PushConsumer(
            "news-consumer",
            nameserver=nameserver,
            subscribe={"NewsTest": "*"},
            handler=lambda message: got.put(f"{name} got {message.body.decode()}"),
            broadcast=True,  # this is all the difference
            instance=name,  # how far a member is stands on its own disk, under this name,
            offsets_folder=folder,  # in the home directory unless you say where
            consume_from="first",
        )

    with (
        tempfile.TemporaryDirectory() as folder,
        member("one", folder),
        member("other", folder),
    ):
        for line in sorted(got.get(timeout=60) for _ in range(6)):
            print(line)


if __name__ == "__main__":
    main(*sys.argv[1:2])
