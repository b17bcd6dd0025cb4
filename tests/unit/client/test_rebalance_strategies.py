"""Every queue has exactly one owner, and the shares are those of RocketMQ's Java client."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailfin.client.queues import Queue
from tailfin.client.rebalance import (
    Averagely,
    ByCircle,
    ByConfig,
    ByMachineRoom,
    ConsistentHash,
    MachineRoomNearby,
    Strategy,
    share_of,
)

EIGHT = [Queue("T", "b", index) for index in range(8)]
THREE = ["10.0.0.1@1", "10.0.0.2@1", "10.0.0.3@1"]


class RoomsByPrefix:
    def of_broker(self, queue: Queue) -> str:
        return queue.broker.split("-")[0]

    def of_member(self, member: str) -> str:
        return member.split("-")[0]


def shares(strategy: Strategy, queues: list[Queue], members: list[str]) -> list[list[int]]:
    return [[queue.queue_id for queue in share_of(strategy, each, queues, members)] for each in members]


@pytest.mark.shows("RB-06", "RB-05")
def test_averagely_gives_neighbours_and_one_more_to_the_first() -> None:
    assert shares(Averagely(), EIGHT, THREE) == [[0, 1, 2], [3, 4, 5], [6, 7]]


@pytest.mark.shows("RB-07", "RB-05")
def test_by_circle_deals_them_out() -> None:
    assert shares(ByCircle(), EIGHT, THREE) == [[0, 3, 6], [1, 4, 7], [2, 5]]


@pytest.mark.shows("RB-08")
def test_more_members_than_queues_leaves_some_idle() -> None:
    assert shares(Averagely(), EIGHT[:2], THREE) == [[0], [1], []]
    assert shares(ByCircle(), EIGHT[:2], THREE) == [[0], [1], []]


def test_by_config_returns_its_list_for_the_topic_at_hand() -> None:
    strategy = ByConfig([Queue("T", "b", 3), Queue("U", "b", 1)])
    assert share_of(strategy, THREE[2], EIGHT, THREE) == [Queue("T", "b", 3)]


def test_by_machine_room_hands_the_rest_out_behind_the_even_shares() -> None:
    queues = [Queue("T", "near@b", index) for index in range(8)] + [
        Queue("T", "far@b", 9),
        Queue("T", "b", 10),
    ]
    assert shares(ByMachineRoom({"near"}), queues, THREE) == [[0, 1, 6], [2, 3, 7], [4, 5]]


def test_a_text_instead_of_rooms_is_refused() -> None:
    with pytest.raises(TypeError, match=r"ByMachineRoom\(\{'near'\}\)"):
        ByMachineRoom("near")


def test_nearby_keeps_to_the_own_room_and_shares_rooms_without_members() -> None:
    queues = [Queue("T", f"{room}-b", index) for room in ("r1", "r2", "r3") for index in range(4)]
    members = ["r1-a", "r1-b", "r2-a"]
    strategy = MachineRoomNearby(Averagely(), RoomsByPrefix())
    assert strategy.name == "MACHINE_ROOM_NEARBY-AVG"
    own = {each: share_of(strategy, each, queues, members) for each in members}
    assert [(queue.broker, queue.queue_id) for queue in own["r1-a"]] == [
        ("r1-b", 0),
        ("r1-b", 1),
        ("r3-b", 0),
        ("r3-b", 1),
    ]
    assert [(queue.broker, queue.queue_id) for queue in own["r2-a"]] == [
        *(("r2-b", index) for index in range(4)),
        ("r3-b", 3),
    ]


def test_nearby_names_what_stands_in_no_room() -> None:
    strategy = MachineRoomNearby(Averagely(), RoomsByPrefix())
    with pytest.raises(ValueError, match="RoomsByPrefix knows no machine room for broker -b"):
        share_of(strategy, "r1-a", [Queue("T", "-b", 0)], ["r1-a"])


def test_the_ring_gives_what_rocketmqs_ring_gives() -> None:
    members = [f"10.0.0.{index}@DEFAULT" for index in range(1, 4)]
    queues = [Queue("TopicTest", "broker-a", index) for index in range(8)]
    # Printed by AllocateMessageQueueConsistentHash of the Java client.
    assert shares(ConsistentHash(), queues, members) == [[2, 4], [1, 5, 7], [0, 3, 6]]


def test_a_ring_needs_places() -> None:
    with pytest.raises(ValueError, match="places=0"):
        ConsistentHash(places=0)


@pytest.mark.shows("RB-04")
def test_one_whom_the_broker_does_not_list_gets_nothing() -> None:
    assert share_of(Averagely(), "somebody", EIGHT, THREE) == []
    assert share_of(Averagely(), THREE[0], [], THREE) == []


some_queues = st.lists(
    st.builds(Queue, st.just("T"), st.sampled_from(["r1-a", "r1-b", "r2-a", "r3-a"]), st.integers(0, 20)),
    max_size=40,
)
some_members = st.lists(st.sampled_from([f"r{room}-{who}" for room in "124" for who in "abcde"]), min_size=1)
whole = st.sampled_from(
    [Averagely(), ByCircle(), ConsistentHash(), MachineRoomNearby(ByCircle(), RoomsByPrefix())]
)


@pytest.mark.shows("RB-03", "RB-08")
@given(whole, some_queues, some_members, st.randoms())
def test_every_queue_has_exactly_one_owner_in_whatever_order_a_member_hears_of_them(
    strategy: Strategy, queues: list[Queue], members: list[str], chance: Random
) -> None:
    owned: list[Queue] = []
    for member in set(members):
        heard, others = list(queues), list(members)
        chance.shuffle(heard)
        chance.shuffle(others)
        owned += share_of(strategy, member, heard, others)
    assert sorted(owned) == sorted(set(queues))


@given(st.sampled_from([Averagely(), ByCircle()]), some_queues, some_members)
def test_shares_differ_by_one_at_most(strategy: Strategy, queues: list[Queue], members: list[str]) -> None:
    sizes = {len(share_of(strategy, each, queues, members)) for each in members}
    assert max(sizes) - min(sizes) <= 1


@given(some_queues, some_members.filter(lambda members: len(set(members)) > 1))
def test_on_the_ring_only_the_queues_of_the_one_who_left_move(
    queues: list[Queue], members: list[str]
) -> None:
    stays, leaves = sorted(set(members))[:2]
    before = share_of(ConsistentHash(), stays, queues, members)
    after = share_of(ConsistentHash(), stays, queues, set(members) - {leaves})
    assert set(before) <= set(after)
