"""Every program in examples/, run on a cluster of its own."""

import asyncio
import importlib.util
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tailfin.testing import cluster, until
from tests.unit.examples.running import fast_cluster
from tests.unit.testing.users import users_pytest

FOLDER = Path(__file__).parents[3] / "examples"

Run = Callable[..., None]


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{Path(name).stem}", FOLDER / name)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run an example; among what it prints are these texts."""

    def run(name: str, *says: str) -> None:
        with fast_cluster() as running:
            loaded(name).main(running.namesrv)
        printed = capsys.readouterr().out
        assert [text for text in says if text not in printed] == [], printed

    return run


def test_every_example_is_run_and_listed() -> None:
    names = sorted(path.name for path in FOLDER.glob("*.py"))
    tests, listed = Path(__file__).read_text(), (FOLDER / "README.md").read_text()
    assert [name for name in names if f'"{name}"' not in tests or f"({name})" not in listed] == []


@pytest.mark.shows("U-05")
def test_producer(run: Run) -> None:
    run("producer.py", "stored: SEND_OK in", "stored: 99")


def test_producer_asyncio(run: Run) -> None:
    run("producer_asyncio.py", "stored: SEND_OK in", "stored: 99")


@pytest.mark.shows("U-06")
def test_push_consumer(run: Run) -> None:
    run("push_consumer.py", *(f"TopicTest TagA Hello {number} at" for number in range(10)))


@pytest.mark.shows("U-07", "U-09", "U-10", "X-20")
def test_retry(run: Run) -> None:
    run(
        "retry.py",
        "good - try 1",
        "returns - try 2",
        "raises - try 2",
        "hopeless - try 2",
        "dead letter: hopeless",
    )


@pytest.mark.shows("U-27")
def test_orderly(run: Run) -> None:
    run("orderly.py", *(f"order {number} was created, paid, shipped" for number in range(5)))


@pytest.mark.shows("U-19")
def test_broadcast(run: Run) -> None:
    run("broadcast.py", *(f"{who} got news {number}" for who in ("one", "other") for number in range(3)))


@pytest.mark.shows("U-26")
def test_delay(run: Run) -> None:
    run("delay.py", "arrived: by level", "arrived: by time", "arrived: at a moment", "recalled:")


def test_batch(run: Run) -> None:
    run("batch.py", "600 messages stored in", "refused:")


def test_filter_by_tag(run: Run) -> None:
    run("filter_by_tag.py", "paid: order 1 is paid\nshipped: order 1 is shipped\n")


def test_filter_by_sql(run: Run) -> None:
    run("filter_by_sql.py", "got: 500 EU")


def test_transaction(run: Run) -> None:
    run(
        "transaction.py",
        "order 2 is not paid: the database is away",
        "got: order 1 is paid",
        "got: order 3 is paid",
    )


def test_request_reply(run: Run) -> None:
    run("request_reply.py", "answer: a fish costs 42")


def test_lite_pull(run: Run) -> None:
    run("lite_pull.py", "polled: ['0', '1', '2', '3', '4', '5', '6', '7']", "first of")


def test_pull(run: Run) -> None:
    run("pull.py", "pulled: ['0', '1', '2', '3', '4', '5', '6', '7']")


@pytest.mark.shows("U-11", "U-12", "X-20")
def test_idempotent(run: Run) -> None:
    run("idempotent.py", "ORDERID_100: charge 42 EUR", "ORDERID_101: charge 7 EUR", "charged twice: False")


@pytest.mark.shows("U-21")
def test_hooks(run: Run) -> None:
    run("hooks.py", "- or failed: None", "tenant: acme", "consumed: 1 - success: True")


def test_trace(run: Run) -> None:
    run("trace.py", "traced: Pub, SubAfter, SubBefore")


def test_namespace(run: Run) -> None:
    run("namespace.py", "NsTest: for staging")


@pytest.mark.shows("U-14", "U-28")
def test_admin(run: Run) -> None:
    run(
        "admin.py",
        "by key: hello",
        "by id: hello",
        "by offset: hello",
        "messages: 1",
        "not consumed: 0",
        "broker: broker-a is a master",
        "still there: False",
    )


def test_the_log_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    loaded("first_log.py").main(str(tmp_path / "data"))
    assert "Once, there was a chance for me!" in capsys.readouterr().out


@pytest.mark.timeout(120)
def test_the_tests_of_a_handler_pass(tmp_path: Path) -> None:
    shutil.copy(FOLDER / "test_my_handler.py", tmp_path)
    done = users_pytest(tmp_path, "tailfin.testing.plugin")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_web_application_lives_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    with cluster() as running:
        monkeypatch.setitem(os.environ, "NAMESRV_ADDR", running.namesrv)
        web = loaded("fastapi_app.py")
        answered = asyncio.run(_served(web))
    assert [each["type"] for each in answered] == [
        "lifespan.startup.complete",
        "http.response.start",
        "http.response.body",
        "lifespan.shutdown.complete",
    ]
    assert web.shipped == ["order 42"]


async def _served(web: ModuleType) -> list[dict[str, Any]]:
    """Play the part of a web server: start, one request, stop."""
    answered: list[dict[str, Any]] = []
    events: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    state: dict[str, Any] = {}

    async def send(event: dict[str, Any]) -> None:
        answered.append(event)

    life = asyncio.create_task(web.app({"type": "lifespan", "state": state}, events.get, send))
    await events.put({"type": "lifespan.startup"})
    await asyncio.to_thread(until, lambda: answered)
    request = {"type": "http", "method": "POST", "path": "/orders/42", "query_string": b"", "headers": []}
    await web.app({**request, "state": state}, events.get, send)
    await asyncio.to_thread(until, lambda: web.shipped)
    await events.put({"type": "lifespan.shutdown"})
    await life
    return answered
