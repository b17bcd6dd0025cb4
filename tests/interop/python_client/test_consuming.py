"""How the client consumes, with either server, in either style."""

from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import pytest

import tailfin
from tests.crash.waiting import wait_equal, wait_until
from tests.interop.clients.scenario_checks import assert_in_order, assert_same
from tests.interop.python_client import scenes
from tests.interop.python_client.conftest import MakeTopic
from tests.interop.python_client.scenes import Ledger, fresh, sent
from tests.interop.python_client.styles import Style


def fill(style: Style, topic: str, count: int, begin: int = 0) -> list[tailfin.Message]:
    """Send numbered messages evenly to all queues."""
    messages = [scenes.message(topic, begin + number) for number in range(count)]
    with style.producer(fresh("producers")) as producer:
        queues = sorted(producer.queues(topic))
        for number, message in enumerate(messages):
            producer.send(message, queue=queues[number % len(queues)])
    return messages


def polled(consumer: tailfin.LitePullConsumer, count: int) -> list[tailfin.ReceivedMessage]:
    """Poll until there are so many."""
    found: list[tailfin.ReceivedMessage] = []

    def enough() -> bool:
        found.extend(consumer.poll(1.0))
        return len(found) >= count

    wait_until(enough, f"{count} messages", scenes.PATIENCE_S)
    return found


def test_tags_and_sql_choose_messages(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("filtered")
    tagged, chosen = Ledger(), Ledger()
    sql = tailfin.Sql("color IN ('red-3', 'red-4') OR TAGS = 'C'")
    with (
        style.push(fresh("group"), tagged, subscribe={topic: "A || C"}, consume_from="first"),
        style.push(fresh("group"), chosen, subscribe={topic: sql}, consume_from="first"),
    ):
        messages = fill(style, topic, 9)
        wanted = [sent(each) for each in messages if each.flag % 3 != 1]
        assert_same(tagged.wait(len(wanted)), wanted)
        wanted = [sent(each) for each in messages if each.flag in (3, 4) or each.flag % 3 == 2]
        assert_same(chosen.wait(len(wanted)), wanted)


def test_order_is_kept_over_a_failure(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("orderly", 3)
    failed: list[str] = []

    def fail_once(message: tailfin.ReceivedMessage) -> object:
        if message.flag % 10 == 5 and message.message_id not in failed:
            failed.append(message.message_id)
            return tailfin.RETRY
        return None

    ledger = Ledger(fail_once)
    messages = fill(style, topic, 60)
    with style.push(
        fresh("group"), ledger, subscribe={topic: "*"}, consume_from="first", orderly=True, suspend=0.05
    ):
        ledger.wait(66)
    in_the_end = list({each["keys"]: each for each in reversed(ledger.seen)}.values())[::-1]
    assert_same(in_the_end, map(sent, messages))
    assert_in_order(in_the_end)
    assert len(ledger.messages) == 66


def test_every_member_of_a_broadcast_gets_everything(
    style: Style, make_topic: MakeTopic, tmp_path: Path
) -> None:
    topic, group = make_topic("broadcast"), fresh("group")
    ledgers = [Ledger(), Ledger()]
    first, second = (
        style.push(
            group,
            ledger,
            subscribe={topic: "*"},
            broadcast=True,
            consume_from="first",
            instance=f"member-{number}",
            offsets_folder=tmp_path,
        )
        for number, ledger in enumerate(ledgers)
    )
    with first, second:
        messages = fill(style, topic, 10)
        for ledger in ledgers:
            assert_same(ledger.wait(10), map(sent, messages))


def test_a_message_that_fails_comes_again_and_becomes_a_dead_letter(
    style: Style, make_topic: MakeTopic
) -> None:
    topic, group = make_topic("failing", 1), fresh("group")

    def fail(message: tailfin.ReceivedMessage) -> object:
        if message.flag == 1:
            raise ValueError("not this one")
        return None

    ledger = Ledger(fail)
    with style.push(group, ledger, subscribe={topic: "*"}, consume_from="first", max_reconsume_times=2):
        messages = fill(style, topic, 3)
        letters = scenes.read(style, f"%DLQ%{group}", 1)
        tries = [each for each in ledger.messages if each.flag == 1]
    assert [each.reconsume_times for each in tries] == [0, 1, 2]
    assert {each.topic for each in tries} == {topic}
    assert len(ledger.messages) == 5
    assert_same(map(scenes.seen, letters), [sent(messages[1])])


@pytest.mark.parametrize("begin", ["first", "last", "time"])
def test_a_new_group_begins_where_it_was_told(style: Style, make_topic: MakeTopic, begin: str) -> None:
    topic = make_topic(f"from-{begin}", 1)
    old = fill(style, topic, 3)
    (stored,) = {each.store_timestamp for each in scenes.read(style, topic, 3) if each.flag == 2}
    wait_until(lambda: datetime.now(UTC).timestamp() * 1000 > stored + 1, "a later moment")
    moment = datetime.now(UTC)
    wait_until(lambda: datetime.now(UTC).timestamp() > moment.timestamp() + 0.001, "a later moment")
    new = [] if begin == "last" else fill(style, topic, 3, begin=3)
    ledger = Ledger()
    where = {"first": "first", "last": "last", "time": moment}[begin]
    with style.push(fresh("group"), ledger, subscribe={topic: "*"}, consume_from=where):
        latest = fill(style, topic, 3, begin=6)
        wanted = [*(old if begin == "first" else []), *new, *latest]
        assert_same(ledger.wait(len(wanted)), map(sent, wanted))


def test_nothing_is_read_again_after_a_clean_stop(style: Style, make_topic: MakeTopic) -> None:
    topic, group = make_topic("stopped", 4), fresh("group")
    both = Ledger()
    messages = fill(style, topic, 200)
    with style.push(group, both, subscribe={topic: "*"}, consume_from="first"):
        both.wait(50)
    with style.push(group, both, subscribe={topic: "*"}):
        messages += fill(style, topic, 20, begin=200)
        assert_same(both.wait(220), map(sent, messages))


def test_a_broker_that_forgot_an_offset_is_told_again(style: Style, make_topic: MakeTopic) -> None:
    topic, group = make_topic("forgotten", 1), fresh("group")
    ledger = Ledger()
    fill(style, topic, 10)
    with (
        style.push(group, ledger, subscribe={topic: "*"}, consume_from="first"),
        style.pull(group) as operator,
    ):
        (queue,) = operator.queues(topic)
        wait_equal(lambda: operator.committed(queue), 10, "the group's offset")
        # As after a kill of a broker that had not yet written the last offsets into its file.
        operator.commit(queue, 3)
        wait_equal(lambda: operator.committed(queue), 10, "the group's offset, told once more")
    assert len(ledger.messages) == 10


def test_polls_commits_and_goes_on(style: Style, make_topic: MakeTopic) -> None:
    topic, group = make_topic("polled"), fresh("group")
    messages = fill(style, topic, 20)
    with style.lite(group, subscribe={topic: "*"}, consume_from="first", auto_commit=False) as consumer:
        assert_same(map(scenes.seen, polled(consumer, 20)), map(sent, messages))
        consumer.commit()
        assert {consumer.committed(queue) for queue in consumer.queues} == {10}
        queue = min(consumer.queues)
        consumer.seek(queue, 4)
        again = polled(consumer, 6)
        assert [(each.queue, each.queue_offset) for each in again] == [(queue, n) for n in range(4, 10)]
    with style.lite(group, subscribe={topic: "*"}) as consumer:
        more = fill(style, topic, 4, begin=20)
        assert_same(map(scenes.seen, islice(consumer, 4)), map(sent, more))


def test_assigned_queues_are_read_from_anywhere(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("assigned")
    fill(style, topic, 20)
    first, second = tailfin.Queue(topic, "broker-a", 0), tailfin.Queue(topic, "broker-a", 1)
    with style.lite(fresh("group"), consume_from="first") as consumer:
        assert consumer.available_queues(topic) == {first, second}
        consumer.assign([second])
        consumer.seek_to_begin(second)
        got = polled(consumer, 10)
        assert [(each.queue, each.queue_offset) for each in got] == [(second, n) for n in range(10)]


def test_pulls_tell_what_they_found(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("pulled", 1)
    messages = fill(style, topic, 10)
    assert len(scenes.read(style, topic, 10)) == 10
    with style.pull(fresh("group")) as consumer:
        (queue,) = consumer.queues(topic)
        assert (consumer.first_offset(queue), consumer.end_offset(queue)) == (0, 10)
        found = consumer.pull(queue, 2, limit=3)
        assert found.status is tailfin.PullStatus.FOUND
        assert ([each.flag for each in found.messages], found.next_offset) == ([2, 3, 4], 5)
        filtered = consumer.pull(queue, 0, limit=10, expression=tailfin.Sql("TAGS = 'B'"))
        assert_same(
            map(scenes.seen, filtered.messages), [sent(each) for each in messages if each.flag % 3 == 1]
        )
        assert consumer.pull(queue, 10).status is not tailfin.PullStatus.FOUND
        assert consumer.committed(queue) is None
        consumer.commit(queue, 7)
        wait_until(lambda: consumer.committed(queue) == 7, "the commit")
