"""Look at, or change, every message that is sent or consumed: a place for tenants, metrics, audits.

Run it with `python examples/hooks.py [NAMESERVER]`.
"""

import queue
import sys

import tailfin


class Audit(tailfin.Hook):
    """Override what you want to see; everything else does nothing."""

    def before_send(self, sending: tailfin.Sending) -> None:
        sending.message.properties = {**sending.message.properties, "tenant": "acme"}

    def after_send(self, sending: tailfin.Sending) -> None:
        print("sent to", sending.queue, "- or failed:", sending.error)

    def after_consume(self, consuming: tailfin.Consuming) -> None:
        print("consumed:", len(consuming.messages), "- success:", consuming.success)
        finished.put(None)


finished: queue.SimpleQueue[None] = queue.SimpleQueue()


def main(nameserver: str = "127.0.0.1:9876") -> None:
    hooks = [Audit()]
    with tailfin.Producer("hook-producer", nameserver=nameserver, hooks=hooks) as producer:
        producer.send(tailfin.Message("HookTest", b"hello"))
    with tailfin.PushConsumer(
        "hook-consumer",
        nameserver=nameserver,
        subscribe={"HookTest": "*"},
        handler=lambda message: print("tenant:", message.property("tenant")),
        consume_from="first",
        hooks=hooks,
    ):
        finished.get(timeout=60)


if __name__ == "__main__":
    main(*sys.argv[1:2])
