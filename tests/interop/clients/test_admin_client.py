"""Tailfin's admin client: what an operator does every day, with the official servers and with Tailfin's."""

from collections.abc import Iterator

import pytest

from tailfin.admin import NotFound, Perm
from tailfin.admin.blocking import AdminClient
from tailfin.client.queues import Queue
from tailfin.wire.codes import Code
from tailfin.wire.headers.send import SendMessageRequestHeader
from tests.interop.clients import remoting
from tests.interop.clients.clusters import Cluster
from tests.unit.admin.scene import eventually

TOPIC, GROUP, LETTERS = "AdminClientTopic", "AdminClientGroup", "AdminClientLetters"
BROKER = "broker-a"
QUEUE = Queue(TOPIC, BROKER, 0)
UNIQUE = "7F0000010000000000000000000{:05d}"


@pytest.fixture(scope="module")
def admin(cluster: Cluster) -> Iterator[AdminClient]:
    with AdminClient(nameserver=cluster.namesrv, timeout=20.0) as admin:
        yield admin


@pytest.fixture(scope="module")
def sent(cluster: Cluster, admin: AdminClient) -> list[str]:
    """A topic with five messages, and a group; return the brokers' message ids."""
    admin.topics.create(TOPIC, queues=1)
    admin.groups.create(GROUP, retry_max_times=3)
    ids = [send(cluster, number) for number in range(5)]
    eventually(lambda: admin.topics.status(TOPIC).messages == 5, "five messages")
    return ids


def send(cluster: Cluster, number: int) -> str:
    properties = {"KEYS": f"key-{number} all", "TAGS": "even" if number % 2 == 0 else "odd"}
    properties["UNIQ_KEY"] = UNIQUE.format(number)
    header = SendMessageRequestHeader(
        producer_group="AdminClientProducer",
        topic=TOPIC,
        default_topic="TBW102",
        default_topic_queue_nums=1,
        queue_id=0,
        sys_flag=0,
        born_timestamp=1_700_000_000_000,
        flag=0,
        properties="".join(f"{name}\x01{value}\x02" for name, value in properties.items()),
    )
    answer = remoting.ask(
        cluster.brokers[BROKER], Code.SEND_MESSAGE_V2, header.encode(short=True), b"%d" % number
    )
    assert answer.header["code"] == 0, answer.header
    return str(answer.header["extFields"]["msgId"])


def test_the_cluster_is_listed(admin: AdminClient, cluster: Cluster) -> None:
    assert BROKER in {name for names in admin.cluster.list().values() for name in names}
    # A broker of 4.9 cannot tell in its first seconds.
    (member,) = eventually(
        lambda: [each for each in admin.cluster.brokers() if each.name == BROKER and each.figures], "figures"
    )
    assert (member.address, member.is_master, member.trouble) == (cluster.brokers[BROKER], True, None)
    assert member.figures
    assert member.figures.active is not False
    assert admin.cluster.config(BROKER)["brokerName"] == BROKER
    assert admin.cluster.nameserver_config()[cluster.namesrv]


def test_key_values_are_kept(admin: AdminClient) -> None:
    assert admin.cluster.kv_get("AdminClient", "key") is None
    admin.cluster.kv_put("AdminClient", "key", "value")
    assert admin.cluster.kv_list("AdminClient") == {"key": "value"}
    admin.cluster.kv_delete("AdminClient", "key")
    assert admin.cluster.kv_get("AdminClient", "key") is None


@pytest.mark.shows("U-14")
def test_a_topic_is_described(admin: AdminClient, sent: list[str]) -> None:
    assert TOPIC in admin.topics.list()
    assert not {"TBW102", BROKER, "DefaultCluster", "SCHEDULE_TOPIC_XXXX"} & set(admin.topics.list())
    assert "TBW102" in admin.topics.list(everything=True)
    (place,) = admin.topics.route(TOPIC)
    assert (place.broker, place.read_queues, place.perm) == (BROKER, 1, Perm.READ | Perm.WRITE)
    assert admin.topics.config(TOPIC)[BROKER].write_queue_nums == 1
    (queue,) = admin.topics.status(TOPIC).queues
    assert (queue.queue, queue.min_offset, queue.max_offset) == (QUEUE, 0, 5)
    assert queue.last_store_timestamp


def test_a_topic_changes_and_goes(admin: AdminClient) -> None:
    admin.topics.create("AdminClientShort", queues=2)
    changed = admin.topics.update("AdminClientShort", queues=3, perm=Perm.READ)
    assert (changed[BROKER].read_queue_nums, changed[BROKER].perm) == (3, 4)
    admin.topics.delete("AdminClientShort")
    with pytest.raises(NotFound):
        admin.topics.route("AdminClientShort")
    with pytest.raises(NotFound):
        admin.topics.config("AdminClientShort")


def test_a_group_changes_and_goes(admin: AdminClient, sent: list[str]) -> None:
    assert GROUP in admin.groups.list()
    assert admin.groups.config(GROUP)[BROKER].retry_max_times == 3
    admin.groups.create("AdminClientShort")
    admin.groups.update("AdminClientShort", retry_max_times=5)
    assert admin.groups.config("AdminClientShort")[BROKER].retry_max_times == 5
    admin.groups.delete("AdminClientShort")
    with pytest.raises(NotFound):
        admin.groups.config("AdminClientShort")


@pytest.mark.shows("QY-01", "QY-02", "U-14")
def test_messages_are_found(admin: AdminClient, sent: list[str]) -> None:
    assert admin.messages.by_id(sent[3]).body == b"3"
    assert admin.messages.by_offset(QUEUE, 2).body == b"2"
    found = eventually(
        lambda: len(found := admin.messages.by_key(TOPIC, "all")) == 5 and found, "the keys of five messages"
    )
    assert found
    assert [each.body for each in found] == [b"0", b"1", b"2", b"3", b"4"]
    assert admin.messages.find(TOPIC, UNIQUE.format(4)).body == b"4"
    with pytest.raises(NotFound):
        admin.messages.find(TOPIC, UNIQUE.format(99))


@pytest.mark.shows("OF-06", "U-14")
def test_offsets_are_found(admin: AdminClient, sent: list[str]) -> None:
    assert (admin.offsets.find(QUEUE, "first"), admin.offsets.find(QUEUE, "last")) == (0, 5)
    when = admin.messages.by_offset(QUEUE, 3).store_timestamp
    assert admin.messages.by_offset(QUEUE, admin.offsets.find(QUEUE, when)).store_timestamp == when


def test_queues_are_read(admin: AdminClient, sent: list[str]) -> None:
    messages = list(admin.messages.read(TOPIC))
    assert [each.body for each in messages] == [b"0", b"1", b"2", b"3", b"4"]
    assert [each.body for each in admin.messages.read(TOPIC, expression="odd")] == [b"1", b"3"]
    when = messages[2].store_timestamp
    since = [each.body for each in messages if each.store_timestamp >= when]
    assert [each.body for each in admin.messages.read(TOPIC, start=when)] == since
    followed = admin.messages.follow(TOPIC, start="first")
    assert [next(followed).body for _ in range(5)] == [b"0", b"1", b"2", b"3", b"4"]


def test_offsets_are_moved(admin: AdminClient, sent: list[str]) -> None:
    (planned,) = admin.offsets.reset(GROUP, TOPIC, "last", dry_run=True)
    assert planned.after == 5
    (change,) = admin.offsets.reset(GROUP, TOPIC, "last")
    assert change.after == 5
    assert admin.offsets.progress(GROUP, TOPIC).lag == 0
    admin.offsets.reset_queue(GROUP, QUEUE, 2)
    (queue,) = admin.offsets.progress(GROUP, TOPIC).queues
    assert (queue.queue, queue.offset, queue.lag) == (QUEUE, 2, 3)
    when = admin.messages.by_offset(QUEUE, 4).store_timestamp
    (change,) = admin.offsets.reset(GROUP, TOPIC, when)
    assert change.before == 2
    assert admin.messages.by_offset(QUEUE, change.after).store_timestamp == when
    assert GROUP in admin.topics.groups(TOPIC)


def test_offsets_are_cloned_and_messages_tracked(admin: AdminClient, sent: list[str]) -> None:
    admin.groups.create("AdminClientCopy")
    admin.offsets.reset_queue(GROUP, QUEUE, 3)
    admin.offsets.clone(GROUP, "AdminClientCopy", TOPIC)
    assert admin.offsets.progress("AdminClientCopy", TOPIC).lag == 2
    tracks = {each.group: each.status for each in admin.messages.track(admin.messages.by_id(sent[0]))}
    assert tracks["AdminClientCopy"] == "CONSUMED"
    tracks = {each.group: each.status for each in admin.messages.track(admin.messages.by_id(sent[4]))}
    assert tracks["AdminClientCopy"] == "NOT_ONLINE"


def test_nobody_is_connected(admin: AdminClient, sent: list[str]) -> None:
    assert not admin.connections.consumers(GROUP).online
    assert admin.connections.producers("AdminClientNobody") == ()
    assert "AdminClientNobody" not in admin.connections.all_producers()
    assert admin.stats.topic(TOPIC).messages.day.total >= 0


def test_dead_letters_are_listed_and_sent_again(
    admin: AdminClient, cluster: Cluster, sent: list[str]
) -> None:
    admin.groups.create(LETTERS)
    fields = {
        "group": LETTERS,
        "offset": int(sent[1][16:], 16),
        "delayLevel": -1,
        "originMsgId": UNIQUE.format(1),
        "originTopic": TOPIC,
        "maxReconsumeTimes": 3,
        "unitMode": "false",
    }
    answer = remoting.ask(cluster.brokers[BROKER], Code.CONSUMER_SEND_MSG_BACK, fields)
    assert answer.header["code"] == 0, answer.header.get("remark")
    (letter,) = eventually(lambda: admin.dead_letters.list(LETTERS), "the dead letter")
    assert letter.body == b"1"
    result = admin.dead_letters.resend(LETTERS, letter.offset_message_id)
    assert result.queue.topic == f"%RETRY%{LETTERS}"
    (again,) = eventually(lambda: list(admin.messages.read(f"%RETRY%{LETTERS}")), "the copy")
    assert (again.body, again.property("RETRY_TOPIC")) == (b"1", TOPIC)
