"""What the client sends and receives by itself, with either server, in either style."""

import time

import pytest

import tailfin
from tests.interop.clients.clusters import Cluster
from tests.interop.clients.scenario_checks import assert_same, offsets_by_queue
from tests.interop.python_client import scenes
from tests.interop.python_client.conftest import MakeTopic
from tests.interop.python_client.scenes import Ledger, fresh, sent
from tests.interop.python_client.styles import Style

LARGE = b"a body that compresses well; " * 500


def test_everything_about_a_message_arrives(style: Style, cluster: Cluster, make_topic: MakeTopic) -> None:
    topic = make_topic("attributes")
    began = round(time.time() * 1000)
    message = tailfin.Message(
        topic, b"paid 42", tags="paid", keys=["42", "c-7"], properties={"color": "red", "a": ""}, flag=9
    )
    ledger = Ledger()
    with (
        style.push(fresh("group"), ledger, subscribe={topic: "*"}, consume_from="first"),
        style.producer(fresh("producers")) as producer,
    ):
        result = producer.send(message)
        ledger.wait(1)
    ended = round(time.time() * 1000)
    (received,) = ledger.messages
    assert result.status is tailfin.SendStatus.SEND_OK
    assert (received.topic, received.body, received.flag) == (topic, b"paid 42", 9)
    assert (received.tags, received.keys) == ("paid", ["42", "c-7"])
    assert received.property("color") == "red"
    assert received.message_id == result.message_id
    assert received.offset_message_id == result.offset_message_id
    assert received.queue == result.queue
    assert (received.broker, received.queue_offset) == ("broker-a", result.queue_offset)
    assert began <= received.born_timestamp <= received.store_timestamp + 1 <= ended + 1
    assert received.born_host.startswith("127.0.0.1:")
    assert received.store_host == cluster.brokers["broker-a"]
    assert (received.reconsume_times, received.transaction_id) == (0, None)


def test_oneway_sends_arrive(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("oneway")
    messages = scenes.messages(topic, 20)
    with style.producer(fresh("producers")) as producer:
        for message in messages:
            producer.send_oneway(message)
        assert_same(map(scenes.seen, scenes.read(style, topic, 20)), map(sent, messages))


def test_sends_that_travel_together_each_have_their_place(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("soon")
    messages = scenes.messages(topic, 500)
    with style.producer(fresh("producers")) as producer:
        results = style.send_soon(producer, messages)
    received = {each.message_id: each for each in scenes.read(style, topic, 500)}
    assert_same(map(scenes.seen, received.values()), map(sent, messages))
    for message, result in zip(messages, results, strict=True):
        found = received[result.message_id]
        assert (found.flag, found.queue, found.queue_offset) == (
            message.flag,
            result.queue,
            result.queue_offset,
        )


def test_a_batch_is_split_and_each_message_has_its_place(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("batch")
    body = bytes(range(256)) * 128
    messages = scenes.messages(topic, 100, body=body)
    with style.producer(fresh("producers"), max_message_size=1 << 20) as producer:
        results = producer.send_batch(messages)
    received = {each.message_id: each for each in scenes.read(style, topic, 100)}
    assert_same(map(scenes.seen, received.values()), map(sent, messages))
    places = [(received[each.message_id].queue, received[each.message_id].queue_offset) for each in results]
    assert places == [(each.queue, each.queue_offset) for each in results]


def test_a_queue_can_be_chosen(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("queues", 4)
    with style.producer(fresh("producers")) as producer:
        queues = sorted(producer.queues(topic))
        assert [queue.queue_id for queue in queues] == [0, 1, 2, 3]
        assert producer.send(scenes.message(topic, 0), queue=queues[2]).queue == queues[2]
        assert (
            producer.send(scenes.message(topic, 1), select=lambda all_queues, _: max(all_queues)).queue
            == queues[3]
        )
        style.send_soon(producer, [scenes.message(topic, 2)], queue=queues[2])
    read = scenes.read(style, topic, 3)
    assert offsets_by_queue(map(scenes.seen, read)) == {("broker-a", 2): [0, 1], ("broker-a", 3): [0]}


def test_messages_of_one_key_stay_in_one_queue(style: Style, make_topic: MakeTopic) -> None:
    topic = make_topic("sharded", 4)
    with style.producer(fresh("producers")) as producer:
        for number in range(40):
            producer.send(scenes.message(topic, number), sharding_key=f"customer-{number % 10}")
    read = scenes.read(style, topic, 40)
    queues = [{each.queue for each in read if each.flag % 10 == customer} for customer in range(10)]
    assert [len(each) for each in queues] == [1] * 10
    assert len(set.union(*queues)) > 1


@pytest.mark.parametrize("method", ["zlib", "lz4", "zstd"])
def test_large_bodies_travel_compressed(style: Style, make_topic: MakeTopic, method: str) -> None:
    topic = make_topic(f"compressed-{method}")
    messages = [*scenes.messages(topic, 3, body=LARGE), scenes.message(topic, 3)]
    with style.producer(fresh("producers"), compression=method) as producer:
        for message in messages[:2]:
            producer.send(message)
        style.send_soon(producer, messages[2:])
    read = scenes.read(style, topic, 4)
    assert_same(map(scenes.seen, read), map(sent, messages))
    assert sorted(each.sys_flag & 1 for each in read) == [0, 1, 1, 1]


def test_a_missing_topic_is_made_or_refused_in_plain_words(style: Style) -> None:
    topic = fresh("made-by-sending")
    with style.producer(fresh("producers")) as producer:
        producer.send(scenes.message(topic, 0))
        assert len(scenes.read(style, topic, 1)) == 1
    with style.pull(fresh("group")) as consumer, pytest.raises(tailfin.NoRoute, match="knows no such topic"):
        consumer.queues("python-nowhere")
