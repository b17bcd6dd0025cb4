"""Connected clients as an operator sees them."""

import pytest

from tailfin.admin import NotFound
from tailfin.wire import version
from tailfin.wire.bodies.clients import ConsumeType, MessageModel
from tailfin.wire.bodies.common import MessageQueue
from tailfin.wire.bodies.stats import ConsumerRunningInfo, ProcessQueueInfo
from tailfin.wire.codes import Code
from tailfin.wire.frame import Frame
from tests.unit.admin.scene import Scene


def test_consumers_are_listed_with_what_they_read(scene: Scene) -> None:
    scene.beat("readers", {"orders": "paid || open", "news": "*"})
    found = scene.admin.connections.consumers("readers")
    (client,) = found.clients
    assert (client.client_id, client.language) == (scene.talker.client_id, "PYTHON")
    assert client.address.startswith("127.0.0.1:")
    assert client.version == version.name(version.CURRENT)
    read = {each.topic: each.expression for each in found.subscriptions}
    assert read == {"orders": "paid || open", "news": "*"}
    assert found.consume_type is ConsumeType.CONSUME_PASSIVELY
    assert found.message_model is MessageModel.CLUSTERING
    assert scene.admin.connections.subscriptions("readers") == found.subscriptions


def test_a_group_without_members_is_empty(scene: Scene) -> None:
    found = scene.admin.connections.consumers("nobody")
    assert (found.online, found.clients, found.subscriptions) == (False, (), ())
    assert scene.admin.connections.producers("nobody") == ()
    assert scene.admin.connections.running_infos("nobody") == {}


def test_producers_are_listed(scene: Scene) -> None:
    scene.beat("readers", {}, producer="shop")
    (client,) = scene.admin.connections.producers("shop")
    assert client.client_id == scene.talker.client_id
    assert [each.client_id for each in scene.admin.connections.all_producers()["shop"]] == [client.client_id]


def test_a_consumer_tells_of_itself_and_owns_its_queues(scene: Scene) -> None:
    scene.admin.topics.create("owned", queues=1, broker="broker-a")
    scene.admin.groups.create("owners")
    scene.admin.offsets.reset("owners", "owned", "first")
    queue = MessageQueue(topic="owned", broker_name="broker-a", queue_id=0)
    info = ConsumerRunningInfo(properties={"a": "b"}, mq_table={queue: ProcessQueueInfo(cached_msg_count=3)})
    scene.talker.answers[Code.GET_CONSUMER_RUNNING_INFO] = Frame(code=0, body=info.to_json())
    scene.beat("owners", {"owned": "*"})
    assert scene.admin.connections.running_info("owners", scene.talker.client_id) == info
    (owned,) = scene.admin.offsets.progress("owners", "owned", owners=True).queues
    assert owned.client_id == scene.talker.client_id


def test_a_client_that_is_not_there_is_named(scene: Scene) -> None:
    with pytest.raises(NotFound, match="client 'ghost' of group 'readers' does not answer"):
        scene.admin.connections.running_info("readers", "ghost")
