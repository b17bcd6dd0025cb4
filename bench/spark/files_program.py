"""The files of a store, read without a broker, and Parquet files with the same rows."""

from functools import partial

from bench.spark.measuring import check, measure, nowhere, session, wanted

if __name__ == "__main__":
    asked = wanted("archive", "store", "parquet")
    with session(asked) as spark:
        if asked.action == "parquet":
            table = spark.read.parquet(asked.address)
        else:
            table = spark.read.format("rocketmq-store").load(asked.address)
        if asked.action == "archive":
            table.write.parquet(f"{asked.address}.parquet")
        else:
            check(table, "body", asked.body, asked.count)
            for _ in range(asked.runs):
                measure("files", asked, partial(nowhere, table))
