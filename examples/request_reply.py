"""A question as a message, and its answer as another: whoever asks waits for it.

Run it with `python examples/request_reply.py [NAMESERVER]`.
"""

import sys

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with (
        tailfin.Producer("price-client", nameserver=nameserver) as client,
        tailfin.Producer("price-server", nameserver=nameserver) as server,
    ):
        client.send(tailfin.Message("PriceTest", b"wake up"))  # makes the topic, so that it can be read

        def answer(message: tailfin.ReceivedMessage) -> None:
            if message.body != b"wake up":
                server.reply(message, f"{message.body.decode()} costs 42".encode())

        with tailfin.PushConsumer(
            "price-consumer",
            nameserver=nameserver,
            subscribe={"PriceTest": "*"},
            handler=answer,
            consume_from="first",
        ):
            reply = client.request(tailfin.Message("PriceTest", b"a fish"), timeout=30)
            print("answer:", reply.body.decode())


if __name__ == "__main__":
    main(*sys.argv[1:2])
