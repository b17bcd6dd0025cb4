"""Ask for messages when it suits you, instead of having them come: as a member of a group, or alone.

Run it with `python examples/lite_pull.py [NAMESERVER]`.
"""

import sys

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("poll-producer", nameserver=nameserver) as producer:
        for number in range(8):
            producer.send(tailfin.Message("PollTest", b"%d" % number))
        queues = producer.queues("PollTest")

    # subscribe: members of the group share the queues. What poll returned is committed in the background.
    with tailfin.LitePullConsumer(
        "poll-consumer", nameserver=nameserver, subscribe={"PollTest": "*"}, consume_from="first"
    ) as consumer:
        found: list[tailfin.ReceivedMessage] = []
        while len(found) < 8:
            found += consumer.poll(timeout=5)
        print("polled:", sorted(message.body.decode() for message in found))

    # assign: these queues and no others, whatever the group's members do; from where you say.
    with tailfin.LitePullConsumer("poll-alone", nameserver=nameserver, auto_commit=False) as consumer:
        consumer.assign(queues[:1])
        consumer.seek_to_begin(queues[0])
        for message in consumer:
            print("first of", message.queue, "is", message.body.decode())
            break
        consumer.commit()


if __name__ == "__main__":
    main(*sys.argv[1:2])
