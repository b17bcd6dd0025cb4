"""What brokers are told."""

from tailfin.client.heartbeats import ShortBeats, fingerprint, heartbeat
from tailfin.wire.bodies.clients import ConsumerData, HeartbeatData, ProducerData, SubscriptionData

YES = {"IS_SUPPORT_HEART_BEAT_V2": "true", "IS_SUB_CHANGE": "false"}


def beat(tags: str = "*", version: int = 1) -> HeartbeatData:
    subscription = SubscriptionData(topic="T", sub_string=tags, sub_version=version)
    consumer = ConsumerData(group_name="G", subscription_data_set=[subscription])
    return heartbeat("me", [ProducerData(group_name="P"), consumer])


def test_groups_are_told_by_kind() -> None:
    assert [each.group_name for each in beat().producer_data_set] == ["P"]
    assert [each.group_name for each in beat().consumer_data_set] == ["G"]


def test_a_fingerprint_changes_with_subscriptions_only() -> None:
    assert fingerprint(beat()) == fingerprint(beat(version=2)) != 0
    assert fingerprint(beat()) != fingerprint(beat("a"))


def test_subscriptions_are_left_out_once_a_broker_knows_them() -> None:
    beats = ShortBeats()
    first = beats.next("b", beat())
    assert not first.without_sub
    assert first.consumer_data_set[0].subscription_data_set
    beats.answered("b", first, YES)
    second = beats.next("b", beat())
    assert second.without_sub
    assert second.consumer_data_set[0].subscription_data_set == []
    assert second.heartbeat_fingerprint == first.heartbeat_fingerprint
    assert not beats.next("other", beat()).without_sub


def test_changed_subscriptions_are_told() -> None:
    beats = ShortBeats()
    beats.answered("b", beats.next("b", beat()), YES)
    assert not beats.next("b", beat("a")).without_sub


def test_a_broker_that_asks_for_them_gets_them() -> None:
    beats = ShortBeats()
    beats.answered("b", beats.next("b", beat()), YES)
    beats.answered("b", beats.next("b", beat()), YES | {"IS_SUB_CHANGE": "true"})
    assert not beats.next("b", beat()).without_sub


def test_an_old_broker_gets_them_always() -> None:
    beats = ShortBeats()
    beats.answered("b", beats.next("b", beat()), {})
    assert not beats.next("b", beat()).without_sub


def test_a_lost_connection_makes_them_travel_again() -> None:
    beats = ShortBeats()
    beats.answered("b", beats.next("b", beat()), YES)
    beats.forget("b")
    assert not beats.next("b", beat()).without_sub
