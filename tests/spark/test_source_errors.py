"""What a user gets wrong is said in one sentence."""

import pytest
from pyspark.errors import PySparkException

from tests.spark.conftest import Broker


def refused(broker: Broker, says: str, schema: str = "", /, **options: object) -> None:
    reader = broker.reader(**options)
    wanted = reader.schema(schema) if schema else reader
    with pytest.raises(PySparkException, match=says):
        wanted.load().collect()


def test_a_topic_that_does_not_exist_is_named(broker: Broker) -> None:
    refused(broker, "no route for topic 'missing': nameserver .* knows no such topic", topic="missing")


def test_bad_options_are_refused_with_what_would_do(tailfin_broker: Broker) -> None:
    topic = tailfin_broker.topic(queues=1)

    refused(tailfin_broker, "did you mean 'startingOffsets'", topic=topic, startingOffset="latest")
    refused(tailfin_broker, "startingOffsets is no JSON", topic=topic, startingOffsets="{")
    refused(tailfin_broker, "which is not there", topic=topic, startingOffsets='{"a":{"b":{"0":1}}}')
    refused(tailfin_broker, "which is not there", assign=f'{{"{topic}":{{"broker-a":[7]}}}}')
    refused(tailfin_broker, "no topic matches topicPattern", topicPattern="nothing-.*")
    refused(tailfin_broker, "column body is binary, not string", "body string", topic=topic)
    refused(tailfin_broker, "a message has no column 'price'", "price int", topic=topic)
    refused(tailfin_broker, "needs the columns of the body", topic=topic, format="json")
    refused(tailfin_broker, "needs the schema that bodies were written with", topic=topic, format="avro")
    refused(tailfin_broker, "no Avro schema .*: it is no JSON", topic=topic, format="avro", schema="id int")


def test_a_name_server_that_is_not_there_is_named(tailfin_broker: Broker) -> None:
    reader = tailfin_broker.spark.read.format("rocketmq").options(
        nameServer="127.0.0.1:9", topic="orders", requestTimeoutMs="500"
    )
    with pytest.raises(PySparkException, match=r"no name server answers \(tried 127.0.0.1:9\)"):
        reader.load().collect()


def test_create_table_points_to_temporary_views(tailfin_broker: Broker) -> None:
    spark = tailfin_broker.spark
    create = "CREATE TABLE a_table USING rocketmq OPTIONS (nameServer 'ns:9876', topic 'orders')"
    with pytest.raises(PySparkException, match="CREATE TEMP VIEW name USING rocketmq"):
        spark.sql(create)
