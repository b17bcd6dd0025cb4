"""Properties on each message, and a consumer that asks for them in SQL.

The broker must allow it, by `enablePropertyFilter=true` in its broker.conf: RocketMQ's default is false.
Run it with `python examples/filter_by_sql.py [NAMESERVER]`.
"""

import queue
import sys

import tailfin


def main(nameserver: str = "127.0.0.1:9876") -> None:
    with tailfin.Producer("sql-producer", nameserver=nameserver) as producer:
        for amount, region in ((50, "EU"), (500, "EU"), (5000, "US")):
            properties = {"amount": str(amount), "region": region}
            producer.send(tailfin.Message("SqlTest", f"{amount} {region}".encode(), properties=properties))

    got: queue.SimpleQueue[str] = queue.SimpleQueue()
    with tailfin.PushConsumer(
        "sql-consumer",
        nameserver=nameserver,
        subscribe={"SqlTest": tailfin.Sql("amount > 100 AND region = 'EU'")},
        handler=lambda message: got.put(message.body.decode()),
        consume_from="first",
    ):
        print("got:", got.get(timeout=60))


if __name__ == "__main__":
    main(*sys.argv[1:2])
