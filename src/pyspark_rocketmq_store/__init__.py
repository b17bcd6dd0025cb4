"""Spark imports modules named `pyspark_...` and registers their `DefaultSource`: `rocketmq-store` here."""

from tailfin.spark.store_source import RocketMQStoreDataSource as DefaultSource

__all__ = ["DefaultSource"]
