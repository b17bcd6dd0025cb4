import time
from pathlib import Path

import pytest

from tailfin._engine import java_hash
from tailfin.wire import frame
from tailfin.wire.frame import Frame
from tests.unit.hot.node import (
    COMMIT,
    GROUP,
    PULL,
    SUSPEND,
    TOPIC,
    Client,
    Node,
    pull_fields,
    running,
    until,
)
from tests.unit.hot.test_pull import bodies, place

HELD_OF_ONE = 1 << 13
"""How many pulls of one connection are held."""


def hold(node: Node, client: Client, **changes: object) -> int:
    """Send a pull that finds nothing, and wait until it is held."""
    held = node.hot.held_pulls()
    number = client.post(PULL, pull_fields(sysFlag=SUSPEND, **changes))
    until(lambda: node.hot.held_pulls() == held + 1)
    return number


@pytest.mark.shows("PL-17", "PL-21")
def test_a_held_pull_is_answered_by_the_message_that_arrives(node: Node, client: Client) -> None:
    number = hold(node, client)
    with node.client() as producer:
        producer.send(b"news")
    reply = client.reply(number)
    assert (place(reply), bodies(reply)) == ((0, "FOUND", 1), [b"news"])
    assert node.hot.held_pulls() == 0
    assert node.hot.pulled_offset(GROUP, TOPIC, 0) == 1


@pytest.mark.shows("PL-18")
def test_a_message_for_another_queue_wakes_nobody(node: Node, client: Client) -> None:
    number = hold(node, client)
    node.fill(3, queue_id=1)
    assert node.hot.held_pulls() == 1
    node.fill(1)
    assert bodies(client.reply(number)) == [b"0"]


@pytest.mark.shows("PL-20")
def test_only_a_message_that_passes_the_filter_wakes(node: Node, client: Client) -> None:
    node.subscribe(tag_codes=[java_hash("Wanted")])
    number = hold(node, client)
    node.fill(3, tags="Other")
    node.fill(1)
    assert node.hot.held_pulls() == 1
    node.fill(1, tags="Wanted")
    reply = client.reply(number)
    assert (place(reply), len(bodies(reply))) == ((0, "FOUND", 5), 1)


def test_a_held_pull_is_answered_when_its_time_is_up(node: Node, client: Client) -> None:
    node.fill(2)
    began = time.monotonic()
    number = hold(node, client, queueOffset=2, suspendTimeoutMillis=200)
    assert place(client.reply(number)) == (19, "OFFSET_OVERFLOW_ONE", 2)
    assert time.monotonic() - began >= 0.2
    assert node.hot.held_pulls() == 0


@pytest.mark.shows("PL-19")
def test_without_long_polling_the_hold_is_short(tmp_path: Path) -> None:
    with (
        running(tmp_path, longPollingEnable=False, shortPollingTimeMills=50) as node,
        node.client() as client,
    ):
        assert client.pull(sysFlag=SUSPEND, suspendTimeoutMillis=3_600_000).code == 19


def test_times_up_come_in_their_own_order(node: Node, client: Client) -> None:
    late = hold(node, client, suspendTimeoutMillis=600)
    soon = hold(node, client, suspendTimeoutMillis=50)
    assert client.reply(soon).code == 19
    assert node.hot.held_pulls() == 1
    assert client.reply(late).code == 19


def test_a_pull_that_may_not_wait_is_answered_at_once(node: Node, client: Client) -> None:
    assert client.pull().code == 19
    assert client.pull(sysFlag=SUSPEND, suspendTimeoutMillis=0).code == 19
    assert client.pull(sysFlag=SUSPEND, suspendTimeoutMillis=-5).code == 19


def test_a_wrong_offset_is_never_held(node: Node, client: Client) -> None:
    assert client.pull(sysFlag=SUSPEND, queueOffset=9).code == 21


def test_a_held_pull_of_a_client_that_left_is_let_go(node: Node) -> None:
    with node.client() as leaving:
        hold(node, leaving)
    until(lambda: node.hot.held_pulls() == 0)
    node.fill(1)


@pytest.mark.shows("PL-18")
def test_everyone_who_waits_on_a_queue_is_answered(node: Node) -> None:
    clients = [node.client() for _ in range(20)]
    numbers = [hold(node, client) for client in clients]
    node.fill(1)
    for client, number in zip(clients, numbers, strict=True):
        assert bodies(client.reply(number)) == [b"0"]
        client.close()


def test_a_held_pull_commits_once_and_when_it_came(node: Node, client: Client) -> None:
    node.fill(3)
    number = client.post(PULL, pull_fields(sysFlag=SUSPEND | COMMIT, queueOffset=3, commitOffset=2))
    until(lambda: node.hot.held_pulls() == 1)
    assert node.hot.committed_offset(GROUP, TOPIC, 0) == 2
    node.hot.commit_offset(GROUP, TOPIC, 0, 3)
    node.fill(1)
    assert client.reply(number).code == 0
    assert node.hot.committed_offset(GROUP, TOPIC, 0) == 3


def test_python_can_wake_who_waits(node: Node, client: Client) -> None:
    number = hold(node, client)
    node.hot.wake_pulls(TOPIC, 1)
    assert node.hot.held_pulls() == 1
    node.hot.wake_pulls(TOPIC, 0)
    assert client.reply(number).code == 19


def test_a_reset_reaches_a_held_pull_at_once(node: Node, client: Client) -> None:
    node.fill(3)
    number = hold(node, client, queueOffset=3)
    node.hot.reset_offset(GROUP, TOPIC, 0, 1)
    assert place(client.reply(number)) == (21, "OFFSET_RESET", 1)


def test_a_stop_answers_who_waits(node: Node, client: Client) -> None:
    number = hold(node, client, suspendTimeoutMillis=600_000)
    node.server.stop(5)
    assert client.reply(number).code == 19


def test_no_arrival_is_missed_while_pulls_and_sends_race(node: Node) -> None:
    with node.client() as consumer, node.client() as producer:
        for offset in range(300):
            number = consumer.post(PULL, pull_fields(sysFlag=SUSPEND, queueOffset=offset))
            producer.send(b"%d" % offset)
            assert bodies(consumer.reply(number)) == [b"%d" % offset]


def test_a_connection_that_holds_thousands_is_answered_at_once_and_others_are_held(
    node: Node, client: Client
) -> None:
    fields = {key: str(value) for key, value in pull_fields(sysFlag=SUSPEND).items()}
    flood = (Frame(code=PULL, opaque=number, fields=fields) for number in range(HELD_OF_ONE + 10))
    client.socket.sendall(b"".join(frame.encode(each, frame.JSON) for each in flood))
    at_once = [client.reply(number) for number in range(HELD_OF_ONE, HELD_OF_ONE + 10)]
    assert {reply.code for reply in at_once} == {19}
    assert node.hot.held_pulls() == HELD_OF_ONE
    with node.client() as other:
        number = hold(node, other)
        node.fill(1)
        assert bodies(other.reply(number)) == [b"0"]
    assert {client.reply(number).code for number in range(HELD_OF_ONE)} == {0}
    hold(node, client, queueOffset=1)
