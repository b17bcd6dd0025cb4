"""RocketMQ topics in Spark; docs/spark.md is the guide."""
