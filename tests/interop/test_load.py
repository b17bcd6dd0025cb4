"""The load generator against the official nameserver and broker, and against ours: every mode, shortly."""

import json
from collections.abc import Iterator

import pytest

from tailfin.cli import main
from tailfin.load import LoadFailed, topics
from tests.crash.waiting import wait_until
from tests.interop.clients import servers

QUEUES = 4


@pytest.fixture(scope="module", params=["official", "tailfin"])
def served(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, int]]:
    """A nameserver's address, and the process of the broker it knows."""
    make: servers.Make = request.param
    home = tmp_path_factory.mktemp(make)
    with (
        servers.nameserver(make, home / "namesrv") as namesrv,
        servers.broker(make, home / "broker", namesrv.address) as broker,
    ):
        wait_until(lambda: is_known(namesrv.address), "the broker to register")
        topics.create(broker.address, "Load", QUEUES)
        yield namesrv.address, broker.process.pid


def is_known(namesrv: str) -> bool:
    try:
        return bool(topics.find_broker(namesrv, "Load"))
    except LoadFailed:
        return False


def bench(
    capsys: pytest.CaptureFixture[str], verb: str, served: tuple[str, int], *options: str
) -> dict[str, object]:
    namesrv, pid = served
    code = main(["bench", verb, "-n", namesrv, "--topic", "Load", "--pid", str(pid), "--json", *options])
    out, err = capsys.readouterr()
    assert code == 0, err + out
    figures: dict[str, object] = json.loads(out)
    assert figures["refused"] == {}
    assert figures["server_cpu_seconds"]
    return figures


@pytest.mark.parametrize("header", ["json", "binary"])
def test_sends_are_acknowledged_and_can_be_read(
    served: tuple[str, int], header: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--count", "5000", "--in-flight", "8", "--consumable", "--header", header)
    figures = bench(capsys, "send", served, *options)
    assert figures["messages"] == 5000
    assert "consumable_per_second" in figures


def test_batches_are_acknowledged_and_can_be_read(
    served: tuple[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    figures = bench(
        capsys, "send", served, "--batch", "32", "--count", "6400", "--in-flight", "2", "--consumable"
    )
    assert (figures["messages"], figures["requests"]) == (6400, 200)


def test_pulls_give_what_was_sent(served: tuple[str, int], capsys: pytest.CaptureFixture[str]) -> None:
    bench(capsys, "send", served, "--count", "2000", "--in-flight", "8", "--size", "100", "--consumable")
    figures = bench(capsys, "pull", served, "--count", "20000")
    assert isinstance(figures["messages"], int)
    assert figures["messages"] >= 20_000


@pytest.mark.parametrize("header", ["json", "binary"])
def test_every_message_of_an_end_to_end_run_arrives_once(
    served: tuple[str, int], header: str, capsys: pytest.CaptureFixture[str]
) -> None:
    figures = bench(capsys, "e2e", served, "--rate", "500", "--count", "500", "--header", header)
    received = figures["received"]
    assert isinstance(received, dict)
    assert received["messages"] == figures["messages"] == 500
    assert (figures["missing"], figures["duplicates"]) == (0, 0)
    assert received["p50_ms"] > 0


def test_topics_are_made_and_written_to(served: tuple[str, int], capsys: pytest.CaptureFixture[str]) -> None:
    many = ("--topic", "Many", "--topics", "20", "--queues", "2")
    assert bench(capsys, "create", served, *many)["messages"] == 20
    sent = bench(capsys, "send", served, *many, "--count", "400", "--in-flight", "8", "--consumable")
    assert sent["messages"] == 400


def test_a_missing_topic_is_named_and_made_when_asked_for(
    served: tuple[str, int], capsys: pytest.CaptureFixture[str]
) -> None:
    namesrv, _ = served
    argv = ["bench", "send", "-n", namesrv, "--topic", "New", "--count", "10", "--connections", "1"]
    assert main(argv) == 2
    assert "there is no topic New" in capsys.readouterr().err
    assert main([*argv, "--create"]) == 0
    assert main(["bench", "pull", "-n", namesrv, "--topic", "Load", "--queues", "9"]) == 2
    assert f"has {QUEUES} queues" in capsys.readouterr().err
