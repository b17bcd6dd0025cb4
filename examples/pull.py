"""Read any queue from any offset, and keep the offsets yourself.

Run it with `python examples/pull.py [NAMESERVER]`.
"""

import sys

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("pull-producer", nameserver=nameserver) as producer:
        for number in range(8):
            producer.send(tailfin.Message("PullTest", b"%d" % number))

    with tailfin.PullConsumer("pull-consumer", nameserver=nameserver) as consumer:
        found: list[str] = []
        for queue in consumer.queues("PullTest"):
            offset, end = consumer.first_offset(queue), consumer.end_offset(queue)
            while offset < end:
                pulled = consumer.pull(queue, offset, limit=32)
                found += [message.body.decode() for message in pulled.messages]
                offset = pulled.next_offset
            consumer.commit(queue, offset)  # if the group shall remember it
        print("pulled:", sorted(found))


if __name__ == "__main__":
    main(*sys.argv[1:2])
