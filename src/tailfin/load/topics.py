"""Before a run: where the broker is, and whether the topic is there."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import TypeVar

from tailfin.load import LoadFailed
from tailfin.remoting import Client
from tailfin.wire.bodies.routes import ClusterInfo, TopicRouteData
from tailfin.wire.bodies.topics import Perm, TopicConfig, TopicFilterType
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.headers.namesrv import GetRouteInfoRequestHeader
from tailfin.wire.headers.pull import GetMaxOffsetRequestHeader, GetMaxOffsetResponseHeader
from tailfin.wire.headers.topics import CreateTopicRequestHeader, GetTopicConfigRequestHeader

MASTER = 0
T = TypeVar("T")


def resolve(address: str) -> str:
    """Turn `host:port` into `address:port`."""
    host, _, port = address.rpartition(":")
    try:
        found = socket.getaddrinfo(host.strip("[]"), int(port), type=socket.SOCK_STREAM)[0][4]
    except (ValueError, OverflowError):
        raise LoadFailed(f"{address!r} is not host:port") from None
    except socket.gaierror as error:
        raise LoadFailed(f"cannot find the host of {address}: {error.strerror}") from None
    resolved = str(found[0])
    return f"[{resolved}]:{port}" if ":" in resolved else f"{resolved}:{port}"


def find_broker(namesrv: str, topic: str) -> str:
    """Ask a nameserver for the master that serves a topic, or for any if none does yet."""
    return _with_client(lambda client: _find_broker(client, namesrv, topic))


def queue_count(broker: str, topic: str) -> int | None:
    """Return how many queues a topic has on a broker, for reading and writing alike; None without it."""
    return _with_client(lambda client: _queue_count(client, broker, topic))


def create(broker: str, topic: str, queues: int) -> None:
    """Create a topic on a broker."""
    _with_client(lambda client: _create(client, broker, topic, queues))


def queue_ends(broker: str, topic: str, queues: int) -> list[int]:
    """Return how far each queue of a topic can be read."""
    return _with_client(lambda client: _queue_ends(client, broker, topic, queues))


def _with_client(work: Callable[[Client], Awaitable[T]]) -> T:
    async def inside() -> T:
        client = Client()
        try:
            return await work(client)
        finally:
            await client.stop()

    return asyncio.run(inside())


async def _find_broker(client: Client, namesrv: str, topic: str) -> str:
    response = await client.call(
        namesrv,
        Code.GET_ROUTEINFO_BY_TOPIC,
        header=GetRouteInfoRequestHeader(topic=topic),
        accept=(ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST),
    )
    if response.code == ResponseCode.SUCCESS:
        brokers = TopicRouteData.from_json(response.body).broker_datas
    else:
        everything = await client.call(namesrv, Code.GET_BROKER_CLUSTER_INFO)
        brokers = list(ClusterInfo.from_json(everything.body).broker_addr_table.values())
    masters = [broker.broker_addrs[MASTER] for broker in brokers if MASTER in broker.broker_addrs]
    if not masters:
        raise LoadFailed(f"nameserver {namesrv} knows no broker; is one running, with -n {namesrv}?")
    return masters[0]


async def _queue_count(client: Client, broker: str, topic: str) -> int | None:
    response = await client.call(
        broker,
        Code.GET_TOPIC_CONFIG,
        header=GetTopicConfigRequestHeader(topic=topic),
        accept=(ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST),
    )
    if response.code != ResponseCode.SUCCESS:
        return None
    config = TopicConfig.from_json(response.body)
    return min(config.read_queue_nums, config.write_queue_nums)


async def _create(client: Client, broker: str, topic: str, queues: int) -> None:
    await client.call(
        broker,
        Code.UPDATE_AND_CREATE_TOPIC,
        header=CreateTopicRequestHeader(
            topic=topic,
            default_topic="TBW102",
            read_queue_nums=queues,
            write_queue_nums=queues,
            perm=Perm.READ | Perm.WRITE,
            topic_filter_type=TopicFilterType.SINGLE_TAG,
            topic_sys_flag=0,
        ),
    )


async def _queue_ends(client: Client, broker: str, topic: str, queues: int) -> list[int]:
    ends = []
    for queue_id in range(queues):
        header = GetMaxOffsetRequestHeader(topic=topic, queue_id=queue_id)
        response = await client.call(broker, Code.GET_MAX_OFFSET, header=header)
        ends.append(GetMaxOffsetResponseHeader.decode(response.fields).offset)
    return ends
