"""A process's line to a cluster: one that cannot start, and one that was there at a fork."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tailfin.client.messages import Message
from tailfin.client.tls import Tls
from tailfin.spark.asking import Cluster as Asked
from tailfin.spark.sink.line import Line
from tailfin.spark.sink.options import SinkOptions
from tailfin.testing import Cluster, cluster, until


@pytest.fixture(autouse=True)
def no_line_is_left() -> Iterator[None]:
    yield
    stop_lines()


def stop_lines() -> None:
    for portal, producer in Line._started.take_all():
        portal.call(producer.stop())
        portal.close()


def options(**given: str) -> SinkOptions:
    return SinkOptions.parse({"topic": "T", **given})


def threads() -> set[str]:
    """Return those of Python and of the engine."""
    return {each.name for each in Path("/proc/self/task").iterdir()}


@pytest.fixture
def nothing_is_left() -> Iterator[None]:
    before = threads()
    yield
    # A thread that was told to end, by others before too, does so in a moment.
    until(lambda: threads() <= before)


@pytest.mark.usefixtures("nothing_is_left")
@pytest.mark.parametrize("broken", [{"tls": "true", "tlsCa": "no/such.pem"}, {"nameServer": "no port"}])
def test_a_line_that_cannot_start_leaves_nothing_behind(broken: dict[str, str]) -> None:
    given = {"nameServer": "127.0.0.1:9", **broken}
    for _ in range(3):
        with pytest.raises(Exception, match=r"no/such.pem|no port"):
            Line(options(**given))


@pytest.mark.usefixtures("nothing_is_left")
def test_planning_that_cannot_start_leaves_nothing_behind() -> None:
    for _ in range(3):
        with pytest.raises(Exception, match=r"no/such.pem"):
            Asked.of({"nameserver": "127.0.0.1:9", "tls": Tls(ca="no/such.pem")})


def test_a_forked_child_has_a_line_of_its_own_and_leaves_its_parents_alone() -> None:
    def send(running: Cluster, body: bytes) -> None:
        line = Line(options(nameServer=running.namesrv))
        line.run(line.producer.send(Message("T", body)))

    with cluster() as running:
        send(running, b"parent")
        child = os.fork()
        if not child:
            send(running, b"child")
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        send(running, b"parent again")
        stop_lines()
