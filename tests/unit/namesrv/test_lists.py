"""Lists of topics and brokers."""

import pytest

from tailfin.namesrv import lists
from tailfin.namesrv.tables import Tables
from tests.unit.namesrv.samples import SLAVE, registration, take, topics


@pytest.fixture
def tables() -> Tables:
    tables = Tables()
    take(tables, registration())
    take(tables, registration(broker_id=1, address=SLAVE))
    take(tables, registration("broker-b", address="b:1", wrapper=topics("T", "V"), cluster="D"))
    return tables


def test_topics_by_cluster(tables: Tables) -> None:
    assert lists.all_topics(tables).topic_list == ["T", "U", "V"]
    assert lists.topics_of_cluster(tables, "C").topic_list == ["T", "U"]
    assert lists.topics_of_cluster(tables, "D").topic_list == ["T", "V"]
    assert lists.topics_of_cluster(tables, "nowhere").topic_list == []


def test_system_topics_are_the_names_of_clusters_and_brokers(tables: Tables) -> None:
    found = lists.system_topics(tables)
    assert found.topic_list == ["C", "broker-a", "D", "broker-b"]
    assert found.broker_addr == "10.0.0.1:10911"
    assert lists.system_topics(Tables()).broker_addr is None


def test_unit_topics_by_their_flags() -> None:
    tables = Tables()
    for flag in range(4):
        names = (f"t{flag}", f"u{flag}")
        take(
            tables, registration(f"b{flag}", address=f"b:{flag}", wrapper=topics(*names, topic_sys_flag=flag))
        )
    assert lists.unit_topics(tables).topic_list == ["t1", "u1", "t3", "u3"]
    assert lists.unit_sub_topics(tables).topic_list == ["t2", "u2", "t3", "u3"]
    assert lists.unit_sub_of_no_unit_topics(tables).topic_list == ["t2", "u2"]


def test_cluster_info_names_every_address(tables: Tables) -> None:
    info = lists.cluster_info(tables)
    assert info.cluster_addr_table == {"C": ["broker-a"], "D": ["broker-b"]}
    assert info.broker_addr_table["broker-a"].broker_addrs == {0: "10.0.0.1:10911", 1: SLAVE}


def test_a_member_group_is_empty_for_who_is_unknown(tables: Tables) -> None:
    assert lists.member_group(tables, "C", "broker-a").broker_addrs == {0: "10.0.0.1:10911", 1: SLAVE}
    assert lists.member_group(tables, "C", "nobody").broker_addrs == {}
    assert lists.member_group(tables, "D", "broker-a").broker_addrs == {}
