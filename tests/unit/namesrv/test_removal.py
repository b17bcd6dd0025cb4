"""How brokers leave: what goes with them, what stays."""

import pytest

from tailfin.namesrv import removal
from tailfin.namesrv.removal import LeastIdGone, Leaving
from tailfin.namesrv.tables import Address, Tables
from tests.unit.namesrv.samples import SLAVE, registration, take, topics

MASTER = "10.0.0.1:10911"
MASTER_LEAVES = Leaving("C", "broker-a", MASTER, 0)
SLAVE_LEAVES = Leaving("C", "broker-a", SLAVE, 1)


@pytest.fixture
def tables() -> Tables:
    tables = Tables()
    take(tables, registration(filter_servers=["f:1"]))
    return tables


def with_slave(tables: Tables, acting_master: bool | None = None) -> Tables:
    take(tables, registration(acting_master=acting_master))
    take(tables, registration(broker_id=1, address=SLAVE, connection=2, acting_master=acting_master))
    return tables


@pytest.mark.shows("NS-26", "NS-27", "NS-28")
def test_the_last_member_takes_everything_with_it(tables: Tables) -> None:
    assert removal.remove(tables, [MASTER_LEAVES]) == []
    assert tables == Tables(changes=tables.changes)


@pytest.mark.shows("NS-27")
def test_losing_the_master_alone_keeps_the_routes(tables: Tables) -> None:
    with_slave(tables)
    assert removal.remove(tables, [MASTER_LEAVES]) == [LeastIdGone("broker-a", MASTER)]
    assert tables.brokers["broker-a"].members == {1: SLAVE}
    assert tables.queues["T"]["broker-a"].perm == 6
    assert tables.clusters == {"C": {"broker-a"}}


def test_without_master_an_acting_master_takes_no_writes(tables: Tables) -> None:
    with_slave(tables, acting_master=True)
    removal.remove(tables, [MASTER_LEAVES])
    assert tables.queues["T"]["broker-a"].perm == 4


def test_losing_a_slave_is_no_news_of_the_least_id(tables: Tables) -> None:
    with_slave(tables, acting_master=True)
    assert removal.remove(tables, [SLAVE_LEAVES]) == []
    assert tables.queues["T"]["broker-a"].perm == 6


@pytest.mark.shows("NS-28")
def test_other_brokers_keep_their_topics_and_clusters(tables: Tables) -> None:
    take(tables, registration("broker-b", address="b:1", wrapper=topics("T", "V"), cluster="D"))
    removal.remove(tables, [MASTER_LEAVES])
    assert {topic: list(found) for topic, found in tables.queues.items()} == {
        "T": ["broker-b"],
        "V": ["broker-b"],
    }
    assert tables.clusters == {"D": {"broker-b"}}


def test_a_name_of_two_clusters_leaves_both(tables: Tables) -> None:
    take(tables, registration(broker_id=1, address=SLAVE, connection=2, cluster="D"))
    assert tables.clusters == {"C": {"broker-a"}, "D": {"broker-a"}}
    for connection in (1, 2):
        removal.remove(tables, removal.on_connection(tables, connection))
    assert tables == Tables(changes=tables.changes)


def test_a_batch_leaves_together(tables: Tables) -> None:
    with_slave(tables)
    assert removal.remove(tables, [MASTER_LEAVES, SLAVE_LEAVES]) == []
    assert tables.queues == {}


def test_who_is_not_there_cannot_harm(tables: Tables) -> None:
    removal.remove(tables, [Leaving("C", "nobody", "x:1", 0), Leaving("C", "broker-a", "x:1", 0)])
    assert tables.brokers["broker-a"].members == {0: MASTER}
    assert set(tables.queues) == {"T", "U"}


@pytest.mark.shows("NS-30")
def test_a_connection_leads_to_its_brokers(tables: Tables) -> None:
    with_slave(tables)
    assert removal.on_connection(tables, 2) == [SLAVE_LEAVES]
    assert removal.on_connection(tables, 3) == []


@pytest.mark.shows("NS-30")
def test_a_connection_that_was_replaced_takes_nobody_along(tables: Tables) -> None:
    take(tables, registration(connection=7))
    assert removal.on_connection(tables, 1) == []


@pytest.mark.shows("NS-25", "X-01")
@pytest.mark.parametrize(
    ("timeout_ms", "now_ms", "dead"),
    [(None, 120_000, False), (None, 120_001, True), (10_000, 10_000, False), (10_000, 10_001, True)],
)
def test_a_broker_is_silent_for_the_time_it_named(
    tables: Tables, timeout_ms: int | None, now_ms: int, dead: bool
) -> None:
    take(tables, registration(timeout_ms=timeout_ms))
    assert removal.silent(tables, now_ms) == ([(MASTER_LEAVES, 1)] if dead else [])


def test_a_sign_of_life_puts_the_end_off(tables: Tables) -> None:
    tables.seen(Address("C", MASTER), 100_000)
    tables.seen(Address("C", "nobody:1"), 100_000)
    assert removal.silent(tables, 200_000) == []
    assert list(tables.lives) == [Address("C", MASTER)]


@pytest.mark.shows("NS-29")
def test_a_life_whose_address_nobody_has_ends_as_well(tables: Tables) -> None:
    tables.brokers["broker-a"].members = {0: "elsewhere:1"}
    ((leaving, _),) = removal.silent(tables, 200_000)
    removal.remove(tables, [leaving])
    assert tables.lives == {}
    assert tables.brokers["broker-a"].members == {0: "elsewhere:1"}
