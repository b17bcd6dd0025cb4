"""END_TRANSACTION: a committed message is read once, a rolled back one never; wrong requests do nothing."""

from pathlib import Path

import pytest

from tailfin.broker.names import HALF_TOPIC, OP_TOPIC, SCHEDULE_TOPIC, TIMER_TOPIC
from tailfin.wire.codes import Code, ResponseCode
from tests.unit.broker.talking import OK
from tests.unit.broker.transactions.acting import COMMIT, ROLLBACK, UNKNOWN, acting, now_ms, open_halves
from tests.unit.loops import in_loop, until


@pytest.mark.shows("TX-03", "TX-06")
@in_loop
async def test_committed_message_is_read_as_it_was_sent(tmp_path: Path) -> None:
    async with acting(tmp_path) as (broker, producer):
        born = now_ms()
        half = await producer.prepare(body=b"order", born_ms=born, flag=5, UNIQ_KEY="U", KEYS="k", mine="1")
        assert broker.store.max_offset("Orders", 1) == 0
        assert (await producer.end(half, COMMIT)).code == OK
        (message,) = await producer.ordered()
        assert (message.body, message.queue_id, message.flag) == (b"order", 1, 5)
        assert (message.born_timestamp, message.unique_key, message.tags) == (born, "U", "TagA")
        assert (message.sys_flag & 0xC, message.prepared_offset) == (8, half.place)
        properties = message.properties
        assert (properties["mine"], properties["KEYS"], properties["PGROUP"]) == ("1", "k", "makers")
        assert (properties["TRAN_MSG"], properties["__transactionId__"]) == ("true", "U")
        assert not properties.keys() & {"REAL_TOPIC", "REAL_QID", "TRANSACTION_CHECK_TIMES"}
        assert open_halves(broker) == []


@pytest.mark.shows("TX-03")
@in_loop
async def test_rolled_back_message_is_never_read(tmp_path: Path) -> None:
    async with acting(tmp_path) as (broker, producer):
        lost, kept = await producer.prepare(body=b"lost"), await producer.prepare(body=b"kept")
        assert (await producer.end(lost, ROLLBACK)).code == OK
        assert (await producer.end(kept, COMMIT)).code == OK
        assert [message.body for message in await producer.ordered()] == [b"kept"]
        assert broker.store.max_offset("Orders", 1) == 1


@in_loop
async def test_op_records_have_rocketmq_s_form_and_close_many_halves_each(tmp_path: Path) -> None:
    async with acting(tmp_path, transactionOpMsgMaxSize=64) as (broker, producer):
        halves = [await producer.prepare() for _ in range(200)]
        for half in halves:
            await producer.end_oneway(half, COMMIT)
        await until(lambda: broker.transactions.ledger.first == 200, "all halves to be closed")
        ops = list(broker.store.read(OP_TOPIC, 0, 0, 300))
        assert {(op.tags, op.sys_flag, op.get_property("WAIT")) for op in ops} == {("d", 0, "true")}
        bodies = [op.body.decode() for op in ops]
        assert all(body.endswith(",") and len(body) <= 64 for body in bodies)
        assert sorted(int(part) for body in bodies for part in body.split(",") if part) == list(range(200))
        await broker.offsets.persist_if_changed()
        assert broker.offsets.of("CID_RMQ_SYS_TRANS", HALF_TOPIC) == {0: 200}
        assert broker.offsets.of("CID_RMQ_SYS_TRANS", OP_TOPIC) == {0: len(ops)}


@in_loop
async def test_producer_that_does_not_know_changes_nothing(tmp_path: Path) -> None:
    async with acting(tmp_path) as (broker, producer):
        half = await producer.prepare()
        for word in (UNKNOWN, 4, 99):
            await producer.end_oneway(half, word)
        later = await producer.prepare()
        assert (await producer.end(later, COMMIT)).code == OK
        assert open_halves(broker) == [half.offset]


WRONG = {
    "another group": ({"producerGroup": "others"}, "The producer group wrong"),
    "another half": ({"tranStateTableOffset": 7}, "The transaction state table offset wrong"),
    "no record there": ({"commitLogOffset": 3}, "Find prepared transaction message failed"),
    "beyond the log": ({"commitLogOffset": 1 << 40}, "Find prepared transaction message failed"),
    "before the log": ({"commitLogOffset": -1}, "Find prepared transaction message failed"),
}


@pytest.mark.parametrize(("changes", "remark"), WRONG.values(), ids=WRONG.keys())
@in_loop
async def test_wrong_end_is_refused_and_the_right_one_still_works(
    tmp_path: Path, changes: dict[str, object], remark: str
) -> None:
    async with acting(tmp_path) as (broker, producer):
        half = await producer.prepare()
        for how in (COMMIT, ROLLBACK):
            refused = await producer.end(half, how, **changes)
            assert (refused.code, refused.remark) == (ResponseCode.SYSTEM_ERROR, remark)
        assert open_halves(broker) == [half.offset]
        assert (await producer.end(half, COMMIT)).code == OK
        assert len(await producer.ordered()) == 1


@in_loop
async def test_only_halves_can_be_committed(tmp_path: Path) -> None:
    async with acting(tmp_path) as (_, producer):
        marks = {"PGROUP": "makers", "REAL_TOPIC": "Orders", "REAL_QID": "1"}
        sent = await producer.send("Orders", properties=marks)
        place = int(sent.fields["msgId"][-16:], 16)
        half = await producer.prepare()
        refused = await producer.end(half, COMMIT, commitLogOffset=place, tranStateTableOffset=0)
        assert refused.remark == "Find prepared transaction message failed"


@in_loop
async def test_end_without_its_fields_is_refused(tmp_path: Path) -> None:
    async with acting(tmp_path) as (_, producer):
        assert (await producer.ask(Code.END_TRANSACTION, {"producerGroup": "makers"})).code != OK


@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
@in_loop
async def test_ending_twice_the_same_way_does_nothing_more(tmp_path: Path, how: int) -> None:
    async with acting(tmp_path) as (broker, producer):
        half = await producer.prepare()
        assert [(await producer.end(half, how)).code for _ in range(3)] == [OK] * 3
        assert broker.store.max_offset("Orders", 1) == (how == COMMIT)
        assert broker.store.max_offset(OP_TOPIC, 0) == 1


@pytest.mark.parametrize(("first", "then"), [(COMMIT, ROLLBACK), (ROLLBACK, COMMIT)])
@in_loop
async def test_ended_transaction_cannot_be_ended_the_other_way(tmp_path: Path, first: int, then: int) -> None:
    async with acting(tmp_path) as (broker, producer):
        half = await producer.prepare()
        assert (await producer.end(half, first)).code == OK
        refused = await producer.end(half, then)
        assert refused.code == ResponseCode.SYSTEM_ERROR
        assert "before" in (refused.remark or "")
        assert broker.store.max_offset("Orders", 1) == (first == COMMIT)


@in_loop
async def test_late_end_without_being_asked_is_refused_where_the_producer_named_a_time(
    tmp_path: Path,
) -> None:
    async with acting(tmp_path, transactionTimeOut=0) as (broker, producer):
        old = now_ms() - 60_000
        late = await producer.prepare(born_ms=old, CHECK_IMMUNITY_TIME_IN_SECONDS="30")
        for how in (COMMIT, ROLLBACK):
            assert (await producer.end(late, how)).code == ResponseCode.ILLEGAL_OPERATION
        assert open_halves(broker) == [late.offset]
        in_time = await producer.prepare(born_ms=old, CHECK_IMMUNITY_TIME_IN_SECONDS="300")
        assert (await producer.end(in_time, COMMIT)).code == OK
        assert (await producer.end(late, COMMIT, fromTransactionCheck="true")).code == OK
        assert len(await producer.ordered(2)) == 2


@pytest.mark.shows("CL-04")
@in_loop
async def test_delay_begins_with_the_commit(tmp_path: Path) -> None:
    async with acting(tmp_path, messageDelayLevel="1s") as (broker, producer):
        half = await producer.prepare(DELAY="1", UNIQ_KEY="U")
        assert broker.store.max_offset(SCHEDULE_TOPIC, 0) == 0
        assert (await producer.end(half, COMMIT)).code == OK
        assert broker.store.max_offset(SCHEDULE_TOPIC, 0) == 1
        assert (await producer.end(half, COMMIT)).code == OK, "the waiting message counts as committed"
        (message,) = await producer.ordered()
        assert (message.unique_key, message.topic) == ("U", "Orders")
        assert broker.store.max_offset("Orders", 1) == 1


@in_loop
async def test_time_that_a_message_asks_for_counts_from_the_commit(tmp_path: Path) -> None:
    async with acting(tmp_path, timerWheelEnable=True) as (broker, producer):
        half = await producer.prepare(TIMER_DELAY_MS="1200", UNIQ_KEY="U")
        assert broker.store.max_offset(TIMER_TOPIC, 0) == 0
        assert (await producer.end(half, COMMIT)).code == OK
        assert broker.store.max_offset(TIMER_TOPIC, 0) == 1
        assert (await producer.end(half, COMMIT)).code == OK, "the waiting message counts as committed"
        (message,) = await producer.ordered()
        assert (message.unique_key, message.sys_flag & 0xC) == ("U", 8)
        assert broker.store.max_offset("Orders", 1) == 1


@pytest.mark.shows("SP-11", "TX-02")
@in_loop
async def test_transactions_can_be_forbidden(tmp_path: Path) -> None:
    async with acting(tmp_path, rejectTransactionMessage=True) as (_, producer):
        refused = await producer.send_half("Orders", b"x", properties={})
        assert refused.code == ResponseCode.NO_PERMISSION
        assert refused.remark == "the broker[127.0.0.1] sending transaction message is forbidden"


@in_loop
async def test_message_handed_back_by_an_old_client_is_no_half(tmp_path: Path) -> None:
    async with acting(tmp_path, messageDelayLevel="1s") as (broker, producer):
        marks = {"DELAY": "1"}
        sent = await producer.send_half("Orders", b"x", reconsume_times=1, properties=marks)
        assert sent.code == OK
        assert broker.store.max_offset(HALF_TOPIC, 0) == 0


@pytest.mark.shows("TX-05")
@in_loop
async def test_hooks_see_a_half_and_the_store_takes_it_from_python(tmp_path: Path) -> None:
    async with acting(tmp_path) as (broker, producer):
        seen: list[tuple[str, int | None]] = []
        broker.hooks.on_send("Orders", after=lambda context: seen.append((context.kind, context.code)))
        await producer.send("Orders", b"plain", queue_id=2)
        half = await producer.prepare()
        assert seen == [("Normal_Msg", 0), ("Trans_Msg_Half", 0)]
        assert (await producer.end(half, COMMIT)).code == OK
        (message,) = await producer.ordered()
        assert message.unique_key == half.key
        assert broker.transactions.counts.counts() == {"Orders": 0}


@in_loop
async def test_store_that_takes_no_writes_leaves_the_transaction_open(tmp_path: Path) -> None:
    async with acting(tmp_path) as (broker, producer):
        half = await producer.prepare()
        broker.store.set_writable("not_writable", False)
        assert (await producer.end(half, COMMIT)).code == ResponseCode.SERVICE_NOT_AVAILABLE
        broker.store.set_writable("not_writable", True)
        assert open_halves(broker) == [half.offset]
        assert (await producer.end(half, COMMIT)).code == OK
        assert len(await producer.ordered()) == 1


@in_loop
async def test_committed_message_for_light_queues_gets_its_places_there(tmp_path: Path) -> None:
    async with acting(tmp_path, enableLmq=True, enableMultiDispatch=True) as (broker, producer):
        light = await producer.prepare(body=b"light", INNER_MULTI_DISPATCH="%LMQ%a")
        assert broker.store.max_offset("%LMQ%a", 0) == 0
        plain = [await producer.prepare(body=b"plain") for _ in range(3)]
        for half in (plain[0], light, *plain[1:]):
            await producer.end_oneway(half, COMMIT)
        bodies = sorted(message.body for message in await producer.ordered(4))
        assert bodies == [b"light", b"plain", b"plain", b"plain"]
        (there,) = broker.store.read("%LMQ%a", 0, 0)
        assert (there.body, there.topic) == (b"light", "Orders")
        assert open_halves(broker) == []


@in_loop
async def test_slave_ends_no_transaction(tmp_path: Path) -> None:
    async with acting(tmp_path, brokerRole="SLAVE", brokerId=1) as (_, producer):
        fields = {"producerGroup": "makers", "tranStateTableOffset": 0, "commitLogOffset": 0, "msgId": "U"}
        answer = await producer.ask(Code.END_TRANSACTION, {**fields, "commitOrRollback": COMMIT})
        assert answer.code == ResponseCode.SLAVE_NOT_AVAILABLE
