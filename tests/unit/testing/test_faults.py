"""Fault switches: what a client of a real broker meets."""

import time
from pathlib import Path

import pytest

from tailfin.testing import Cluster, cluster, until
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError
from tests.unit.broker.talking import OK
from tests.unit.testing.calling import Calls, talking

SEND = {
    "a": "P",
    "b": "T",
    "c": "TBW102",
    "d": "4",
    "e": "0",
    "f": "0",
    "g": "0",
    "h": "0",
    "i": "",
    "j": "0",
    "k": "false",
    "m": "false",
}
SOON_S = 0.2


def send_in_vain(calls: Calls, running: Cluster, body: bytes = b"x") -> None:
    """Send what nobody answers."""
    work = calls.talker.client.call(
        calls.talker.address, Code.SEND_MESSAGE_V2, fields=SEND, body=body, timeout=SOON_S
    )
    with pytest.raises(RemotingError, match="no answer"):
        running.run(work)


def test_a_dropped_request_is_neither_done_nor_answered() -> None:
    with cluster() as running, talking(running) as calls:
        with running.faults.drop("send") as fault:
            send_in_vain(calls, running, b"lost")
            send_in_vain(calls, running, b"lost too")
            assert calls.ask(Code.GET_BROKER_CONFIG).code == OK, "other requests are answered"
        assert fault.met == 2
        calls.send(b"after it")
        until(lambda: calls.bodies() == [b"after it"])


@pytest.mark.parametrize("known", [False, True], ids=["first message of its topic", "usual one"])
def test_a_dropped_answer_leaves_what_was_done(known: bool) -> None:
    with cluster() as running, talking(running) as calls:
        if known:
            calls.send(b"before")
        with running.faults.drop("send", answers=True):
            send_in_vain(calls, running, b"stored")
        until(lambda: calls.bodies()[-1:] == [b"stored"])


def test_a_fault_for_some_requests_ends_by_itself() -> None:
    with cluster() as running, talking(running) as calls:
        fault = running.faults.drop(Code.SEND_MESSAGE_V2, times=1)
        send_in_vain(calls, running)
        calls.send()
        assert fault.met == 1
        fault.end()


def test_a_slow_request_is_done_later() -> None:
    with cluster() as running, talking(running) as calls:
        fault = running.faults.slow(SOON_S, "send", times=1)
        began = time.monotonic()
        calls.send(b"slow")
        assert time.monotonic() - began >= SOON_S
        assert fault.met == 1
        until(lambda: calls.bodies() == [b"slow"])


def test_healing_ends_all_faults() -> None:
    with cluster() as running, talking(running) as calls:
        running.faults.drop("send")
        running.faults.slow(60, Code.GET_BROKER_CONFIG)
        send_in_vain(calls, running)
        running.faults.heal()
        calls.send()
        assert calls.ask(Code.GET_BROKER_CONFIG).code == OK


def test_a_fault_can_be_of_one_broker_and_of_every_request() -> None:
    with cluster(brokers=2) as running, talking(running) as calls:
        with running.faults.drop(broker="broker-b"):
            calls.send()
        with running.faults.drop(broker="broker-a"), pytest.raises(RemotingError, match="no answer"):
            calls.ask(Code.GET_BROKER_CONFIG, timeout=SOON_S)


def test_the_end_of_a_cluster_waits_for_no_fault() -> None:
    with cluster() as running, talking(running) as calls:
        running.faults.slow(3600, "send")
        send_in_vain(calls, running)


def test_mistakes_are_named() -> None:
    with cluster() as running:
        with pytest.raises(ValueError, match=r"a fault is about send, pull, .* not 'sned'"):
            running.faults.drop("sned")  # type: ignore[arg-type]
        with pytest.raises(ValueError, match="there is no broker 'x', only broker-a"):
            running.faults.drop("send", broker="x")
        with pytest.raises(ValueError, match="times is at least 1"):
            running.faults.drop("send", times=0)
        with pytest.raises(ValueError, match="more than 0"):
            running.faults.slow(0)
        with pytest.raises(ValueError, match="broker-a is alive: kill it first"):
            running.faults.restart()


def test_a_killed_broker_is_gone_and_comes_back_with_everything_it_answered(tmp_path: Path) -> None:
    with cluster(data=tmp_path, brokers=2) as running, talking(running) as calls:
        for number in range(20):
            calls.send(b"%d" % number)
        address = running.broker.address
        running.faults.kill("broker-a")
        assert (tmp_path / "broker-a" / "abort").exists(), "as after a crash"
        with pytest.raises(RemotingError, match="cannot connect"):
            calls.ask(Code.GET_BROKER_CONFIG)
        with pytest.raises(ValueError, match="broker-a is dead already"):
            running.faults.kill()
        assert running.waiting() == 0, "the other broker is asked"
        running.faults.restart()
        assert running.broker.address == address
        until(lambda: calls.bodies() == [b"%d" % number for number in range(20)])
        running.faults.kill()


def test_what_waits_and_faults_survive_a_kill() -> None:
    with cluster() as running, talking(running) as calls:
        calls.send(b"delayed", DELAY="17")
        calls.send(b"timed", TIMER_DELAY_SEC="3600")
        until(lambda: running.waiting() == 2)
        fault = running.faults.drop("send")
        running.faults.kill()
        running.clock.advance(1800)
        running.faults.restart()
        send_in_vain(calls, running)
        fault.end()
        assert calls.bodies() == []
        running.clock.advance(1801)
        until(lambda: sorted(calls.bodies()) == [b"delayed", b"timed"])


def test_without_a_name_server_brokers_go_on_and_are_found_again_after_it() -> None:
    with cluster(brokers=2) as running, talking(running) as calls:
        route = {"topic": "T"}
        calls.send(b"makes the topic")
        running.faults.kill("nameserver")
        with pytest.raises(RemotingError, match="cannot connect"):
            running.run(calls.talker.client.call(running.namesrv, Code.GET_ROUTEINFO_BY_TOPIC, fields=route))
        calls.send(b"all the same")
        running.faults.restart("nameserver")
        work = calls.talker.client.call(running.namesrv, Code.GET_ROUTEINFO_BY_TOPIC, fields=route)
        assert b"broker-a" in running.run(work).body
        with pytest.raises(ValueError, match="the name server is alive"):
            running.faults.restart("nameserver")


def test_a_cluster_ends_without_its_name_server() -> None:
    with cluster() as running:
        running.faults.kill("nameserver")
        running.faults.kill("nameserver")
