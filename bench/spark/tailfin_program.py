"""Tailfin's connector, as it is found by its name."""

from bench.spark.connector import FEW_OF_A_MESSAGE, Connector, read, write
from bench.spark.measuring import session, wanted

if __name__ == "__main__":
    asked = wanted("read", "write")
    where = {"nameServer": asked.address, "topic": asked.topic}
    connector = Connector("rocketmq", body="body", read=where, write=where, few=FEW_OF_A_MESSAGE)
    with session(asked) as spark:
        {"read": read, "write": write}[asked.action](spark, connector, asked)
