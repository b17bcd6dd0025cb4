import pytest

from tailfin.client.tls import Tls
from tailfin.config.setting import ConfigError
from tailfin.spark.options import SourceOptions


def parse(**given: str) -> SourceOptions:
    return SourceOptions.parse({"nameServer": "ns:9876", **given})


def test_names_are_taken_in_any_case_as_spark_hands_them_on_in_lower_case() -> None:
    options = SourceOptions.parse({"nameserver": "ns:9876", "TOPIC": "orders", "maxoffsetspertrigger": "10"})

    assert (options.nameServer, options.topic, options.maxOffsetsPerTrigger) == ("ns:9876", "orders", 10)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "not by none"),
        ({"topic": "a", "assign": "{}"}, "not by both topic and assign"),
        ({"topic": "a", "maxOffsetPerTrigger": "1"}, "did you mean 'maxOffsetsPerTrigger'?"),
        ({"topic": "a", "xyz": "1"}, "there is no option 'xyz'; docs/spark.md lists all"),
        ({"topic": "a", "maxOffsetsPerTrigger": "many"}, "maxOffsetsPerTrigger must be a whole number"),
        ({"topic": "a", "minPartitions": "-1"}, "minPartitions must be at least 0"),
        ({"topic": "a", "failOnDataLoss": "yes"}, "failOnDataLoss must be true or false"),
        ({"topic": "a", "expressionType": "SQL"}, "expressionType must be one of TAG, SQL92"),
        ({"topic": "a", "startingOffsets": "latest", "startingTimestamp": "1"}, "give one of them"),
        ({"topic": "a", "schema": "id int"}, "it needs format=json"),
        ({"topic": "a", "badRecords": "drop"}, "it needs format=json"),
        (
            {"topic": "a", "format": "json", "badRecords": "dlq"},
            "badRecords=dlq and dlqTopic belong together",
        ),
        ({"topic": "a", "format": "json", "dlqTopic": "d"}, "badRecords=dlq and dlqTopic belong together"),
        ({"topic": "a", "format": "avro"}, "format=avro needs the schema that bodies were written with"),
        ({"topic": "a", "format": "json", "avroFraming": "confluent"}, "it needs format=avro"),
        ({"topic": "a", "avroFraming": "registry"}, "avroFraming must be one of plain, single-object"),
        ({"topic": "a", "format": "csv"}, "format must be one of raw, json"),
    ],
)
def test_options_that_cannot_work_are_refused_with_a_sentence(given: dict[str, str], says: str) -> None:
    with pytest.raises(ConfigError, match=says.replace("?", r"\?")):
        parse(**given)


@pytest.mark.parametrize("given", [{}, {"option.nameserver": "ns:9876", "option.topic": "orders"}])
def test_options_of_a_table_point_to_temporary_views(given: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match="CREATE TEMP VIEW name USING rocketmq OPTIONS"):
        SourceOptions.parse(given)


def test_options_become_the_keywords_of_clients() -> None:
    plain = parse(topic="a")
    full = parse(
        topic="a",
        namespace="shop",
        accessKey="me",
        secretKey="secret",
        securityToken="token",
        tls="true",
        tlsCa="ca.pem",
        tlsCheckHostname="false",
        requestTimeoutMs="1500",
    )

    assert plain.client_keywords() == {"nameserver": "ns:9876", "request_timeout": 5.0, "tls": False}
    assert full.client_keywords() == {
        "nameserver": "ns:9876",
        "namespace": "shop",
        "access_key": "me",
        "secret_key": "secret",
        "security_token": "token",
        "tls": Tls(ca="ca.pem", check_hostname=False),
        "request_timeout": 1.5,
    }


def test_the_drivers_environment_says_the_name_server_to_executors_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", "a:9876;b:9876")
    assert SourceOptions.parse({"topic": "a"}).client_keywords()["nameserver"] == "a:9876;b:9876"

    monkeypatch.delenv("NAMESRV_ADDR")
    with pytest.raises(ConfigError, match="nameServer"):
        SourceOptions.parse({"topic": "a"}).client_keywords()


def test_files_of_tls_without_tls_are_refused() -> None:
    with pytest.raises(ConfigError, match="need tls=true"):
        parse(topic="a", tlsCa="ca.pem").client_keywords()
