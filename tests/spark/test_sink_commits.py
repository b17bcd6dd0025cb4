"""Exactly once, step by step: what tasks and drivers do, and die in the middle of."""

from collections import Counter

import pytest

from tailfin._engine import decode_handles, encode_handles
from tailfin.client.errors import ClientError, MessageRefused
from tailfin.config.setting import ConfigError
from tailfin.spark.sink.committing import Committer
from tailfin.spark.sink.decision_log import DecisionLog
from tailfin.spark.sink.decisions import BatchName, Decision, Halves, Kind, Record, decide, identity
from tailfin.spark.sink.ending import Endings
from tailfin.testing import Cluster
from tests.spark.conftest import Broker
from tests.spark.sinking import Driver, visible

ROWS = [f"row {number}" for number in range(200)]
ONCE = Counter(ROWS)


@pytest.fixture
def driver(broker: Broker) -> Driver:
    """The driver of a new query that writes to a new topic."""
    topic = broker.topic()
    return Driver(broker.namesrv, topic, query=f"query of {topic}")


def seen(driver: Driver, least: int = 0) -> Counter[str]:
    return visible(driver.options.nameServer, driver.topic, least)


def test_rows_are_seen_when_their_batch_is_committed_and_not_before(driver: Driver) -> None:
    first, second = driver.write(0, ROWS[:150]), driver.write(0, ROWS[150:])
    assert not seen(driver)
    driver.committer(0, first + second).commit()
    assert seen(driver, 200) == ONCE


def test_a_batch_that_was_committed_is_not_committed_again(driver: Driver) -> None:
    driver.committer(0, driver.write(0, ROWS)).commit()
    driver.committer(0, driver.write(0, ROWS)).commit()
    assert seen(driver, 200) == ONCE
    driver.committer(1, driver.write(1, ["next"])).commit()
    assert seen(driver, 201) == ONCE + Counter(["next"])


def test_a_query_that_is_set_back_commits_nothing_again(driver: Driver) -> None:
    for batch, row in ((0, "a"), (1, "b"), (2, "c"), (0, "a"), (1, "b"), (2, "c")):
        halves = driver.write(batch, [row])
        # In one process, which remembers what it has read.
        Committer(driver.line, BatchName(driver.query, batch), halves, is_new=False).commit()
    assert seen(driver, 3) == Counter("abc")


def test_a_driver_that_dies_after_its_decision_is_finished_by_the_next_one(driver: Driver) -> None:
    driver.committer(0, driver.write(0, ["before"])).commit()
    driver.decide_and_die(1, driver.write(1, ROWS))
    assert seen(driver, 1) == Counter(["before"])
    driver.committer(1, driver.write(1, ROWS)).commit()
    assert seen(driver, 201) == ONCE + Counter(["before"])
    driver.committer(1, driver.write(1, ROWS)).commit()
    assert seen(driver, 201) == ONCE + Counter(["before"])


def test_a_driver_that_dies_while_it_commits_is_finished_by_the_next_one(driver: Driver) -> None:
    decision = driver.decide_and_die(0, driver.write(0, ROWS))
    some = [
        Halves(each.broker, each.topic, encode_handles(decode_handles(each.handles)[::2]))
        for each in decision.halves
    ]
    Endings(driver.line, decision.id).commit(Decision(tuple(some)), is_first=True)
    assert len(seen(driver, 100)) == 100
    driver.committer(0, driver.write(0, ROWS)).commit()
    assert seen(driver, 200) == ONCE


def test_a_driver_that_dies_before_it_says_that_all_is_done_is_finished(driver: Driver) -> None:
    decision = driver.decide_and_die(0, driver.write(0, ROWS))
    Endings(driver.line, decision.id).commit(decision, is_first=True)
    driver.committer(0, driver.write(0, ROWS)).commit()
    assert seen(driver, 200) == ONCE


def test_an_aborted_batch_is_dropped_and_its_replay_committed(driver: Driver) -> None:
    halves = driver.write(0, ROWS)
    driver.committer(0, halves).abort()
    assert not seen(driver)
    driver.committer(0, driver.write(0, ROWS)).commit()
    assert seen(driver, 200) == ONCE


def test_an_abort_after_the_decision_drops_nothing(driver: Driver) -> None:
    halves = driver.write(0, ROWS)
    driver.decide_and_die(0, halves)
    driver.committer(0, halves).abort()
    driver.committer(0, driver.write(0, ROWS)).commit()
    assert seen(driver, 200) == ONCE


def test_a_decision_that_arrives_after_its_abort_is_void(driver: Driver) -> None:
    halves = driver.write(0, ROWS)
    name = BatchName(driver.query, 0)
    driver.committer(0, halves).abort()
    log = DecisionLog(driver.line, driver.query)
    log.history(0)
    log.append(decide(name, Decision(tuple(halves))))
    driver.committer(0, driver.write(0, ROWS)).commit()
    assert seen(driver, 200) == ONCE


def test_of_two_drivers_the_first_to_decide_wins(driver: Driver) -> None:
    other = driver.write(0, ["other"])
    late = driver.committer(0, driver.write(0, ROWS))
    late._log.history(0)
    driver.decide_and_die(0, other)
    # It has looked, and found nothing decided.
    late._decide()
    assert seen(driver, 1) == Counter(["other"])


def test_a_decision_of_many_parts_is_one(driver: Driver) -> None:
    halves = driver.write(0, ROWS)
    log = DecisionLog(driver.line, driver.query)
    log.history(0)
    records = decide(BatchName(driver.query, 0), Decision(tuple(halves)), part_bytes=20)
    assert len(records) > 2
    log.append(records)
    driver.committer(0, driver.write(0, ROWS)).commit()
    assert seen(driver, 200) == ONCE


def test_records_of_other_queries_are_passed_over(driver: Driver) -> None:
    driver.decide_and_die(0, driver.write(0, ROWS))
    others = DecisionLog(driver.line, f"not {driver.query}")
    others.history(0)
    name = BatchName(f"not {driver.query}", 0)
    others.append([Record(name, Kind.DONE, identity([])) for _ in range(100)])
    driver.committer(0, driver.write(0, ROWS)).commit()
    assert seen(driver, 200) == ONCE


def test_a_batch_without_rows_needs_no_decision(driver: Driver) -> None:
    driver.committer(0, []).commit()
    assert DecisionLog(driver.line, driver.query).history(0).decision(0) is None


def test_a_task_that_fails_leaves_nothing_behind(tailfin_cluster: Cluster) -> None:
    driver = Driver(tailfin_cluster.namesrv, "T")
    with pytest.raises(MessageRefused, match="row 200: the message body length is zero"):
        driver.write(0, [*ROWS, ""])
    assert tailfin_cluster.open_transactions() == 0
    assert not seen(driver)


def test_a_missing_decision_topic_is_only_made_for_a_first_batch(driver: Driver) -> None:
    new = Driver(driver.options.nameServer, driver.topic, decisionTopic=f"decisions-of-{driver.topic}")
    halves = new.write(3, ROWS)
    with pytest.raises(ClientError, match="is not there: is its broker down"):
        new.committer(3, halves).commit()
    new.committer(0, halves).commit()
    assert seen(driver, 200) == ONCE


def test_a_decision_topic_of_several_queues_is_refused(driver: Driver) -> None:
    several = Driver(driver.options.nameServer, driver.topic, decisionTopic=driver.topic)
    with pytest.raises(ConfigError, match="has 2 queues, and must have one"):
        several.committer(0, several.write(0, ROWS)).commit()
