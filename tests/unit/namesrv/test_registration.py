"""What a registration does to the tables, rule by rule."""

from collections.abc import ItemsView
from dataclasses import replace

import pytest

from tailfin.namesrv.registration import Registered, put_topic
from tailfin.namesrv.tables import Address, Tables
from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.bodies.routes import QueueData
from tailfin.wire.bodies.topics import TopicConfig
from tailfin.wire.error import RemotingError
from tests.unit.namesrv.samples import SLAVE, mapped, registration, take, topics


@pytest.fixture
def tables() -> Tables:
    return Tables()


def perm_of(tables: Tables, topic: str, broker: str = "broker-a") -> int:
    return tables.queues[topic][broker].perm


@pytest.mark.shows("NS-11", "NS-12", "NS-13", "NS-14", "NS-18", "NS-19")
def test_a_first_registration_fills_every_table(tables: Tables) -> None:
    take(tables, registration(), 5)
    assert tables.clusters == {"C": {"broker-a"}}
    assert tables.brokers["broker-a"].members == {0: "10.0.0.1:10911"}
    assert tables.queues["T"] == {
        "broker-a": QueueData(broker_name="broker-a", read_queue_nums=4, write_queue_nums=4, perm=6)
    }
    life = tables.lives[Address("C", "10.0.0.1:10911")]
    assert (life.seen_ms, life.timeout_ms, life.ha_address) == (5, 120_000, "10.0.0.1:10912")
    assert life.data_version == DataVersion(counter=1)


@pytest.mark.shows("NS-14")
def test_every_registration_is_a_sign_of_life(tables: Tables) -> None:
    take(tables, registration(timeout_ms=10_000), 5)
    take(tables, registration(connection=2, timeout_ms=10_000), 35)
    life = tables.lives[Address("C", "10.0.0.1:10911")]
    assert (life.seen_ms, life.timeout_ms, life.connection) == (35, 10_000, 2)


def test_a_registration_that_says_nothing_new_changes_no_route(tables: Tables) -> None:
    take(tables, registration(filter_servers=[]))
    before = tables.changes, dict(tables.revisions)
    take(tables, registration(filter_servers=[]), 30_000)
    assert (tables.changes, tables.revisions) == before


@pytest.mark.shows("NS-20")
def test_an_address_has_one_id_only(tables: Tables) -> None:
    take(tables, registration())
    take(tables, registration(broker_id=1, address=SLAVE))
    take(tables, registration(broker_id=0, address=SLAVE, wrapper=topics("T", "U", state=1)))
    assert tables.brokers["broker-a"].members == {0: SLAVE}


@pytest.mark.shows("NS-20", "NS-21")
def test_an_id_without_earlier_address_counts_as_first(tables: Tables) -> None:
    take(tables, registration(broker_id=1, address=SLAVE))
    assert tables.queues == {}
    take(tables, registration())
    assert set(tables.queues) == {"T", "U"}


@pytest.mark.shows("NS-21")
def test_slaves_write_no_topics(tables: Tables) -> None:
    take(tables, registration())
    take(tables, registration(broker_id=1, address=SLAVE, wrapper=topics("X", "Y")))
    assert set(tables.queues) == {"T", "U"}


@pytest.mark.shows("NS-21", "NS-22")
@pytest.mark.parametrize(("version", "perm"), [(1, 6), (2, 4)])
def test_topics_are_taken_only_with_another_data_version(tables: Tables, version: int, perm: int) -> None:
    take(tables, registration())
    take(tables, registration(wrapper=topics("T", "U", version=version, perm=4)))
    assert perm_of(tables, "T") == perm


@pytest.mark.shows("NS-21")
def test_a_topic_that_is_not_routed_is_taken_with_the_same_version_too(tables: Tables) -> None:
    take(tables, registration())
    tables.drop_queues("T", "broker-a")
    take(tables, registration())
    assert set(tables.queues) == {"T", "U"}


def test_a_new_broker_with_one_topic_is_refused_and_leaves_no_trace(tables: Tables) -> None:
    with pytest.raises(RemotingError, match="register broker failed"):
        take(tables, registration(wrapper=topics("T")))
    assert tables == Tables()


def test_a_known_broker_may_register_one_topic(tables: Tables) -> None:
    take(tables, registration())
    take(tables, registration(wrapper=topics("T", version=2, perm=4)))
    assert perm_of(tables, "T") == 4


@pytest.mark.parametrize(
    ("old_state", "new_state", "holder"), [(0, 0, SLAVE), (1, 2, SLAVE), (2, 1, "10.0.0.1:10911")]
)
def test_an_id_moves_unless_its_holder_has_newer_state(
    tables: Tables, old_state: int, new_state: int, holder: str
) -> None:
    take(tables, registration(wrapper=topics("T", "U", state=old_state)))
    told = take(tables, registration(address=SLAVE, wrapper=topics("T", "U", state=new_state)))
    assert tables.brokers["broker-a"].members == {0: holder}
    assert told == Registered()
    assert (Address("C", SLAVE) in tables.lives) == (holder == SLAVE)


@pytest.mark.shows("NS-15", "NS-23")
@pytest.mark.parametrize(("second", "kept"), [(None, ["f:1"]), ([], None), (["f:2"], ["f:2"])])
def test_filter_servers_are_kept_removed_or_replaced(
    tables: Tables, second: list[str] | None, kept: list[str] | None
) -> None:
    take(tables, registration(filter_servers=["f:1"]))
    take(tables, registration(filter_servers=second))
    assert tables.filter_servers.get(Address("C", "10.0.0.1:10911")) == kept


@pytest.mark.shows("NS-24")
def test_a_slave_is_told_its_master_while_that_lives(tables: Tables) -> None:
    slave = registration(broker_id=1, address=SLAVE, ha_address="10.0.0.2:10912")
    assert take(tables, slave) == Registered()
    take(tables, registration())
    assert take(tables, slave) == Registered("10.0.0.1:10912", "10.0.0.1:10911")
    del tables.lives[Address("C", "10.0.0.1:10911")]
    assert take(tables, slave) == Registered()


@pytest.mark.parametrize(
    ("acting_master", "perm"),
    [(True, 4), (False, 6), (None, None)],
    ids=["acting master", "no acting master", "old broker"],
)
def test_a_prime_slave_brings_topics_and_with_acting_master_no_writes(
    tables: Tables, acting_master: bool | None, perm: int | None
) -> None:
    take(tables, registration(broker_id=1, address=SLAVE, acting_master=acting_master))
    found = tables.queues.get("T", {}).get("broker-a")
    assert (found.perm if found else None) == perm


def test_only_the_least_slave_is_prime(tables: Tables) -> None:
    take(tables, registration(broker_id=1, address=SLAVE, acting_master=True))
    take(
        tables, registration(broker_id=2, address="10.0.0.3:1", acting_master=True, wrapper=topics("X", "Y"))
    )
    assert set(tables.queues) == {"T", "U"}


@pytest.mark.parametrize(("drop", "left"), [(False, {"T", "U", "V"}), (True, {"T", "V"})])
def test_topics_a_broker_lost_stay_routed_unless_told_otherwise(
    tables: Tables, drop: bool, left: set[str]
) -> None:
    take(tables, registration())
    take(tables, registration("broker-b", address="10.0.0.3:1", wrapper=topics("V", "T")))
    take(tables, registration(wrapper=topics("T", "V", version=2)), drop_missing=drop)
    assert set(tables.queues) == left


def test_topics_that_a_broker_does_not_name_among_the_changed_ones_are_not_lost(tables: Tables) -> None:
    take(tables, registration())
    take(tables, registration(wrapper=topics("V", version=2), only_changes=True), drop_missing=True)
    assert set(tables.queues) == {"T", "U", "V"}


def test_broker_that_is_not_known_yet_must_say_all_its_topics(tables: Tables) -> None:
    with pytest.raises(RemotingError, match="register broker failed"):
        take(tables, registration(only_changes=True))
    assert not tables.queues


@pytest.mark.parametrize(("first", "second", "changed"), [(1, 0, True), (0, 1, False), (1, 2, False)])
def test_a_smaller_id_is_noticed(tables: Tables, first: int, second: int, changed: bool) -> None:
    assert not take(tables, registration(broker_id=first)).least_id_changed
    assert take(tables, registration(broker_id=second, address=SLAVE)).least_id_changed == changed


def test_mappings_of_static_topics_are_kept_by_broker(tables: Tables) -> None:
    take(tables, registration(wrapper=mapped("T", "broker-a")))
    assert tables.mappings["T"]["broker-a"].total_queues == 2
    tables.drop_queues("T", "broker-a")
    assert tables.mappings == {}


def test_zone_and_acting_master_follow_the_last_registration(tables: Tables) -> None:
    take(tables, registration(zone="z1", acting_master=True))
    take(tables, registration(zone="z2", acting_master=False))
    broker = tables.brokers["broker-a"]
    assert (broker.zone, broker.acting_master) == ("z2", False)


def test_an_administrator_gives_topics_to_known_brokers_only(tables: Tables) -> None:
    take(tables, registration())
    put_topic(tables, "N", [QueueData(broker_name="broker-a", perm=6), QueueData(broker_name="nobody")])
    assert list(tables.queues["N"]) == ["broker-a"]


class CountedTopics(dict[str, TopicConfig]):
    """Counts how often somebody goes through it."""

    walks = 0

    def items(self) -> ItemsView[str, TopicConfig]:  # type: ignore[override]
        self.walks += 1
        return super().items()


def test_a_repeated_registration_is_not_gone_through_until_someone_touched_the_topics(tables: Tables) -> None:
    wrapper = topics("T", "U")
    counted = CountedTopics(wrapper.topic_config_table)
    same = registration(wrapper=replace(wrapper, topic_config_table=counted))
    take(tables, same)
    assert counted.walks == 1
    take(tables, same, drop_missing=True)
    assert counted.walks == 1
    tables.drop_queues("T", "broker-a")
    put_topic(tables, "Given", [QueueData(broker_name="broker-a")])
    take(tables, same, drop_missing=True)
    assert counted.walks == 2
    assert set(tables.queues) == {"T", "U"}
    take(tables, registration("other", address=SLAVE))
    take(tables, same)
    assert counted.walks == 2


def test_permissions_change_for_the_topics_of_one_broker(tables: Tables) -> None:
    take(tables, registration())
    take(tables, registration("other", address=SLAVE, wrapper=topics("T", "V")))
    assert tables.change_perm("other", lambda _: 4) == 2
    assert tables.change_perm("nobody", lambda _: 4) == 0
    assert (perm_of(tables, "T"), perm_of(tables, "T", "other")) == (6, 4)
