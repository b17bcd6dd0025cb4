"""What every client can be told, whatever it is."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypedDict

from tailfin.client.hooks import Hook
from tailfin.client.limits import check_seconds
from tailfin.client.tls import Tls
from tailfin.config.setting import ConfigError
from tailfin.remoting.client import split_address
from tailfin.wire.error import RemotingError

NAMESERVER_VARIABLE = "NAMESRV_ADDR"


class ClientKeywords(TypedDict, total=False):
    """The keywords of `ClientOptions`, as producers, consumers and the admin client take them."""

    nameserver: str | Sequence[str] | None
    namespace: str | None
    instance: str | None
    unit: str | None
    host: str | None
    access_key: str | None
    secret_key: str | None
    security_token: str | None
    tls: bool | Tls
    hooks: Sequence[Hook]
    trace: bool
    trace_topic: str
    request_timeout: float
    connect_timeout: float
    idle_timeout: float
    heartbeat_interval: float
    heartbeat_v2: bool
    route_interval: float
    stop_timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientOptions:
    """What every client can be told.

    Args:
        nameserver: `host:port`, several separated by `;`, or a list; without it the environment variable
            NAMESRV_ADDR says it.
        namespace: keeps topics and groups of one cluster apart: names are sent as `namespace%name`.
        instance: a name of this client; broadcasting consumers keep their offsets on disk under it.
        unit: the name of the unit (a part of a company's data centers) the client belongs to.
        host: this host's address in the client id, if the one found is not wanted.
        access_key: name to sign requests with; `secret_key` belongs to it.
        secret_key: the key to sign with.
        security_token: a token to send along.
        tls: True, or a `Tls` that says more.
        hooks: see `Hook`.
        trace: send a trace of messages to the cluster's trace topic.
        trace_topic: the topic of the trace.
        request_timeout: seconds for a control request (routes, heartbeats, offsets).
        connect_timeout: seconds for a new connection.
        idle_timeout: seconds after which an unused connection is closed.
        heartbeat_interval: seconds between heartbeats.
        heartbeat_v2: leave subscriptions that did not change out of heartbeats, where brokers allow it.
        route_interval: seconds between looks for changed routes.
        stop_timeout: seconds that `stop` waits for what is under way.
    """

    nameserver: str | Sequence[str] | None = None
    namespace: str | None = None
    instance: str | None = None
    unit: str | None = None
    host: str | None = None
    access_key: str | None = None
    secret_key: str | None = None
    security_token: str | None = None
    tls: bool | Tls = False
    hooks: Sequence[Hook] = ()
    trace: bool = False
    trace_topic: str = "RMQ_SYS_TRACE_TOPIC"
    request_timeout: float = 3.0
    connect_timeout: float = 3.0
    idle_timeout: float = 120.0
    heartbeat_interval: float = 30.0
    heartbeat_v2: bool = False
    route_interval: float = 30.0
    stop_timeout: float = 10.0

    def __post_init__(self) -> None:
        if bool(self.access_key) != bool(self.secret_key):
            raise ConfigError("access_key and secret_key belong together: give both, or none")
        for name in _POSITIVE:
            check_seconds(name, getattr(self, name))

    def nameservers(self, environment: Mapping[str, str] | None = None) -> tuple[str, ...]:
        """Return the name servers' addresses; raise ConfigError when there are none, or not such."""
        environment = os.environ if environment is None else environment
        given = self.nameserver or environment.get(NAMESERVER_VARIABLE) or ""
        parts = given.split(";") if isinstance(given, str) else given
        addresses = tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
        if not addresses:
            raise ConfigError(
                'no name server: pass nameserver="host:9876" '
                f"or set the environment variable {NAMESERVER_VARIABLE}"
            )
        for address in addresses:
            try:
                split_address(address)
            except RemotingError as error:
                raise ConfigError(f"nameserver: {error.remark}; a name server's usual port is 9876") from None
        return addresses

    def tls_settings(self) -> Tls | None:
        """Return how to speak TLS, None: not at all."""
        return self.tls if isinstance(self.tls, Tls) else Tls() if self.tls else None


_POSITIVE = (
    "request_timeout",
    "connect_timeout",
    "idle_timeout",
    "heartbeat_interval",
    "route_interval",
    "stop_timeout",
)
