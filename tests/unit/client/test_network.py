"""A client's connections, routes and standing, with a real cluster."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from tailfin.aio import AdminClient
from tailfin.broker.address import free_port
from tailfin.broker.app import Broker
from tailfin.client.errors import ClientError, ClientStopped, NoBroker, NoNameServer, NoRoute
from tailfin.client.hooks import Hook
from tailfin.client.network import Network, request_hooks
from tailfin.client.options import ClientOptions
from tailfin.client.routes import Route
from tailfin.client.tls import Tls
from tailfin.cluster import SMALL_FILES
from tailfin.config import BrokerSettings
from tailfin.remoting.connection import Handler
from tailfin.remoting.signing import signature
from tailfin.testing import Cluster, cluster
from tailfin.wire.bodies.clients import (
    ConsumeFromWhere,
    ConsumerData,
    ConsumeType,
    MessageModel,
    ProducerData,
)
from tailfin.wire.codes import Code
from tailfin.wire.frame import Frame
from tests.unit.loops import in_loop, until


@dataclass
class Someone:
    """A member that notes what it hears."""

    group: str
    consumes: bool = False
    heard: list[Frame] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)

    def heartbeat(self) -> ProducerData | ConsumerData:
        if not self.consumes:
            return ProducerData(group_name=self.group)
        return ConsumerData(
            group_name=self.group,
            consume_type=ConsumeType.CONSUME_PASSIVELY,
            message_model=MessageModel.CLUSTERING,
            consume_from_where=ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET,
        )

    @property
    def handlers(self) -> Mapping[int, Handler]:
        return {Code.NOTIFY_CONSUMER_IDS_CHANGED: self.heard.append}

    def route_changed(self, route: Route) -> None:
        self.routes.append(route)


@pytest.fixture(scope="module")
def running() -> Iterator[Cluster]:
    with cluster(autoCreateTopicEnable=True) as node:
        yield node


def options(nameserver: str, **more: object) -> ClientOptions:
    return ClientOptions(nameserver=nameserver, host="127.0.0.1", **more)  # type: ignore[arg-type]  # any of them


def test_a_missing_topic_says_who_was_asked_and_what_to_do(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Network(options(running.namesrv)) as network:
            text = f"topic 'nobody': nameserver {running.namesrv} knows no such topic; create it with"
            with pytest.raises(NoRoute, match=text):
                await network.route("nobody")

    check()


@pytest.mark.shows("PR-05")
def test_a_missing_topic_has_a_route_to_send_to(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Network(options(running.namesrv)) as network:
            route = await network.publish_route("not-there-yet", queue_count=2)
            assert [each.queue_id for each in route.publish] == [0, 1]
            assert network.address_of(route.publish[0].broker) == running.broker.address

    check()


def test_where_brokers_create_no_topics_that_is_said() -> None:
    @in_loop
    async def check(nameserver: str) -> None:
        async with Network(options(nameserver)) as network:
            with pytest.raises(NoRoute, match="brokers do not create topics by themselves"):
                await network.publish_route("typo")

    with cluster(autoCreateTopicEnable=False) as node:
        check(node.namesrv)


def test_another_name_server_is_asked_when_one_is_down(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        for _ in range(6):
            async with Network(options(f"127.0.0.1:1;{running.namesrv}")) as network:
                assert (await network.route("TBW102")).subscribe

    check()


@in_loop
async def test_no_name_server_at_all_is_said_with_their_addresses() -> None:
    async with Network(options("127.0.0.1:1;127.0.0.1:2")) as network:
        with pytest.raises(NoNameServer, match=r"tried 127\.0\.0\.1:1, 127\.0\.0\.1:2"):
            await network.route("T")


@in_loop
async def test_a_client_that_is_not_running_says_how_to_start_it() -> None:
    network = Network(options("127.0.0.1:1"))
    with pytest.raises(ClientStopped, match=r"call start\(\)"):
        await network.route("T")


@pytest.mark.shows("CI-04")
def test_brokers_know_members_soon_and_forget_them_when_they_leave(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        clients = running.broker.clients
        async with Network(options(running.namesrv)) as network:
            await network.route("TBW102")
            producer, consumer = Someone("makers"), Someone("eaters", consumes=True)
            network.join(producer)
            network.join(consumer)
            await until(lambda: clients.consumer_group("eaters"), "the consumer is known")
            found = clients.consumer_group("eaters")
            assert found
            assert [each.client_id for each in found.members.values()] == [network.client_id]
            await network.leave(consumer)
            assert not clients.consumer_group("eaters")
            assert clients.producers("makers")

    check()


@pytest.mark.shows("PC-05", "PR-03", "CI-06")
def test_one_client_cannot_be_in_a_group_twice(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Network(options(running.namesrv)) as network:
            network.join(Someone("twins"))
            network.join(Someone("twins", consumes=True))
            for consumes in (False, True):
                with pytest.raises(ClientError, match="a member of group 'twins' already"):
                    network.join(Someone("twins", consumes=consumes))
            assert len(network.members) == 2

    check()


@pytest.mark.shows("CI-06")
def test_requests_of_brokers_reach_the_member_of_the_group(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Network(options(running.namesrv)) as network, Network(options(running.namesrv)) as other:
            for each in (network, other):
                await each.route("TBW102")
            mine, stranger = Someone("circle", consumes=True), Someone("square", consumes=True)
            network.join(mine)
            network.join(stranger)
            await network.beat()
            before = len(stranger.heard)
            other.join(Someone("circle", consumes=True))
            await other.beat()
            await until(lambda: mine.heard, "the notice of another member")
            assert mine.heard[-1].fields["consumerGroup"] == "circle"
            assert mine.heard[-1].origin == running.broker.address
            assert len(stranger.heard) == before

    check()


def test_a_broker_that_comes_back_is_told_again_at_once(running: Cluster, tmp_path: Path) -> None:
    settings = {
        "brokerName": "phoenix",
        "namesrvAddr": running.namesrv,
        "brokerIP1": "127.0.0.1",
        "bindAddress": "127.0.0.1",
        "listenPort": free_port("127.0.0.1"),
        "storePathRootDir": str(tmp_path),
        **SMALL_FILES,
    }

    @in_loop
    async def check() -> None:
        async with Network(options(running.namesrv)) as network:
            for life in (1, 2):
                broker = Broker(BrokerSettings.of(settings))
                await broker.start()
                try:
                    if life == 1:
                        await network.route("TBW102")
                        network.join(Someone("faithful"))
                    await until(partial(broker.clients.producers, "faithful"), f"known in life {life}", 20)
                finally:
                    await broker.stop()

    check()


@pytest.mark.shows("PR-08", "CI-05")
def test_every_member_hears_of_a_changed_route_which_nobody_asked_for(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with (
            AdminClient(nameserver=running.namesrv) as admin,
            Network(options(running.namesrv, route_interval=0.1)) as network,
        ):
            await admin.topics.create("grows", queues=1)
            members = [Someone("one"), Someone("two"), Someone("three", consumes=True)]
            for member in members:
                network.join(member)
            before = await network.route("grows")
            assert len(before.publish) == 1
            await admin.topics.create("grows", queues=2)
            for member in members:
                await until(lambda each=member: len(each.routes) == 2, f"the news for {member.group}")  # type: ignore[misc]  # bound now
                assert [len(route.publish) for route in member.routes] == [1, 2]
            assert await network.route("grows") == members[0].routes[1]

    check()


def test_an_unknown_broker_is_named(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Network(options(running.namesrv)) as network:
            with pytest.raises(NoBroker, match="broker 'elsewhere' with id 0"):
                network.address_of("elsewhere")
            with pytest.raises(NoBroker, match="broker 'elsewhere'"):
                network.master_or_slave("elsewhere")

    check()


def test_requests_travel_over_tls(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Network(options(running.namesrv, tls=Tls(verify=False))) as network:
            route = await network.route("TBW102")
            network.join(Someone("private"))
            await until(lambda: running.broker.clients.producers("private"), "the broker knows the client")
            assert route.subscribe
        async with Network(
            options(running.namesrv, tls=True, request_timeout=20.0, connect_timeout=20.0)
        ) as strict:
            with pytest.raises(NoNameServer, match="certificate"):
                await strict.route("TBW102")

    check()


def test_what_a_users_hook_adds_is_signed() -> None:
    class Adding(Hook):
        def before_request(self, address: str, request: Frame) -> None:
            request.fields["tenant"] = "north"

    request = Frame(code=Code.HEART_BEAT, fields={"a": "1"}, body=b"body")
    for hook in request_hooks(options("a:1", hooks=[Adding()], access_key="me", secret_key="secret")):
        hook.before("b:2", request)
    assert request.fields.keys() == {"a", "tenant", "AccessKey", "Signature"}
    assert request.fields["Signature"] == signature(b"secret", request)


def test_short_heartbeats_keep_a_member_known(running: Cluster) -> None:
    @in_loop
    async def check() -> None:
        async with Network(options(running.namesrv, heartbeat_v2=True)) as network:
            await network.route("TBW102")
            network.join(Someone("brief", consumes=True))
            for _ in range(3):
                await network.beat()
            assert running.broker.clients.consumer_group("brief")

    check()
