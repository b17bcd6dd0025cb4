"""The admin client: one for all that an operator does, awaited."""

from types import TracebackType
from typing import Self, Unpack

from tailfin.admin.cluster import Cluster
from tailfin.admin.connections import Connections
from tailfin.admin.dead_letters import DeadLetters
from tailfin.admin.groups import Groups
from tailfin.admin.messages import Messages
from tailfin.admin.offsets import Offsets
from tailfin.admin.reading import Reading
from tailfin.admin.resending import Resending
from tailfin.admin.servers import Servers
from tailfin.admin.stats import Stats
from tailfin.admin.topics import Topics
from tailfin.client.keywords import shared_out
from tailfin.client.network import Network
from tailfin.client.options import ClientKeywords, ClientOptions
from tailfin.config.setting import ConfigError

TIMEOUT_S = 5.0


class AdminClient:
    """Looks after a cluster, of Tailfin or of RocketMQ 4.9 and 5.x.

    Names are as brokers know them: a topic of a namespace is `namespace%topic`. Times are milliseconds since
    the epoch where they are returned; a `datetime` is taken as well.

    Args:
        timeout: seconds for each request.
        **options: those of every client, such as `nameserver`, `access_key`, `secret_key` and `tls`; see
            `tailfin.client.options.ClientOptions`.

    Attributes:
        topics: list, create, change, delete; route and status.
        groups: list, create, change, delete.
        offsets: how far groups are; reset, skip, clone.
        cluster: brokers, name servers, their settings.
        messages: find, read, send again, who consumed.
        connections: producers and consumers that are connected.
        stats: figures over the last minute, hour and day.
        dead_letters: list, resend.

    Example:
        ```python
        async with tailfin.aio.AdminClient(nameserver="127.0.0.1:9876") as admin:
            await admin.topics.create("orders", queues=16)
            print((await admin.offsets.progress("billing")).lag)
        ```
    """

    def __init__(self, *, timeout: float = TIMEOUT_S, **options: Unpack[ClientKeywords]) -> None:
        if options.get("namespace"):
            raise ConfigError("the admin client sees all namespaces: name topics and groups `namespace%name`")
        options.setdefault("request_timeout", timeout)
        self._network = Network(ClientOptions(**shared_out(options, ClientOptions)[0]))
        servers = Servers(self._network)
        reading, resending = Reading(servers), Resending(servers)
        self.topics = Topics(servers)
        self.groups = Groups(servers, self.topics)
        self.connections = Connections(servers)
        self.offsets = Offsets(servers, self.groups, self.connections, reading)
        self.cluster = Cluster(servers)
        self.messages = Messages(
            servers,
            self.topics,
            self.connections,
            self.offsets,
            reading,
            resending,
        )
        self.stats = Stats(servers)
        self.dead_letters = DeadLetters(servers, self.topics, self.messages, resending)

    async def start(self) -> None:
        """Begin; connections are opened when they are needed."""
        await self._network.start()

    async def stop(self) -> None:
        """Close every connection."""
        await self._network.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        await self.stop()
