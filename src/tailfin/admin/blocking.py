"""The admin client without `await`: every method is the asyncio one, run in the blocking clients' loop."""

import asyncio
import functools
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack

from tailfin.admin import client, cluster, connections, dead_letters, groups, messages, offsets, stats, topics
from tailfin.client.blocking.face import Face
from tailfin.client.options import ClientKeywords

P = ParamSpec("P")
R = TypeVar("R")
N = TypeVar("N")

_END = object()


class Noun(Generic[N]):
    """One of the admin client's nouns, without `await`."""

    def __init__(self, client: "AdminClient", noun: N) -> None:
        self._client = client
        self._core = noun


class Waiting(Generic[N, P, R]):
    """A method that waits for the asyncio method of the same name."""

    def __init__(self, method: Callable[Concatenate[N, P], Coroutine[Any, Any, R]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, noun: Noun[N], owner: type[Noun[N]]) -> Callable[P, R]:
        @functools.wraps(self._method)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            return noun._client._call(self._method(noun._core, *args, **kwargs))

        return call


class Iterating(Generic[N, P, R]):
    """A method that iterates over what the asyncio method of the same name yields."""

    def __init__(self, method: Callable[Concatenate[N, P], AsyncGenerator[R, None]]) -> None:
        self._method = method
        self.__doc__ = method.__doc__

    def __get__(self, noun: Noun[N], owner: type[Noun[N]]) -> Callable[P, Iterator[R]]:
        @functools.wraps(self._method)
        def iterate(*args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
            call = noun._client._call
            steps = _Steps(self._method(noun._core, *args, **kwargs))
            try:
                while (found := call(steps.next())) is not _END:
                    yield found  # type: ignore[misc]  # the end was checked for
            finally:
                call(steps.close())

        return iterate


class _Steps(Generic[R]):
    """An async generator, a step at a time: after Ctrl-C the last step may still be on its way out."""

    def __init__(self, source: AsyncGenerator[R, None]) -> None:
        self._source = source
        self._one_at_a_time = asyncio.Lock()

    async def next(self) -> R | object:
        async with self._one_at_a_time:
            return await anext(self._source, _END)

    async def close(self) -> None:
        async with self._one_at_a_time:
            await self._source.aclose()


class Topics(Noun[topics.Topics]):
    """What an operator does with topics: `AdminClient.topics`."""

    list = Waiting(topics.Topics.list)
    create = Waiting(topics.Topics.create)
    update = Waiting(topics.Topics.update)
    delete = Waiting(topics.Topics.delete)
    route = Waiting(topics.Topics.route)
    status = Waiting(topics.Topics.status)
    config = Waiting(topics.Topics.config)
    groups = Waiting(topics.Topics.groups)


class Groups(Noun[groups.Groups]):
    """What an operator does with consumer groups: `AdminClient.groups`."""

    list = Waiting(groups.Groups.list)
    create = Waiting(groups.Groups.create)
    update = Waiting(groups.Groups.update)
    delete = Waiting(groups.Groups.delete)
    config = Waiting(groups.Groups.config)


class Offsets(Noun[offsets.Offsets]):
    """What an operator does with offsets of groups: `AdminClient.offsets`."""

    progress = Waiting(offsets.Offsets.progress)
    find = Waiting(offsets.Offsets.find)
    reset = Waiting(offsets.Offsets.reset)
    reset_queue = Waiting(offsets.Offsets.reset_queue)
    skip = Waiting(offsets.Offsets.skip)
    clone = Waiting(offsets.Offsets.clone)


class Cluster(Noun[cluster.Cluster]):
    """What an operator does with brokers and name servers: `AdminClient.cluster`."""

    list = Waiting(cluster.Cluster.list)
    brokers = Waiting(cluster.Cluster.brokers)
    runtime = Waiting(cluster.Cluster.runtime)
    config = Waiting(cluster.Cluster.config)
    update_config = Waiting(cluster.Cluster.update_config)
    nameserver_config = Waiting(cluster.Cluster.nameserver_config)
    update_nameserver_config = Waiting(cluster.Cluster.update_nameserver_config)
    kv_list = Waiting(cluster.Cluster.kv_list)
    kv_get = Waiting(cluster.Cluster.kv_get)
    kv_put = Waiting(cluster.Cluster.kv_put)
    kv_delete = Waiting(cluster.Cluster.kv_delete)
    wipe_write_permission = Waiting(cluster.Cluster.wipe_write_permission)
    add_write_permission = Waiting(cluster.Cluster.add_write_permission)
    delete_expired_files = Waiting(cluster.Cluster.delete_expired_files)
    delete_unused_topics = Waiting(cluster.Cluster.delete_unused_topics)


class Messages(Noun[messages.Messages]):
    """What an operator does with messages: `AdminClient.messages`."""

    find = Waiting(messages.Messages.find)
    by_id = Waiting(messages.Messages.by_id)
    by_unique_key = Waiting(messages.Messages.by_unique_key)
    by_key = Waiting(messages.Messages.by_key)
    by_offset = Waiting(messages.Messages.by_offset)
    read = Iterating(messages.Messages.read)
    read_queue = Iterating(messages.Messages.read_queue)
    follow = Iterating(messages.Messages.follow)
    resend = Waiting(messages.Messages.resend)
    consume_directly = Waiting(messages.Messages.consume_directly)
    track = Waiting(messages.Messages.track)


class Connections(Noun[connections.Connections]):
    """What an operator asks about clients: `AdminClient.connections`."""

    producers = Waiting(connections.Connections.producers)
    all_producers = Waiting(connections.Connections.all_producers)
    consumers = Waiting(connections.Connections.consumers)
    subscriptions = Waiting(connections.Connections.subscriptions)
    running_info = Waiting(connections.Connections.running_info)
    running_infos = Waiting(connections.Connections.running_infos)


class Stats(Noun[stats.Stats]):
    """Figures that brokers count: `AdminClient.stats`."""

    topic = Waiting(stats.Stats.topic)
    group = Waiting(stats.Stats.group)
    sent_to = Waiting(stats.Stats.sent_to)
    read_from = Waiting(stats.Stats.read_from)
    figure = Waiting(stats.Stats.figure)


class DeadLetters(Noun[dead_letters.DeadLetters]):
    """What an operator does with dead letters: `AdminClient.dead_letters`."""

    groups = Waiting(dead_letters.DeadLetters.groups)
    list = Waiting(dead_letters.DeadLetters.list)
    show = Waiting(dead_letters.DeadLetters.show)
    resend = Waiting(dead_letters.DeadLetters.resend)
    resend_all = Waiting(dead_letters.DeadLetters.resend_all)


class AdminClient(Face):
    """Looks after a cluster, of Tailfin or of RocketMQ 4.9 and 5.x.

    The arguments and the attributes are those of `tailfin.aio.AdminClient`.

    Example:
        ```python
        with tailfin.AdminClient(nameserver="127.0.0.1:9876") as admin:
            admin.topics.create("orders", queues=16)
            print(admin.offsets.progress("billing").lag)
        ```
    """

    def __init__(self, *, timeout: float = client.TIMEOUT_S, **options: Unpack[ClientKeywords]) -> None:
        self._core = client.AdminClient(timeout=timeout, **options)
        super().__init__(self._core, "client")
        self.topics = Topics(self, self._core.topics)
        self.groups = Groups(self, self._core.groups)
        self.offsets = Offsets(self, self._core.offsets)
        self.cluster = Cluster(self, self._core.cluster)
        self.messages = Messages(self, self._core.messages)
        self.connections = Connections(self, self._core.connections)
        self.stats = Stats(self, self._core.stats)
        self.dead_letters = DeadLetters(self, self._core.dead_letters)
