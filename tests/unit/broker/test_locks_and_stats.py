import pytest

from tailfin.broker import latency
from tailfin.broker.locks import LOCK_LIVES_S, QueueLocks
from tailfin.broker.stats import Recent, Stats
from tailfin.wire.bodies.common import MessageQueue


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def queue(number: int) -> MessageQueue:
    return MessageQueue(topic="T", broker_name="b", queue_id=number)


@pytest.mark.shows("OR-04")
def test_queue_belongs_to_the_first_who_locks_it() -> None:
    locks = QueueLocks(Clock())
    assert locks.lock("G", "a", [queue(0), queue(1)]) == [queue(0), queue(1)]
    assert locks.lock("G", "b", [queue(1), queue(2)]) == [queue(2)]
    assert locks.lock("H", "b", [queue(1)]) == [queue(1)]


def test_lock_that_is_not_renewed_is_lost() -> None:
    clock = Clock()
    locks = QueueLocks(clock)
    locks.lock("G", "a", [queue(0)])
    clock.now = LOCK_LIVES_S
    assert locks.lock("G", "b", [queue(0)]) == []
    clock.now = LOCK_LIVES_S + 1
    assert not locks.any_held("G")
    assert locks.lock("G", "b", [queue(0)]) == [queue(0)]
    assert locks.lock("G", "a", [queue(0)]) == []


def test_only_the_owner_unlocks() -> None:
    locks = QueueLocks(Clock())
    locks.lock("G", "a", [queue(0)])
    locks.unlock("G", "b", [queue(0)])
    assert locks.any_held("G")
    locks.unlock("G", "a", [queue(0), queue(7)])
    assert not locks.any_held("G")


def test_old_locks_take_no_memory() -> None:
    clock = Clock()
    locks = QueueLocks(clock)
    locks.lock("G", "a", [queue(0)])
    clock.now = 20 * LOCK_LIVES_S
    locks.forget()
    assert locks._groups == {}


def test_rates_come_from_samples() -> None:
    clock = Clock()
    totals = {"TOPIC_PUT_NUMS": {"T": 0}}
    stats = Stats(clock)
    for second in range(10, 100, 10):
        clock.now = float(second)
        totals["TOPIC_PUT_NUMS"]["T"] += 50
        stats.sample(totals)
    found = stats.rates("TOPIC_PUT_NUMS", "T")
    assert found is not None
    assert found.stats_minute is not None
    assert found.stats_minute.tps == pytest.approx(5.0)
    assert found.stats_minute.sum == 300
    assert stats.rates("TOPIC_PUT_NUMS", "U") is None
    assert stats.per_second("TOPIC_PUT_NUMS", "U") == 0.0


def test_counter_seen_first_counts_from_zero() -> None:
    clock = Clock()
    totals: dict[str, dict[str, int]] = {}
    stats = Stats(clock)
    clock.now = 10.0
    totals["TOPIC_PUT_NUMS"] = {"T": 20}
    stats.sample(totals)
    assert stats.per_second("TOPIC_PUT_NUMS", "T") == pytest.approx(2.0)


def test_times_of_puts_are_printed_as_rocketmq_does() -> None:
    counts = [950, 40, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    text = latency.distribution(counts)
    assert text.startswith("[<=0ms]:950 [0~10ms]:40 [10~50ms]:0 [50~100ms]:9 ")
    assert text.endswith(" [5~10s]:0 [10s~]:1")
    shares = [latency.share_within_ms(counts, share, 12_345) for share in (0.5, 0.99, 0.999, 1.0)]
    assert shares == [0, 10, 100, 12_345]
    assert latency.share_within_ms([0] * 13, 0.99, 0) == 0


def test_deleted_topic_and_group_are_forgotten_and_count_from_there_if_made_again() -> None:
    clock = Clock()
    totals = {"TOPIC_PUT_NUMS": {"T": 50, "U": 1}, "GROUP_GET_NUMS": {"T@G": 1, "U@G": 1, "U@H": 1}}
    stats = Stats(clock)
    stats.sample(totals)
    totals["TOPIC_PUT_NUMS"]["T"] = 90
    stats.forget(totals, topic="T")
    stats.forget(totals, group="G")
    for _ in range(2):
        clock.now += 10.0
        stats.sample(totals)
        known = {key for name in totals for key in ("T", "U", "T@G", "U@G", "U@H") if stats.rates(name, key)}
        assert known == {"U", "U@H"}
    totals["TOPIC_PUT_NUMS"]["T"] += 20
    for seconds, rate in ((10.0, 2.0), (10.0, 1.0)):
        clock.now += seconds
        stats.sample(totals)
        assert stats.per_second("TOPIC_PUT_NUMS", "T") == pytest.approx(rate)


def test_three_rates_are_printed_as_rocketmq_does() -> None:
    clock = Clock()
    recent = Recent(clock)
    assert recent.text("put") == "0.0 0.0 0.0"
    for sample in range(61):
        clock.now = sample * 10.0
        recent.add({"put": sample * 20})
    assert recent.text("put") == "2.0 2.0 2.0"
