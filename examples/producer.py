"""Send messages in three ways: wait for each, collect many, or do not look back.

Run it with `python examples/producer.py [NAMESERVER]`.
"""

import sys

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("please_rename_unique_group_name", nameserver=nameserver) as producer:
        # Waits until a broker has the message. A failure is tried again, at another broker if there is one.
        result = producer.send(tailfin.Message("TopicTest", b"Hello 0", tags="TagA", keys="0"))
        print("stored:", result.status.name, "in", result.queue, "at", result.queue_offset)

        # Returns at once: messages travel together, many in a request. A receipt tells later how it went.
        receipts = [
            producer.send_soon(tailfin.Message("TopicTest", b"Hello %d" % number, tags="TagA"))
            for number in range(1, 100)
        ]
        producer.flush()
        print("stored:", sum(receipt.result().status is tailfin.SendStatus.SEND_OK for receipt in receipts))

        # Returns at once, and nobody ever tells whether it arrived: for what may get lost, such as metrics.
        producer.send_oneway(tailfin.Message("TopicTest", b"Hello 100", tags="TagB"))


if __name__ == "__main__":
    main(*sys.argv[1:2])
