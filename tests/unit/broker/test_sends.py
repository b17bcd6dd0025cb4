"""Sends that reach Python, and what each refusal is called."""

import socket
from pathlib import Path

import pytest

from tailfin.broker.hooks import SendContext
from tailfin.message import Message, encode_batch
from tailfin.wire.bodies.routes import TopicRouteData
from tailfin.wire.codes import Code, Flag, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.frame import Frame, encode
from tailfin.wire.headers.send import SendMessageRequestHeader
from tests.unit.broker.talking import OK, eventually, left_by_a_kill, running
from tests.unit.loops import in_loop, until


@pytest.mark.shows("TP-03", "TP-05", "SP-04", "SP-24", "NS-37")
@in_loop
async def test_first_message_makes_its_topic_everywhere(tmp_path: Path) -> None:
    async with running(tmp_path) as (node, broker, talker):
        sent = await talker.send("Orders", b"one", properties={"UNIQ_KEY": "u1", "TAGS": "a"})
        assert sent.code == OK
        assert sent.fields["queueOffset"] == "0"
        assert (sent.fields["MSG_REGION"], sent.fields["TRACE_ON"]) == ("DefaultRegion", "true")
        assert sent.fields["transactionId"] == "u1"
        await broker.topics_settled()
        ask = {"topic": "Orders"}
        route = await talker.client.call(node.namesrv, Code.GET_ROUTEINFO_BY_TOPIC, fields=ask)
        queues = TopicRouteData.from_json(route.body).queue_datas
        assert [(q.broker_name, q.read_queue_nums, q.perm) for q in queues] == [("broker-a", 4, 6)]
        kept = left_by_a_kill(broker.config_folder, tmp_path)[0].get("Orders")
        assert kept is not None
        assert kept.write_queue_nums == 4
        assert [m.body for m in await talker.read("Orders", 1)] == [b"one"]


@in_loop
async def test_first_message_of_a_client_that_waits_for_nothing_and_leaves_is_stored(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        header = SendMessageRequestHeader(
            producer_group="P",
            topic="Orders",
            default_topic="TBW102",
            default_topic_queue_nums=4,
            queue_id=0,
            sys_flag=0,
            born_timestamp=0,
            flag=0,
            properties="",
        )
        fields = {key: str(value) for key, value in header.encode(short=True).items()}
        oneway = Frame(code=Code.SEND_MESSAGE_V2, opaque=1, flag=Flag.ONEWAY, fields=fields, body=b"one")
        host, _, port = broker.address.rpartition(":")
        with socket.create_connection((host, int(port))) as client:
            client.sendall(encode(oneway))
        assert [m.body for m in await talker.read("Orders", 1)] == [b"one"]


@pytest.mark.shows("SP-07", "TP-05")
@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        ({"topic": "T", "default_topic": "nobody"}, ResponseCode.TOPIC_NOT_EXIST, "apply first"),
        ({"topic": "T", "queue_id": 99}, ResponseCode.INVALID_PARAMETER, "queueId"),
        ({"topic": "a.b"}, ResponseCode.INVALID_PARAMETER, "illegal characters"),
        ({"topic": "x" * 128}, ResponseCode.INVALID_PARAMETER, "longer"),
        ({"topic": "SELF_TEST_TOPIC"}, ResponseCode.NO_PERMISSION, "forbidden"),
        ({"topic": "SCHEDULE_TOPIC_XXXX"}, ResponseCode.NO_PERMISSION, "forbidden"),
        ({"topic": "T", "body": b""}, ResponseCode.SYSTEM_ERROR, "body"),
        ({"topic": "T", "properties": {"k": "v" * 40_000}}, ResponseCode.MESSAGE_ILLEGAL, "properties"),
        ({"topic": "T", "body": b"x" * (5 << 20)}, ResponseCode.MESSAGE_ILLEGAL, "maxMessageSize"),
    ],
)
@in_loop
async def test_refused_send_says_why(
    tmp_path: Path, arguments: dict[str, object], code: int, says: str
) -> None:
    async with running(tmp_path) as (_, _, talker):
        refused = await talker.send(**arguments)  # type: ignore[arg-type]
        assert refused.code == code
        assert says in (refused.remark or "")
        assert (await talker.send("Fine")).code == OK


@in_loop
async def test_without_auto_creation_an_unknown_topic_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, autoCreateTopicEnable=False) as (_, broker, talker):
        assert (await talker.send("T")).code == ResponseCode.TOPIC_NOT_EXIST
        assert "T" not in broker.topics


@pytest.mark.shows("SP-05")
@in_loop
async def test_sends_before_the_opening_time_are_refused(tmp_path: Path) -> None:
    async with running(tmp_path, startAcceptSendRequestTimeStamp=4_000_000_000_000) as (_, _, talker):
        refused = await talker.send("T")
        assert refused.code == ResponseCode.SYSTEM_ERROR
        assert (refused.remark or "").startswith("broker unable to service, until")


@pytest.mark.shows("SP-08")
@in_loop
async def test_negative_queue_means_any(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        queues = {(await talker.send("T", queue_id=-1)).fields["queueId"] for _ in range(40)}
        assert queues <= {"0", "1", "2", "3"}
        assert len(queues) > 1


@in_loop
async def test_first_batch_makes_its_topic_too(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, _, talker):
        batch = encode_batch([(0, b"a", b""), (0, b"b", b"")])
        sent = await talker.send("T", batch, batch=True)
        assert sent.code == OK
        assert len(sent.fields["msgId"].split(",")) == 2
        refused = await talker.send("%RETRY%G", batch, batch=True)
        assert refused.code == ResponseCode.MESSAGE_ILLEGAL


def told(answer: Frame) -> tuple[int, str | None, set[str]]:
    return answer.code, answer.remark, set(answer.fields)


ALIKE: dict[str, dict[str, object]] = {
    "without a key": {"properties": {"TAGS": "a"}},
    "with a key": {"properties": {"UNIQ_KEY": "u1"}},
    "with the broker's own properties": {"properties": {"CLUSTER": "x", "TRACE_ON": "no", "k": "v"}},
    "flagged": {"sys_flag": 1 << 4, "reconsume_times": 2},
    "batch": {"batch": True, "sys_flag": 1 << 4, "reconsume_times": 2},
    "batch with a key": {"batch": True, "properties": {"UNIQ_KEY": "u1"}},
    "batch of a transaction": {"batch": True, "sys_flag": 4},
    "batch of halves": {"batch": True, "properties": {"TRAN_MSG": "True"}},
    "delayed batch": {"batch": True, "properties": {"DELAY": "1"}},
    "timed batch": {"batch": True, "properties": {"TIMER_DELAY_SEC": "1"}},
    "batch beyond the limit": {"batch": True, "body": encode_batch([(0, b"x" * 800, b"")] * 2)},
}


@pytest.mark.parametrize("sent", ALIKE.values(), ids=ALIKE.keys())
@in_loop
async def test_python_stores_and_answers_as_the_hot_path_does(
    tmp_path: Path, sent: dict[str, object]
) -> None:
    if sent.get("batch"):
        sent = {"body": encode_batch([(1, b"a", b"KEYS\x01k"), (2, b"b", b"")]), **sent}
    async with running(tmp_path, maxMessageSize=1000) as (_, broker, talker):
        for topic in ("Hot", "Hooked"):
            await talker.send(topic, b"first")
        broker.hooks.on_send("Hooked", before=lambda _: None)
        hot, hooked = [await talker.send(topic, **sent) for topic in ("Hot", "Hooked")]  # type: ignore[arg-type]
        assert told(hooked) == told(hot)
        if hot.code == OK:
            (_, *by_hot), (_, *by_python) = [await talker.read(topic, 2) for topic in ("Hot", "Hooked")]
            assert hot.fields.get("transactionId") == by_hot[0].properties.get("UNIQ_KEY") or sent.get(
                "batch"
            )
            for one, other in zip(by_hot, by_python, strict=True):
                assert alike(one) == alike(other)


def alike(message: Message) -> dict[str, object]:
    """What two messages of two topics have in common if they were stored in the same way."""
    properties = dict(message.properties)
    if (key := properties.pop("UNIQ_KEY", "")) != "u1":
        properties["length of the key"] = str(len(key))
    raw = message.raw
    return {
        "properties": properties,
        "closed": raw.endswith(b"\x02") or not message.properties,
        "flag": message.flag,
        "sys_flag": message.sys_flag,
        "reconsume_times": message.reconsume_times,
        "body": message.body,
    }


@pytest.mark.shows("SP-03", "SP-26", "U-21")
@in_loop
async def test_hooks_see_sends_before_and_after_and_can_refuse(tmp_path: Path) -> None:
    seen: list[tuple[str, int | None, int | None]] = []

    def before(context: SendContext) -> None:
        if context.body == b"bad":
            raise RemotingError(ResponseCode.MESSAGE_ILLEGAL, "the hook does not like it")
        context.properties["by"] = "hook"
        seen.append(("before", context.queue_offset, context.code))

    def after(context: SendContext) -> None:
        seen.append(("after", context.queue_offset, context.code))

    async with running(tmp_path) as (_, broker, talker):
        await talker.send("Hooked", b"first")
        remove = broker.hooks.on_send("Hooked", before=before, after=after)
        assert (await talker.send("Hooked", b"good")).code == OK
        refused = await talker.send("Hooked", b"bad")
        assert (refused.code, refused.remark) == (ResponseCode.MESSAGE_ILLEGAL, "the hook does not like it")
        assert (await talker.send("Other", b"bad")).code == OK
        remove()
        assert (await talker.send("Hooked", b"bad")).code == OK

        assert [(m.body, m.get_property("by")) for m in await talker.read("Hooked", 3)] == [
            (b"first", None),
            (b"good", "hook"),
            (b"bad", None),
        ]
    assert seen == [("before", None, None), ("after", 1, 0)]


@pytest.mark.shows("DL-01", "CL-04", "DL-02", "U-26")
@in_loop
async def test_delayed_message_arrives_when_its_time_has_come(tmp_path: Path) -> None:
    async with running(tmp_path, messageDelayLevel="1s 1h") as (_, broker, talker):
        sent = await talker.send("T", b"later", queue_id=2, properties={"DELAY": "1", "TAGS": "a"})
        assert sent.code == OK
        assert (await talker.send("T", b"much later", properties={"DELAY": "99"})).code == OK
        assert broker.store.max_offset("T", 2) == 0

        async def arrived() -> bool:
            return broker.store.max_offset("T", 2) == 1

        await eventually(arrived)
        (message,) = await talker.read("T", 1, queue_id=2)
        assert (message.body, message.tags) == (b"later", "a")
        assert broker.store.max_offset("SCHEDULE_TOPIC_XXXX", 1) == 1
    async with running(tmp_path, messageDelayLevel="1s 1h") as (_, broker, talker):
        assert broker.schedule.progress()[1] == (1, 1)
        assert broker.store.max_offset("T", 2) == 1


@pytest.mark.shows("ST-18")
@in_loop
async def test_hooks_run_in_order_and_the_first_that_refuses_ends_it(tmp_path: Path) -> None:
    called: list[str] = []

    def refuse(context: SendContext) -> None:
        called.append("second")
        raise RemotingError(ResponseCode.MESSAGE_ILLEGAL, "enough")

    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T")
        broker.hooks.on_send("T", before=lambda _: called.append("first"))
        broker.hooks.on_send("T", before=refuse)
        broker.hooks.on_send("T", before=lambda _: called.append("third"))
        assert (await talker.send("T")).remark == "enough"
        assert called == ["first", "second"]
        assert broker.counting.totals()["put"] == 1


@pytest.mark.shows("SP-27")
@in_loop
async def test_hook_sees_how_a_send_failed(tmp_path: Path) -> None:
    seen: list[SendContext] = []
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("T")
        broker.hooks.on_send("T", after=seen.append)
        broker.store.set_writable("disk_full", False)
        refused = await talker.send("T", b"x" * 300)
        broker.store.set_writable("disk_full", True)
    assert refused.code == ResponseCode.SERVICE_NOT_AVAILABLE
    (context,) = seen
    assert (context.code, context.message_id, len(context.body)) == (refused.code, None, 300)
    assert context.producer_group == "P"


@pytest.mark.shows("SP-25")
@in_loop
async def test_every_request_is_answered_once_whoever_answers_it(tmp_path: Path) -> None:
    async with running(tmp_path) as (_, broker, talker):
        await talker.send("New")
        await talker.send("New")
        remove = broker.hooks.on_send("New", before=lambda _: None)
        await talker.send("New")
        remove()
        await talker.pull("New", "first")
        await talker.pull("New", "first")
        await talker.ask(Code.GET_BROKER_RUNTIME_INFO)

        def answered() -> bool:
            stats = broker.server.stats()
            return stats["framesOut"] == stats["framesIn"] == 6

        await until(answered, "six answers to six requests")
