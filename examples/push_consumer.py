"""Messages come to a handler, in threads of the consumer's. Ends when ten have come.

Run it with `python examples/push_consumer.py [NAMESERVER]`.
"""

import sys
import threading

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("please_rename_unique_group_name", nameserver=nameserver) as producer:
        for number in range(10):
            producer.send(tailfin.Message("TopicTest", b"Hello %d" % number, tags="TagA"))

    ten_have_come = threading.Semaphore(0)

    def handle(message: tailfin.ReceivedMessage) -> None:
        # What returns is consumed; what raises comes again later (see retry.py).
        print(message.topic, message.tags, message.body.decode(), "at", message.queue_offset)
        ten_have_come.release()

    with tailfin.PushConsumer(
        "please_rename_unique_group_name_4",
        nameserver=nameserver,
        subscribe={"TopicTest": "*"},
        handler=handle,
        consume_from="first",  # where a new group begins; "last" is the default
    ):
        for _ in range(10):
            ten_have_come.acquire()
    # Leaving the block lets running handlers finish, writes down how far the group is, and says goodbye.


if __name__ == "__main__":
    main(*sys.argv[1:2])
