"""The settings of a remoting server: RocketMQ's `NettyServerConfig` and TLS settings."""

from dataclasses import asdict, dataclass, fields

from tailfin.config.setting import ConfigError, Settings, policy, setting

_MODES = ("disabled", "permissive", "enforcing")
_CLIENT_AUTH = ("none", "optional", "require")


@dataclass(frozen=True, kw_only=True)
class ServerConfig(Settings):
    """How a server talks to its clients: RocketMQ's key names and defaults, one line each.

    RocketMQ's `tls.server.mode` is `tlsServerMode` here; files and mappings may use either. The capacities
    are budgets: beyond one of them the engine does not read from those who ask for more.
    `partialFrameBytes` and `pythonQueueBytes` are Tailfin's own.
    """

    # Sockets
    bindAddress: str = policy("0.0.0.0", "The address to listen at.")
    serverSelectorThreads: int = setting(
        3, "Threads that own the sockets, up to one a core.", low=1, high=256
    )
    serverSocketBacklog: int = setting(1024, "Clients that may wait to be accepted.", low=1)
    serverSocketSndBufSize: int = setting(0, "The kernel's send buffer; 0: the kernel decides.")
    serverSocketRcvBufSize: int = setting(0, "The kernel's receive buffer; 0: the kernel decides.")
    serverChannelMaxIdleTimeSeconds: int = setting(120, "Close a connection silent for so long; 0: never.")
    frameMaxLength: int = setting(16 << 20, "Longest frame.", low=1024, high=1 << 30)
    partialFrameBytes: int = setting(256 << 20, "Memory for frames that are not complete.", low=1 << 20)
    writeBufferHighWaterMark: int = setting(0, "Stop reading at so many unsent bytes; 0: 1 MiB.")
    writeBufferLowWaterMark: int = setting(0, "Read again at so many; 0: half of the high mark.")

    # What may wait for Python
    clientManagerThreadPoolQueueCapacity: int = setting(1_000_000, "Heartbeats and the like.", low=1)
    adminBrokerThreadPoolQueueCapacity: int = setting(10_000, "Requests of administrators.", low=1)
    queryThreadPoolQueueCapacity: int = setting(20_000, "Queries for messages.", low=1)
    defaultThreadPoolQueueCapacity: int = setting(10_000, "Everything else.", low=1)
    pythonQueueBytes: int = setting(64 << 20, "Bytes of waiting requests of one kind.", low=1)

    # TLS
    tlsServerMode: str = setting("permissive", "Who may speak TLS, or must.", choices=_MODES)
    tlsTestModeEnable: bool = setting(True, "Without a certificate make one up.")
    tlsServerCertPath: str = setting("", "PEM file of the certificate chain.")
    tlsServerKeyPath: str = setting("", "PEM file of its key.")
    tlsServerKeyPassword: str = policy("", "Must stay empty: the key must not be encrypted.")
    tlsServerNeedClientAuth: str = setting("none", "Whether clients show one too.", choices=_CLIENT_AUTH)
    tlsServerAuthClient: bool = setting(False, "Check what they show.")
    tlsServerTrustCertPath: str = setting("", "PEM file of who may have signed it.")

    # Stopping
    enableShutdownGracefully: bool = policy(False, "Tell clients to go away before closing.")
    shutdownWaitTimeSeconds: int = policy(30, "How long that may take.")

    def __post_init__(self) -> None:
        """Check each value, then those that belong together."""
        super().__post_init__()
        if bool(self.tlsServerCertPath) != bool(self.tlsServerKeyPath):
            raise ConfigError("tls.server.certPath and tls.server.keyPath must be given together")
        if self.tlsServerKeyPassword:
            raise ConfigError("tls.server.keyPassword: use a key that is not encrypted")

    def go_away_seconds(self) -> int:
        """Return for how long clients are told to go away before a stop."""
        return self.shutdownWaitTimeSeconds if self.enableShutdownGracefully else 0

    def engine_options(self) -> dict[str, int | bool | str]:
        """Return what the engine asks for: its keys and no others."""
        values = asdict(self)
        return {each.name: values[each.name] for each in fields(self) if each.metadata["rule"].engine}
