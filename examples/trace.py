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

    seen: queue.SimpleQueue[str] = queue.SimpleQueue()
    with tailfin.PushConsumer(
        "trace-reader",
        nameserver=nameserver,
        subscribe={TRACES: "*"},
        handler=lambda message: seen.put(message.body.decode()),
        consume_from="first",
    ):
        # RocketMQ's own format, which its tools read: records end with \x02, fields with \x01.
        while True:
            for record in seen.get(timeout=60).split("\x02"):
                fields = record.split("\x01")
                if sent.message_id in fields:
                    print("traced:", fields[0], "by", fields[3], "to", fields[4])
                    return


if __name__ == "__main__":
    main(*sys.argv[1:2])
