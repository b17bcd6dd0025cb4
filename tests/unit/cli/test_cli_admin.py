"""Commands that look after a cluster, against a real one."""

import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tailfin.cli import main, output, words
from tailfin.client.queues import Queue
from tailfin.client.results import SendStatus
from tailfin.testing import Cluster, cluster
from tailfin.wire.bodies.topics import Perm
from tests.unit.admin.scene import Scene, eventually, scene


@pytest.fixture(scope="module")
def running() -> Iterator[Scene]:
    with scene() as found:
        yield found


@pytest.fixture
def tailfin(running: Scene, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that shall succeed; return what it prints."""

    def run(*words: str) -> str:
        code = main([*words, "-n", running.cluster.namesrv])
        printed = capsys.readouterr()
        assert (code, printed.err) == (0, "")
        return printed.out

    return run


@pytest.fixture
def as_json(tailfin: Callable[..., str]) -> Callable[..., Any]:
    def run(*words: str) -> Any:  # noqa: ANN401  # whatever the command prints
        return json.loads(tailfin(*words, "--json"))

    return run


@pytest.fixture
def refused(running: Scene, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """Run a command that shall fail; return what it says."""

    def run(*words: str) -> str:
        assert main([*words, "-n", running.cluster.namesrv]) == 1
        printed = capsys.readouterr()
        assert printed.out == ""
        assert printed.err.startswith("tailfin: ")
        return printed.err

    return run


def test_topics(
    tailfin: Callable[..., str], as_json: Callable[..., Any], refused: Callable[..., str]
) -> None:
    made = tailfin("topic", "create", "orders", "--queues", "2", "--attribute", "message.type=NORMAL")
    assert made == "topic orders is on broker-a, with 2 queues on each\n"
    assert "orders\n" in tailfin("topic", "list")
    assert "orders" in as_json("topic", "list")
    assert "TBW102" in as_json("topic", "list", "--all")
    assert "orders" in as_json("topic", "list", "--cluster", "DefaultCluster")
    shown = tailfin("topic", "show", "orders")
    assert "READ QUEUES  WRITE QUEUES  PERM" in shown
    assert shown.rstrip().splitlines()[-2].split() == ["broker-a", "0", "0", "0", "0", "-"]
    assert as_json("topic", "show", "orders")["status"]["messages"] == 0
    changed = tailfin("topic", "update", "orders", "--queues", "3", "--perm", "r")
    assert changed.splitlines()[1].split() == ["broker-a", "3", "3", "r"]
    assert (
        as_json("topic", "update", "orders", "--perm", "rw", "--broker", "broker-a")["broker-a"]["perm"] == 6
    )
    assert tailfin("topic", "delete", "orders") == "topic orders is deleted on broker-a\n"
    assert "topic 'orders' does not exist" in refused("topic", "show", "orders")
    assert "no broker 'broker-z'" in refused("topic", "create", "orders", "--broker", "broker-z")


def test_groups(
    tailfin: Callable[..., str], as_json: Callable[..., Any], refused: Callable[..., str]
) -> None:
    assert (
        tailfin("group", "create", "billing", "--attempts", "5", "--orderly")
        == "group billing is on broker-a\n"
    )
    lines = tailfin("group", "list").splitlines()
    assert lines[0].split() == ["GROUP", "MEMBERS", "MODEL", "LAG", "READ", "A", "SECOND"]
    assert ["billing", "0", "-", "0", "0.00"] in [line.split() for line in lines]
    tailfin("group", "update", "billing", "--no-consume")
    settings = as_json("group", "show", "billing")["settings"]["broker-a"]
    assert (settings["retry_max_times"], settings["consume_enable"], settings["consume_message_orderly"]) == (
        5,
        False,
        True,
    )
    assert "no member is connected" in tailfin("group", "show", "billing")
    assert as_json("group", "delete", "billing") == {"group": "billing", "brokers": ["broker-a"]}
    assert "group 'billing' is on none" in refused("group", "show", "billing")


def test_the_members_of_a_group_are_shown(running: Scene, tailfin: Callable[..., str]) -> None:
    tailfin("group", "create", "crew")
    running.beat("crew", {"news": "a || b"})
    shown = tailfin("group", "show", "crew")
    assert running.talker.client_id in shown
    assert "a || b" in shown


def test_messages_are_sent_read_found_and_sent_again(
    tailfin: Callable[..., str], as_json: Callable[..., Any], refused: Callable[..., str]
) -> None:
    tailfin("topic", "create", "mail", "--queues", "1")
    sent = as_json(
        "message", "send", "mail", "paid 42", "--tags", "paid", "--keys", "42", "--property", "who=me"
    )
    assert (sent["status"], sent["queue"]["topic"], sent["queue_offset"]) == ("SEND_OK", "mail", 0)
    said = tailfin("message", "send", "mail", "open 43", "--tags", "open", "--queue", "broker-a/0")
    assert said.startswith("SEND_OK ")
    assert said.endswith(" broker-a/0 at 1\n")
    lines = eventually(
        lambda: len(found := tailfin("message", "read", "mail").splitlines()) == 2 and found, "two messages"
    )
    assert lines
    assert lines[0].endswith("tags=paid keys=42 paid 42")
    assert lines[1].endswith("tags=open open 43")
    read = json.loads(tailfin("message", "read", "mail", "--tags", "paid || no", "--json"))
    assert (read["body"], read["properties"]["who"]) == ("paid 42", "me")
    assert tailfin("message", "read", "mail", "--limit", "1").splitlines() == lines[:1]
    assert tailfin("message", "read", "mail", "--from", "last") == ""
    assert tailfin("message", "read", "mail", "--follow", "--from", "first", "--limit", "2").count("\n") == 2
    found = eventually(lambda: tailfin("message", "query", "mail", "42"), "the index")
    assert found.splitlines() == lines[:1]
    shown = tailfin("message", "show", "mail", sent["message_id"])
    assert sent["offset_message_id"] in shown
    assert shown.rstrip().endswith("paid 42")
    assert as_json("message", "show", "mail", "--at", "broker-a/0/1")["body"] == "open 43"
    assert tailfin("message", "resend", "mail", sent["message_id"]) == "sent again to broker-a/0 at 2\n"
    assert "no message" in refused("message", "show", "mail", "0" * 32)
    assert "belong together" in refused("message", "resend", "mail", sent["message_id"], "--group", "g")
    assert "topic 'nowhere'" in refused("message", "read", "nowhere")


def test_a_body_comes_from_standard_input(
    tailfin: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    tailfin("topic", "create", "bytes", "--queues", "1")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"\xff\x00")))
    tailfin("message", "send", "bytes", "-")
    read = eventually(lambda: tailfin("message", "read", "bytes", "--json"), "the message")
    assert json.loads(read)["body_base64"] == "/wA="


def test_offsets(
    tailfin: Callable[..., str], as_json: Callable[..., Any], refused: Callable[..., str]
) -> None:
    tailfin("topic", "create", "queue", "--queues", "1")
    tailfin("group", "create", "reader")
    for number in range(3):
        tailfin("message", "send", "queue", str(number))
    eventually(lambda: as_json("topic", "show", "queue")["status"]["messages"] == 3, "three messages")
    planned = tailfin("offset", "reset", "reader", "queue", "--to", "last", "--dry-run")
    assert planned.splitlines()[1].split() == ["queue", "broker-a", "0", "-", "3", "0", "3"]
    assert "nothing was changed" in planned
    done = as_json("offset", "reset", "reader", "queue", "--queue", "broker-a/0", "--offset", "1")
    assert (done["done"], done["changes"][0]["after"]) == (True, 1)
    lag = as_json("offset", "lag", "reader")
    assert (lag["lag"], lag["queues"][0]["queue"]["topic"]) == (2, "queue")
    assert (
        tailfin("offset", "lag", "reader", "--topic", "queue", "--owners")
        .splitlines()[-1]
        .startswith("lag 2,")
    )
    tailfin("group", "create", "reader2")
    assert as_json("offset", "clone", "reader", "reader2")["changes"][0]["after"] == 1
    assert as_json("offset", "skip", "reader", "queue")["changes"][0]["after"] == 3
    assert "belong together" in refused("offset", "reset", "reader", "queue", "--offset", "1")
    assert "has offsets 0 to 3, not 9" in refused(
        "offset", "reset", "reader", "queue", "--queue", "broker-a/0", "--offset", "9"
    )


def test_dead_letters(
    running: Scene, tailfin: Callable[..., str], as_json: Callable[..., Any], refused: Callable[..., str]
) -> None:
    tailfin("topic", "create", "letters", "--queues", "1")
    tailfin("group", "create", "postman")
    running.kill_letter("postman", running.send("letters", b"lost"))
    eventually(lambda: as_json("dlq", "list").get("postman") == 1, "the dead letter")
    assert ["postman", "1"] in [line.split() for line in tailfin("dlq", "list").splitlines()]
    letter = as_json("dlq", "list", "postman")
    assert letter["body"] == "lost"
    assert "lost" in tailfin("dlq", "show", "postman", letter["offset_message_id"])
    assert tailfin("dlq", "resend", "postman", letter["offset_message_id"]).startswith(
        "1 dead letters sent again"
    )
    assert as_json("dlq", "resend", "postman", "--all") == {"group": "postman", "sent": 1}
    assert "has no dead letters" in refused("dlq", "show", "nobody", "x")


def test_the_cluster(
    running: Scene, tailfin: Callable[..., str], as_json: Callable[..., Any], refused: Callable[..., str]
) -> None:
    (member,) = as_json("cluster", "list")
    assert (member["name"], member["is_master"], member["trouble"]) == ("broker-a", True, None)
    assert running.cluster.broker.address in tailfin("cluster", "list")
    assert "brokerActive" in tailfin("cluster", "show", "broker-a")
    assert tailfin("cluster", "update", "fileReservedTime=41") == "settings are changed on broker-a\n"
    assert as_json("cluster", "config", "broker-a", "fileReservedTime") == {"fileReservedTime": "41"}
    assert "listenPort" in tailfin("cluster", "config", "--nameservers")
    assert "are off for" in tailfin("cluster", "writes", "broker-a", "off")
    assert "are on for" in tailfin("cluster", "writes", "broker-a", "on")
    assert "no setting nonsense" in refused("cluster", "config", "broker-a", "nonsense")
    assert "whose settings?" in refused("cluster", "config")


def test_a_cluster_that_is_not_there_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["topic", "list", "-n", "127.0.0.1:1"]) == 1
    assert "no name server answers (tried 127.0.0.1:1)" in capsys.readouterr().err
    assert main(["topic", "list", "-n", "nonsense"]) == 1
    assert "an address is host:port" in capsys.readouterr().err


def test_the_environment_names_the_name_server(
    running: Scene, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NAMESRV_ADDR", running.cluster.namesrv)
    assert main(["cluster", "list", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["name"] == "broker-a"


@pytest.mark.parametrize(
    "argv",
    [
        ["topic", "create", "t", "--queues", "0"],
        ["topic", "create", "t", "--perm", "x"],
        ["topic", "create", "t", "--attribute", "novalue"],
        ["offset", "reset", "g", "t"],
        ["offset", "reset", "g", "t", "--to", "yesterday"],
        ["offset", "reset", "g", "t", "--offset", "1", "--queue", "broker-a"],
        ["message", "send", "t", "b", "--delay", "soon"],
        ["message", "read", "t", "--tags", " || "],
        ["message", "read", "t", "--tags", "a", "--sql", "b = 1"],
        ["message", "show", "t", "--at", "broker-a/0"],
        ["dlq", "resend", "g"],
    ],
)
def test_words_that_make_no_sense_are_refused(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 2
    assert "error: " in capsys.readouterr().err


def test_words_are_read() -> None:
    assert (words.seconds("1.5"), words.seconds("500ms"), words.seconds("2m")) == (1.5, 0.5, 120.0)
    assert words.place("first") == "first"
    assert words.place("1700000000000") == 1_700_000_000_000
    ago = words.place("2h")
    assert isinstance(ago, int)
    assert ago < time.time() * 1000 - 7_199_000
    assert words.queue("a/b/3") == ("a/b", 3)
    assert words.perm("rw") == Perm.READ | Perm.WRITE


def test_values_become_json() -> None:
    assert output.plain({"queue": Queue("t", "b", 0), "perm": Perm.READ, "status": SendStatus.SEND_OK}) == {
        "queue": {"topic": "t", "broker": "b", "queue_id": 0},
        "perm": 4,
        "status": "SEND_OK",
    }


def test_an_empty_table_has_its_headers(capsys: pytest.CaptureFixture[str]) -> None:
    output.show_table(("name", "count"), [])
    assert capsys.readouterr().out == "NAME  COUNT\n"
    output.show_table(("name", "count"), [("a", 5), ("long", None)])
    assert capsys.readouterr().out == "NAME  COUNT\na         5\nlong      -\n"


def test_ctrl_c_ends_following_without_a_word() -> None:
    with cluster() as found:
        send_one(found)
        argv = [sys.executable, "-m", "tailfin", "message", "read", "live", "--follow", "--from", "first"]
        follower = subprocess.Popen(
            [*argv, "-n", found.namesrv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
        assert follower.stdout
        assert follower.stdout.readline().endswith("hello\n")
        follower.send_signal(signal.SIGINT)
        _, error = follower.communicate(timeout=25)
        assert (follower.returncode, error) == (128 + signal.SIGINT, "")


def send_one(found: Cluster) -> None:
    assert main(["topic", "create", "live", "-n", found.namesrv]) == 0
    assert main(["message", "send", "live", "hello", "-n", found.namesrv]) == 0
