"""Where has this message been? Clients with `trace=True` write it down, in a topic of the cluster's.

The broker must have that topic: `traceTopicEnable=true` in its broker.conf.
Run it with `python examples/trace.py [NAMESERVER]`.
"""

import queue
import sys

import tailfin

TRACES = "RMQ_SYS_TRACE_TOPIC"


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("trace-producer", nameserver=nameserver, trace=True) as producer:
        sent = producer.send(tailfin.Message("TraceTest", b"hello", keys="order-1"))

    consumed: queue.SimpleQueue[tailfin.ReceivedMessage] = queue.SimpleQueue()
    with tailfin.PushConsumer(
        "trace-consumer",
        nameserver=nameserver,
        subscribe={"TraceTest": "*"},
        handler=consumed.put,
        consume_from="first",
        trace=True,
    ):
        consumed.get(timeout=60)

    traces: queue.SimpleQueue[str] = queue.SimpleQueue()
    with tailfin.PushConsumer(
        "trace-reader",
        nameserver=nameserver,
        subscribe={TRACES: "*"},
        handler=lambda message: traces.put(message.body.decode()),
        consume_from="first",
    ):
        # RocketMQ's own format, which its tools read: records end with \x02, fields with \x01.
        kinds: set[str] = set()
        while not {"Pub", "SubBefore", "SubAfter"} <= kinds:
            records = [record.split("\x01") for record in traces.get(timeout=60).split("\x02")]
            kinds |= {fields[0] for fields in records if sent.message_id in fields}
    print("traced:", ", ".join(sorted(kinds)))


if __name__ == "__main__":
    main(*sys.argv[1:2])
