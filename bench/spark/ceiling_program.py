"""A Python source and sink that do nothing: what is left is Spark's own cost."""

from bench.spark.ceiling import Ceiling
from bench.spark.connector import FEW_OF_A_MESSAGE, Connector, read, write
from bench.spark.measuring import session, wanted

if __name__ == "__main__":
    asked = wanted("read", "write")
    ready = {"body": str(asked.body), "count": str(asked.count)}
    connector = Connector("ceiling", body="body", read=ready, write={}, few=FEW_OF_A_MESSAGE, keeps=False)
    with session(asked) as spark:
        spark.dataSource.register(Ceiling)
        {"read": read, "write": write}[asked.action](spark, connector, asked)
