"""Spark's own connector for Kafka."""

from bench.spark.connector import Connector, read, write
from bench.spark.measuring import session, wanted

if __name__ == "__main__":
    asked = wanted("read", "write")
    where = {"kafka.bootstrap.servers": asked.address}
    connector = Connector(
        "kafka", body="value", read={**where, "subscribe": asked.topic}, write={**where, "topic": asked.topic}
    )
    with session(asked) as spark:
        {"read": read, "write": write}[asked.action](spark, connector, asked)
