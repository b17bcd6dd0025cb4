"""Routes: what is in them, for whom, and when they are built."""

import json

import pytest

from tailfin.config.namesrv import NamesrvConfig
from tailfin.namesrv import routes
from tailfin.namesrv.routes import Routes
from tailfin.namesrv.tables import Tables
from tailfin.wire import fastjson
from tailfin.wire.bodies.routes import TopicRouteData
from tests.unit.namesrv.samples import SLAVE, mapped, registration, take, topics

PLAIN = NamesrvConfig()
ACTING = NamesrvConfig(supportActingMaster=True)


@pytest.fixture
def tables() -> Tables:
    tables = Tables()
    take(tables, registration(zone="Z1", filter_servers=["f:1"]))
    take(tables, registration(broker_id=1, address=SLAVE, zone="Z1"))
    take(tables, registration("broker-b", address="b:1", wrapper=topics("T", "V"), zone="z2"))
    return tables


def route_of(tables: Tables, topic: str, config: NamesrvConfig = PLAIN) -> TopicRouteData:
    route = routes.build(tables, topic, config)
    assert route is not None
    return route


@pytest.mark.shows("NS-31")
def test_a_route_has_queues_brokers_and_filter_servers(tables: Tables) -> None:
    route = route_of(tables, "T")
    assert [each.broker_name for each in route.queue_datas] == ["broker-a", "broker-b"]
    assert {each.broker_name: each.broker_addrs for each in route.broker_datas} == {
        "broker-a": {0: "10.0.0.1:10911", 1: SLAVE},
        "broker-b": {0: "b:1"},
    }
    assert route.filter_server_table == {"10.0.0.1:10911": ["f:1"]}
    assert route.topic_queue_mapping_by_broker is None


@pytest.mark.shows("NS-33")
def test_a_topic_without_broker_has_no_route(tables: Tables) -> None:
    assert routes.build(tables, "nothing", PLAIN) is None
    del tables.brokers["broker-b"]
    assert routes.build(tables, "V", PLAIN) is None


def test_a_static_topic_brings_its_mapping(tables: Tables) -> None:
    take(tables, registration("broker-c", address="c:1", wrapper=mapped("S", "broker-c")))
    mapping = route_of(tables, "S").topic_queue_mapping_by_broker
    assert mapping is not None
    assert mapping["broker-c"].total_queues == 2


@pytest.mark.parametrize(
    ("config", "topic", "acting_master", "members"),
    [
        (ACTING, "T", True, {0: SLAVE, 2: "s:2"}),
        (PLAIN, "T", True, {1: SLAVE, 2: "s:2"}),
        (ACTING, "T", False, {1: SLAVE, 2: "s:2"}),
        (ACTING, "rmq_sys_SYNC_BROKER_MEMBER_broker-a", True, {1: SLAVE, 2: "s:2"}),
    ],
    ids=["acts", "not supported here", "not enabled there", "members' own topic"],
)
def test_the_least_slave_is_shown_as_master_where_that_is_wanted(
    config: NamesrvConfig, topic: str, acting_master: bool, members: dict[int, str]
) -> None:
    tables = Tables()
    wrapper = topics("T", "rmq_sys_SYNC_BROKER_MEMBER_broker-a", perm=4)
    for broker_id, address in ((1, SLAVE), (2, "s:2")):
        take(tables, registration("broker-a", broker_id, address, wrapper, acting_master=acting_master))
    assert route_of(tables, topic, config).broker_datas[0].broker_addrs == members


def test_no_slave_acts_while_the_queues_can_be_written() -> None:
    tables = Tables()
    take(tables, registration(broker_id=1, address=SLAVE, acting_master=True))
    tables.change_perm("broker-a", lambda _: 6)
    assert route_of(tables, "T", ACTING).broker_datas[0].broker_addrs == {1: SLAVE}


@pytest.mark.parametrize(
    ("zone", "names"), [("z1", ["broker-a"]), ("Z2", ["broker-b"]), ("z3", [])], ids=["z1", "Z2", "z3"]
)
def test_a_zone_keeps_its_own_brokers(tables: Tables, zone: str, names: list[str]) -> None:
    route = routes.in_zone(route_of(tables, "T"), zone)
    assert [each.broker_name for each in route.broker_datas] == names
    assert [each.broker_name for each in route.queue_datas] == names
    assert bool(route.filter_server_table) == ("broker-a" in names)


def test_a_zone_keeps_brokers_whose_master_is_down(tables: Tables) -> None:
    tables.brokers["broker-a"].members = {1: SLAVE}
    kept = routes.in_zone(route_of(tables, "T"), "z2").broker_datas
    assert [each.broker_name for each in kept] == ["broker-a", "broker-b"]


def test_both_flavours_say_the_same(tables: Tables) -> None:
    answers = Routes(tables)
    old = answers.encoded("T", PLAIN, None, standard=False)
    new = answers.encoded("T", PLAIN, None, standard=True)
    assert old is not None
    assert new is not None
    assert b'{0:"10.0.0.1:10911",1:' in old
    assert fastjson.loads(old) == json.loads(new)


@pytest.mark.shows("NS-32")
def test_order_config_is_part_of_the_route(tables: Tables) -> None:
    body = Routes(tables).encoded("T", PLAIN, "broker-a:4", standard=True)
    assert body is not None
    assert json.loads(body)["orderTopicConf"] == "broker-a:4"


def test_an_answer_is_built_once_until_something_changes(tables: Tables) -> None:
    answers = Routes(tables)
    first = answers.encoded("T", PLAIN, None, standard=True)
    assert answers.encoded("T", PLAIN, None, standard=True) is first
    take(tables, registration(zone="Z1", filter_servers=["f:1"]), 30_000)
    assert answers.encoded("T", PLAIN, None, standard=True) is first
    take(tables, registration(zone="Z1", wrapper=topics("T", "U", version=2, perm=4)))
    changed = answers.encoded("T", PLAIN, None, standard=True)
    assert changed is not None
    assert changed != first
    assert answers.encoded("T", ACTING, None, standard=True) == changed
    assert answers.encoded("T", PLAIN, "x:1", standard=True) != changed


def test_another_topics_change_costs_no_answer_that_is_kept(tables: Tables) -> None:
    answers = Routes(tables)
    first = answers.encoded("T", PLAIN, None, standard=True)
    other = answers.encoded("V", PLAIN, None, standard=True)
    take(tables, registration("broker-b", address="b:1", wrapper=topics("V", version=2, perm=4), zone="z2"))
    take(tables, registration("broker-b", address="b:1", wrapper=topics("New", version=3), zone="z2"))
    assert answers.encoded("T", PLAIN, None, standard=True) is first
    assert answers.encoded("V", PLAIN, None, standard=True) != other


def test_a_topic_that_went_and_came_back_has_a_new_answer(tables: Tables) -> None:
    answers = Routes(tables)
    before = answers.encoded("V", PLAIN, None, standard=True)
    tables.drop_queues("V", "broker-b")
    assert answers.encoded("V", PLAIN, None, standard=True) is None
    take(tables, registration("broker-b", address="b:1", wrapper=topics("V", version=2, perm=4), zone="z2"))
    assert answers.encoded("V", PLAIN, None, standard=True) != before
