"""Writes outside of Spark: what tasks and the driver would do, step by step."""

from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql.types import StringType, StructField, StructType

import tailfin
from tailfin.spark.sink.committing import Committer
from tailfin.spark.sink.decision_log import DecisionLog
from tailfin.spark.sink.decisions import BatchName, Decision, Halves, decide
from tailfin.spark.sink.ending import ended_from
from tailfin.spark.sink.line import Line
from tailfin.spark.sink.options import SinkOptions
from tailfin.spark.sink.writing import Sink
from tailfin.testing import until


class Driver:
    """A query's driver and its tasks."""

    def __init__(self, namesrv: str, topic: str, query: str = "query", **options: str) -> None:
        self.topic = topic
        self.query = query
        self.options = SinkOptions.parse(
            {"nameServer": namesrv, "topic": topic, "deliveryGuarantee": "exactly-once", **options}
        )
        self.sink = Sink(self.options, StructType([StructField("body", StringType())]))
        self.line = Line(self.options)

    def write(self, batch: int, bodies: Iterable[str]) -> list[Halves]:
        """Do what a task does."""
        rows = pa.record_batch({"body": pa.array(list(bodies), pa.string())})
        return list(self.sink.write(iter([rows]), BatchName(self.query, batch)).halves)

    def committer(self, batch: int, halves: list[Halves]) -> Committer:
        """Do what a driver does that was just started: nothing is remembered."""
        DecisionLog._open.take_all()
        return Committer(self.line, BatchName(self.query, batch), halves, is_new=False)

    def decide_and_die(self, batch: int, halves: list[Halves]) -> Decision:
        """Write the decision, and do nothing of what follows from it."""
        brokers = {each.broker for each in halves}
        decision = Decision(tuple(halves), self.line.run(ended_from(self.line, brokers)))
        log = DecisionLog(self.line, self.query)
        log.history(batch)
        log.append(decide(BatchName(self.query, batch), decision))
        return decision


def visible(namesrv: str, topic: str, least: int = 0) -> Counter[str]:
    """Count the messages that consumers can have of a topic, by body, once there are so many."""
    with tailfin.AdminClient(nameserver=namesrv) as admin:

        def bodies() -> list[str]:
            return [message.body.decode() for message in admin.messages.read(topic)]

        # What is acknowledged is dispatched a moment later.
        until(lambda: len(bodies()) >= least)
        return Counter(bodies())
