from pathlib import Path

import pytest

from tailfin._engine import Message, SqlFilter, java_hash
from tailfin.wire import frame
from tailfin.wire.frame import Frame
from tests.unit.hot.node import (
    COMMIT,
    GROUP,
    LITE_PULL,
    OWN_FILTER,
    PULL,
    QUEUES,
    TOPIC,
    Client,
    Node,
    pull_fields,
    running,
)


def bodies(reply: Frame) -> list[bytes]:
    """Bodies of the records that a pull was answered with."""
    found, rest = [], reply.body
    while rest:
        size = int.from_bytes(rest[:4], "big")
        found.append(Message.decode(rest[:size]).body)
        rest = rest[size:]
    return found


def place(reply: Frame) -> tuple[int, str | None, int]:
    return reply.code, reply.remark, int(reply.fields["nextBeginOffset"])


@pytest.mark.parametrize("kind", [frame.JSON, frame.BINARY], ids=["json", "binary"])
@pytest.mark.shows("RP-05", "PL-09", "PL-10")
def test_messages_come_as_they_are_stored(node: Node, client: Client, kind: int) -> None:
    node.tell_topic(sys_flag=3)
    node.tell_group(sys_flag=5)
    node.fill(5)
    reply = client.ask(PULL, pull_fields(queueOffset=1, maxMsgNums=3), kind=kind)
    assert place(reply) == (0, "FOUND", 4)
    assert bodies(reply) == [b"1", b"2", b"3"]
    assert reply.body == b"".join(message.raw for message in node.store.read(TOPIC, 0, 1, limit=3))
    assert {key: int(value) for key, value in reply.fields.items()} == {
        "suggestWhichBrokerId": 0,
        "nextBeginOffset": 4,
        "minOffset": 0,
        "maxOffset": 5,
        "topicSysFlag": 3,
        "groupSysFlag": 5,
    }


def test_large_and_small_messages_come_in_order(node: Node, client: Client) -> None:
    sent = [b"x" * size for size in (10, 5000, 1, 70_000, 1024, 900, 3000)]
    for body in sent:
        client.send(body)
    assert node.store.max_offset(TOPIC, 0) == len(sent)
    assert bodies(client.pull()) == sent


@pytest.mark.shows("PL-07", "PL-12", "PL-13")
def test_an_offset_outside_the_queue_is_corrected(node: Node, client: Client) -> None:
    node.fill(3)
    assert place(client.pull(queueOffset=3)) == (19, "OFFSET_OVERFLOW_ONE", 3)
    assert place(client.pull(queueOffset=99)) == (21, "OFFSET_OVERFLOW_BADLY", 3)
    assert place(client.pull(queueOffset=-1)) == (21, "OFFSET_TOO_SMALL", 0)
    assert place(client.pull(queueId=1)) == (19, "NO_MESSAGE_IN_QUEUE", 0)
    assert place(client.pull(queueId=1, queueOffset=5)) == (21, "NO_MESSAGE_IN_QUEUE", 0)


def test_what_was_deleted_is_skipped(node: Node, client: Client) -> None:
    while len(node.store.log_files()) < 3:
        node.store.append(TOPIC, b"x" * 100_000)
    last = node.store.max_offset(TOPIC, 0)
    node.store.flush()
    assert node.store.delete_first_log_file()
    node.store.delete_expired_queue_files()
    first = node.store.min_offset(TOPIC, 0)
    assert 0 < first < last
    assert place(client.pull(queueOffset=0)) == (21, "OFFSET_TOO_SMALL", first)


def test_limits_of_a_transfer_hold_whatever_the_client_asks_for(node: Node, client: Client) -> None:
    node.fill(100)
    assert len(bodies(client.pull(maxMsgNums=100))) == 32
    assert len(bodies(client.pull(maxMsgNums=0))) == 1
    one = len(client.pull(maxMsgNums=1).body)
    assert len(bodies(client.pull(maxMsgBytes=3 * one))) == 3
    assert len(bodies(client.pull(maxMsgBytes=1))) == 1, "the first one always comes"


@pytest.mark.shows("PL-11", "FI-02")
def test_tags_of_the_subscription_filter(node: Node, client: Client) -> None:
    for tag in ("A", "B", "A", "C"):
        node.fill(1, tags=tag)
    node.subscribe(tag_codes=[java_hash("A"), java_hash("C")])
    reply = client.pull()
    assert (len(bodies(reply)), place(reply)) == (3, (0, "FOUND", 4))
    node.subscribe(tag_codes=[java_hash("Z")])
    assert place(client.pull()) == (20, "NO_MATCHED_MESSAGE", 4)


@pytest.mark.parametrize(
    ("expression", "count"), [("*", 4), ("", 4), (None, 4), ("A", 2), ("A || B", 3), (" C||Z ", 1)]
)
@pytest.mark.shows("FI-03")
def test_a_pull_may_bring_its_own_tags(
    node: Node, client: Client, expression: str | None, count: int
) -> None:
    for tag in ("A", "B", "A", "C"):
        node.fill(1, tags=tag)
    node.hot.drop_subscription(GROUP, TOPIC)
    assert len(bodies(client.pull(sysFlag=OWN_FILTER, subscription=expression, expressionType=None))) == count


REFUSED: list[tuple[str, dict[str, object], int, str | None]] = [
    ("group off", {"consumerGroup": "off"}, 16, "2"),
    ("topic missing", {"topic": "Missing"}, 17, None),
    ("topic not readable", {"topic": "WriteOnly"}, 16, "3"),
    ("queue beyond the last", {"queueId": QUEUES}, 29, None),
    ("negative queue", {"queueId": -1}, 29, None),
    ("expression without tags", {"sysFlag": OWN_FILTER, "subscription": "||"}, 23, None),
    ("no subscription", {"consumerGroup": "silent"}, 24, None),
    ("broadcast not allowed", {"consumerGroup": "loud"}, 16, "4"),
    ("older subscription here", {"subVersion": 2}, 25, None),
    ("no queue", {"queueId": None}, 1, None),
    ("offset that is no number", {"queueOffset": "x"}, 1, None),
    ("no group", {"consumerGroup": None}, 1, None),
]


@pytest.mark.parametrize(
    ("changes", "code", "forbidden"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_a_pull_that_is_not_allowed_is_told_why(
    node: Node, client: Client, changes: dict[str, object], code: int, forbidden: str | None
) -> None:
    node.tell_topic("WriteOnly", perm=2)
    node.tell_group("off", consume_enable=False)
    node.tell_group("silent")
    node.tell_group("loud", broadcast_enable=False)
    node.subscribe("loud", broadcast=True)
    reply = client.pull(**changes)
    assert reply.code == code
    assert reply.remark
    assert reply.fields.get("forbiddenType") == forbidden
    assert reply.body == b""


def test_checks_come_in_rocketmqs_order(node: Node, client: Client) -> None:
    node.tell_group("off", consume_enable=False)
    wrong = {"consumerGroup": "off", "topic": "Missing", "queueId": 99}
    assert client.pull(**wrong).code == 16
    assert client.pull(**{**wrong, "consumerGroup": GROUP}).code == 17
    assert client.pull(**{**wrong, "consumerGroup": GROUP, "topic": TOPIC}, subVersion=9).code == 29


def test_a_broker_that_may_not_be_read_refuses_all_pulls(tmp_path: Path) -> None:
    with running(tmp_path, brokerPermission=2) as node, node.client() as client:
        reply = client.pull(consumerGroup="unknown")
        assert (reply.code, reply.fields) == (16, {"forbiddenType": "1"})


def test_lite_pulls_can_be_forbidden(tmp_path: Path) -> None:
    with running(tmp_path, litePullMessageEnable=False) as node, node.client() as client:
        node.fill(1)
        reply = client.ask(LITE_PULL, pull_fields())
        assert (reply.code, reply.fields["forbiddenType"]) == (16, "1")
        assert client.pull().code == 0


def test_a_lite_pull_reads_like_any_other(node: Node, client: Client) -> None:
    node.fill(2)
    reply = client.ask(LITE_PULL, pull_fields(sysFlag=OWN_FILTER, subscription="*"))
    assert bodies(reply) == [b"0", b"1"]


LEFT_TO_PYTHON: dict[str, dict[str, object]] = {
    "unknown group": {"consumerGroup": "unknown"},
    "group that Python keeps": {"consumerGroup": "kept"},
    "subscription that only Python can judge": {"consumerGroup": "sql"},
    "own expression by properties, while those are off": {
        "sysFlag": OWN_FILTER,
        "subscription": "a > 1",
        "expressionType": "SQL92",
    },
    "own expression of an unknown kind": {
        "sysFlag": OWN_FILTER,
        "subscription": "a > 1",
        "expressionType": "XPATH",
    },
}


@pytest.mark.parametrize("changes", LEFT_TO_PYTHON.values(), ids=LEFT_TO_PYTHON.keys())
def test_an_unusual_pull_is_left_to_python(node: Node, client: Client, changes: dict[str, object]) -> None:
    node.tell_group("kept", by_python=True)
    node.tell_group("sql")
    node.subscribe("sql", by_python=True)
    number = client.post(PULL, pull_fields(**changes))
    request = node.next_request()
    assert request.code == PULL
    node.server.answer(request, 99)
    assert client.reply(number).code == 99


def test_a_pull_is_served_once_its_group_is_told(node: Node, client: Client) -> None:
    node.fill(1)
    number = client.post(PULL, pull_fields(consumerGroup="fresh"))
    request = node.next_request()
    node.tell_group("fresh")
    node.subscribe("fresh")
    assert node.server.hand_back(request)
    assert bodies(client.reply(number)) == [b"0"]


@pytest.mark.shows("OF-04")
def test_a_pull_commits_when_it_says_so(node: Node, client: Client) -> None:
    node.fill(5)
    client.pull(queueOffset=2, commitOffset=2)
    assert node.hot.committed_offset(GROUP, TOPIC, 0) is None
    assert node.hot.pulled_offset(GROUP, TOPIC, 0) == 5
    client.pull(queueOffset=3, commitOffset=2, sysFlag=COMMIT)
    assert node.hot.committed_offset(GROUP, TOPIC, 0) == 2


def test_a_reset_moves_the_next_pull_and_ignores_what_it_commits(node: Node, client: Client) -> None:
    node.fill(5)
    client.pull(queueOffset=4, commitOffset=4, sysFlag=COMMIT)
    node.hot.reset_offset(GROUP, TOPIC, 0, 1)
    assert node.hot.committed_offset(GROUP, TOPIC, 0) == 1
    reply = client.pull(queueOffset=5, commitOffset=5, sysFlag=COMMIT)
    assert place(reply) == (21, "OFFSET_RESET", 1)
    assert (reply.fields["minOffset"], reply.fields["maxOffset"]) == ("0", "5")
    assert node.hot.committed_offset(GROUP, TOPIC, 0) == 1
    assert place(client.pull(queueOffset=1))[0] == 0


@pytest.mark.shows("PL-08")
def test_a_slave_leaves_an_offset_that_is_wrong_here_to_the_master(tmp_path: Path) -> None:
    with running(tmp_path) as node:
        node.fill(3)
    with (
        running(tmp_path, store={"brokerRole": "SLAVE"}, brokerId=1, slaveReadEnable=True) as node,
        node.client() as client,
    ):
        reply = client.pull(queueOffset=9)
        assert (place(reply)[0], place(reply)[2], reply.fields["suggestWhichBrokerId"]) == (20, 9, "0")
        assert place(client.pull(queueOffset=3))[0] == 19


def test_a_reader_behind_memory_is_sent_to_a_slave(tmp_path: Path) -> None:
    store = {"accessMessageInMemoryMaxRatio": 0}
    with running(tmp_path, store=store, slaveReadEnable=True) as node, node.client() as client:
        node.tell_group(broker_id=7, broker_id_when_slow=3)
        node.fill(20)
        behind = client.pull()
        assert behind.fields["suggestWhichBrokerId"] == "3"
        assert len(bodies(behind)) == 8, "the limit for what has to come from disk"
        assert client.pull(queueOffset=20).fields["suggestWhichBrokerId"] == "7"


def test_read_messages_are_counted(node: Node, client: Client) -> None:
    node.fill(4)
    size = len(client.pull().body)
    client.pull(queueOffset=4)
    counters = node.hot.counters()
    assert counters["GROUP_GET_NUMS"] == {f"{TOPIC}@{GROUP}": 4}
    assert counters["GROUP_GET_SIZE"] == {f"{TOPIC}@{GROUP}": size}
    assert counters["BROKER_GET_NUMS"] == {"DefaultCluster": 4}
    assert (counters["READS_FOUND"], counters["READS_MISSED"]) == (
        {"DefaultCluster": 1},
        {"DefaultCluster": 1},
    )
    assert node.hot.slowest_read_ms() >= 0


def test_a_oneway_pull_gets_no_answer(node: Node, client: Client) -> None:
    node.fill(1)
    client.post(PULL, pull_fields(), flag=2)
    client.post(PULL, pull_fields(queueOffset=1, sysFlag=2), flag=2)
    assert client.pull().code == 0
    assert node.hot.held_pulls() == 0


@pytest.mark.parametrize("ext", [False, True], ids=["plain queue", "queue with extension"])
@pytest.mark.shows("FI-02")
def test_filters_by_properties_are_judged_without_python(tmp_path: Path, ext: bool) -> None:
    settings = {"enableConsumeQueueExt": ext}
    with (
        running(tmp_path / "store", store=settings, enablePropertyFilter=True) as node,
        node.client() as client,
    ):
        for number in range(6):
            node.store.append(TOPIC, b"%d" % number, 0, properties={"n": str(number)})
        assert node.store.max_offset(TOPIC, 0) == 6
        node.subscribe(sql=SqlFilter("n BETWEEN 2 AND 3"))
        assert bodies(client.pull()) == [b"2", b"3"]
        own = {"sysFlag": OWN_FILTER, "subscription": "n > 4", "expressionType": "SQL92"}
        assert bodies(client.pull(**own)) == [b"5"]
        nothing = client.pull(**{**own, "subscription": "n > 5"})
        assert place(nothing) == (20, "NO_MATCHED_MESSAGE", 6)
        wrong = client.post(PULL, pull_fields(**{**own, "subscription": "n >"}))
        request = node.next_request()
        node.server.answer(request, 23)
        assert client.reply(wrong).code == 23
