"""A driver that copies a topic to another topic and to Parquet, until it is told to stop, or killed."""

import json
import sys
import time
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

LOOK_EVERY_S = 0.05
KINDS = ("topic", "parquet")


class Copies:
    """Both queries; one that failed is started again, as an operator would."""

    def __init__(self, namesrv: str, source: str, copy: str, home: Path) -> None:
        self._namesrv, self._source, self._copy, self._home = namesrv, source, copy, home
        self._spark = (
            SparkSession.builder.master("local[2]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.host", "127.0.0.1")
            .config("spark.driver.bindAddress", "127.0.0.1")
            .config("spark.driver.memory", "768m")
            .config("spark.sql.warehouse.dir", str(home / "warehouse"))
            .getOrCreate()
        )
        self._spark.sparkContext.setLogLevel("ERROR")
        self._queries: dict[str, StreamingQuery] = {}

    def keep_running(self) -> None:
        """Start what does not run, one after the other.

        Begun at the same moment, two queries have been seen to leave a collection that they share in Spark's
        driver with a wrong size; no task could be serialized from then on.
        """
        for kind in KINDS:
            if self._running(kind).lastProgress is None:
                return

    def _running(self, kind: str) -> StreamingQuery:
        if kind not in self._queries or not self._queries[kind].isActive:
            self._queries[kind] = self._start(kind)
        return self._queries[kind]

    def _start(self, kind: str) -> StreamingQuery:
        rows = (
            self._spark.readStream.format("rocketmq")
            .options(nameServer=self._namesrv, topic=self._source, startingOffsets="earliest")
            .option("maxOffsetsPerTrigger", "1000")
            .load()
            .selectExpr("CAST(body AS string) AS body")
        )
        writer = rows.writeStream.option("checkpointLocation", str(self._home / f"checkpoint-{kind}"))
        if kind == "parquet":
            return writer.format("parquet").option("path", str(self._home / "parquet")).start()
        once = {"topic": self._copy, "deliveryGuarantee": "exactly-once"}
        return writer.format("rocketmq").options(nameServer=self._namesrv, **once).start()

    def are_at_work(self) -> bool:
        """Whether both have written a batch since they were started."""
        queries = self._queries.values()
        return len(queries) == len(KINDS) and all(query.lastProgress is not None for query in queries)

    def finish(self) -> list[str]:
        """Copy what is left, stop, and return the rows of the Parquet files."""
        for kind in KINDS:
            while True:
                try:
                    self._running(kind).processAllAvailable()
                except StreamingQueryException:
                    continue
                break
        for query in self._queries.values():
            query.stop()
        found = [row.body for row in self._spark.read.parquet(str(self._home / "parquet")).collect()]
        self._spark.stop()
        return found


def main() -> None:
    """Copy until the file `stop` is there; leave the rows of Parquet in the file `rows`."""
    namesrv, source, copy, folder = sys.argv[1:]
    home = Path(folder)
    copies = Copies(namesrv, source, copy, home)
    is_told = False
    while not (home / "stop").exists():
        copies.keep_running()
        if not is_told and copies.are_at_work():
            print("READY", flush=True)
            is_told = True
        time.sleep(LOOK_EVERY_S)
    (home / "rows").write_text(json.dumps(copies.finish()))


if __name__ == "__main__":
    main()
