import logging

import pytest

from tailfin.broker.clients import Client, ClientTable, Joining
from tailfin.wire.bodies.clients import ConsumeFromWhere, ConsumeType, MessageModel, SubscriptionData


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def client(connection: int, client_id: str | None = None) -> Client:
    return Client(connection, client_id or f"c{connection}", "JAVA", 479, f"10.0.0.{connection}:1")


def joining(*topics: str, version: int = 1, expression: str = "*", group: str = "G") -> Joining:
    return Joining(
        group=group,
        consume_type=ConsumeType.CONSUME_PASSIVELY,
        message_model=MessageModel.CLUSTERING,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        subscriptions=tuple(
            SubscriptionData(topic=topic, sub_string=expression, sub_version=version) for topic in topics
        ),
    )


@pytest.fixture
def table() -> ClientTable:
    return ClientTable(120.0, Clock())


def test_members_are_told_when_one_joins_or_leaves_but_not_by_each_heartbeat(table: ClientTable) -> None:
    told: list[list[str]] = []
    table.on_members = lambda group: told.append(group.client_ids())
    table.beat_consumer(joining("T"), client(1))
    table.beat_consumer(joining("T"), client(1))
    table.beat_consumer(joining("T"), client(2))
    table.leave("c2", 2, producer=None, consumer="G")
    assert told == [["c1"], ["c1", "c2"], ["c1"]]


def test_change_of_topics_is_told_and_change_of_tags_is_not(table: ClientTable) -> None:
    table.beat_consumer(joining("T"), client(1))
    told: list[str] = []
    table.on_members = lambda group: told.append(group.name)
    table.beat_consumer(joining("T", version=2, expression="a"), client(1))
    assert told == []
    table.beat_consumer(joining("T", "U", version=2), client(1))
    assert told == ["G"]


def test_subscription_with_a_newer_version_wins(table: ClientTable) -> None:
    table.beat_consumer(joining("T", version=5, expression="new"), client(1))
    table.beat_consumer(joining("T", version=3, expression="old"), client(2))
    group = table.consumer_group("G")
    assert group is not None
    assert group.subscriptions["T"].sub_string == "new"


def test_topic_stays_while_any_member_reads_it_and_the_clash_is_named(
    table: ClientTable, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "tailfin.broker"):
        table.beat_consumer(joining("T"), client(1))
        table.beat_consumer(joining("U"), client(2))
    group = table.consumer_group("G")
    assert group is not None
    assert set(group.subscriptions) == {"T", "U"}
    assert "group G disagree on topic U" in caplog.text
    dropped: list[str] = []
    table.on_subscription = lambda group, topic, data: dropped.append(topic) if data is None else None
    table.closed(1)
    assert dropped == ["T"]


def test_closed_connection_leaves_all_its_groups(table: ClientTable) -> None:
    table.beat_consumer(joining("T", group="G"), client(1))
    table.beat_consumer(joining("T", group="H"), client(1))
    table.beat_producer("P", client(1))
    table.closed(1)
    table.closed(1)
    assert table.consumer_groups() == []
    assert table.producer_groups() == {}


def test_silent_clients_expire() -> None:
    clock = Clock()
    table = ClientTable(120.0, clock)
    table.beat_consumer(joining("T"), client(1))
    table.beat_producer("P", client(2))
    clock.now = 100.0
    table.beat_producer("P", client(2))
    clock.now = 121.0
    assert table.expired() == [1]


def test_reconnected_client_is_one_member_id_until_the_old_connection_goes(table: ClientTable) -> None:
    table.beat_consumer(joining("T"), client(1, "same"))
    table.beat_consumer(joining("T"), client(2, "same"))
    group = table.consumer_group("G")
    assert group is not None
    assert group.client_ids() == ["same"]
    table.closed(1)
    assert table.consumer_group("G") is group


def test_heartbeat_without_subscriptions_keeps_those_known(table: ClientTable) -> None:
    table.beat_consumer(joining("T"), client(1))
    light = Joining(
        group="G",
        consume_type=ConsumeType.CONSUME_PASSIVELY,
        message_model=MessageModel.CLUSTERING,
        consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        subscriptions=None,
        fingerprint=7,
    )
    table.beat_consumer(light, client(1))
    group = table.consumer_group("G")
    assert group is not None
    assert set(group.subscriptions) == {"T"}
    assert not table.needs_subscriptions("G", 1, 7)
    assert table.needs_subscriptions("G", 1, 8)
    assert table.needs_subscriptions("H", 1, 7)


def test_leaving_under_a_wrong_id_does_nothing(table: ClientTable) -> None:
    table.beat_consumer(joining("T"), client(1))
    table.leave("someone-else", 1, producer=None, consumer="G")
    table.leave("c1", 99, producer="P", consumer="G")
    assert table.consumer_group("G") is not None


def test_one_listener_that_fails_leaves_no_member_of_a_closed_connection(
    table: ClientTable, caplog: pytest.LogCaptureFixture
) -> None:
    for group in ("G", "H", "I"):
        table.beat_consumer(joining("T", group=group), client(1))
    table.beat_producer("P", client(1))

    def fail(*_: object) -> None:
        raise ValueError("a listener's own trouble")

    table.on_subscription = fail
    table.closed(1)
    assert table.consumer_groups() == []
    assert table.producer_groups() == {}
    assert caplog.text.count("a listener's own trouble") >= 3


def test_a_connection_that_changes_its_client_id_is_found_by_the_last_one_only(table: ClientTable) -> None:
    table.beat_producer("P", client(1, "first"))
    table.beat_producer("Q", client(1, "first"))
    table.beat_producer("P", client(1, "second"))
    assert table.producer_by_id("first") is not None, "group Q knows it by that name"
    table.beat_producer("Q", client(1, "second"))
    assert table.producer_by_id("first") is None
    table.beat_producer("Q", client(1, "third"))
    table.beat_producer("P", client(2, "second"))
    table.closed(1)
    assert table.producer_by_id("third") is None
    found = table.producer_by_id("second")
    assert found is not None
    assert found.connection == 2
