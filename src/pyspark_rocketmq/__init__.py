"""Spark imports every module named `pyspark_...` and registers its `DefaultSource`: `format("rocketmq")`."""

from tailfin.spark.source import RocketMQDataSource as DefaultSource

__all__ = ["DefaultSource"]
