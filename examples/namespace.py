"""The same names in one cluster, kept apart: a namespace for staging, one for each tenant, one for each test.

Run it with `python examples/namespace.py [NAMESERVER]`.
"""

import queue
import sys

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    for namespace in ("staging", "production"):
        with tailfin.Producer("ns-producer", nameserver=nameserver, namespace=namespace) as producer:
            producer.send(tailfin.Message("NsTest", f"for {namespace}".encode()))

    got: queue.SimpleQueue[str] = queue.SimpleQueue()
    with tailfin.PushConsumer(
        "ns-consumer",
        nameserver=nameserver,
        namespace="staging",  # on the wire: topic staging%NsTest, group staging%ns-consumer
        subscribe={"NsTest": "*"},
        handler=lambda message: got.put(f"{message.topic}: {message.body.decode()}"),
        consume_from="first",
    ):
        print(got.get(timeout=60))


if __name__ == "__main__":
    main(*sys.argv[1:2])
