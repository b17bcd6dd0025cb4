"""The settings of a broker, and how one `broker.conf` becomes the settings of all its parts."""

import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Self

from tailfin.config import properties
from tailfin.config.process import ProcessSettings
from tailfin.config.server import ServerConfig
from tailfin.config.setting import (
    LONG_MAX,
    ConfigError,
    Settings,
    as_text,
    policy,
    refuse_unserved,
    share,
)
from tailfin.config.store import StoreConfig

MASTER_ID = 0
CLEAN_LABEL = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-."


@dataclass(frozen=True, kw_only=True)
class BrokerConfig(Settings):
    """How a broker behaves: RocketMQ's key names and defaults, one line each.

    Times are milliseconds unless the line says otherwise.
    """

    # Who it is
    brokerClusterName: str = policy("DefaultCluster", "Cluster the broker belongs to.")
    brokerName: str = policy("", "Name shared by a master and its slaves; empty: the host's name.")
    brokerId: int = policy(0, "0 for a master, above 0 for a slave.", low=-1, high=LONG_MAX)
    namesrvAddr: str = policy("", "Name servers, host:port joined by ';'; empty: NAMESRV_ADDR.")
    brokerIP1: str = policy("", "Address that clients are told; empty: this host's.")
    brokerIP2: str = policy("", "Address that slaves are told; empty: as brokerIP1.")
    listenPort: int = policy(10911, "Port to listen on; 0: any free one.", high=65535)
    haListenPort: int = policy(0, "Port told to slaves; 0: listenPort + 1.", high=65535)
    brokerConfigPath: str = policy("", "The file these settings came from, where changes are kept.")
    rocketmqHome: str = policy("", "Taken for RocketMQ's scripts; nothing is read from there.")

    # What it lets happen
    brokerPermission: int = policy(6, "4 read, 2 write, 6 both.", high=7)
    startAcceptSendRequestTimeStamp: int = policy(0, "Refuse sends before this time.", high=LONG_MAX)
    rejectTransactionMessage: bool = policy(False, "Refuse transactional messages.")
    litePullMessageEnable: bool = policy(True, "Serve pulls of lite pull consumers.")
    storeReplyMessageEnable: bool = policy(True, "Keep replies in the cluster's reply topic.")
    slaveReadEnable: bool = policy(False, "Suggest a slave to readers that fell behind.")
    configBlackList: str = policy("configBlackList;brokerConfigPath", "Keys that cannot be changed remotely.")

    recallMessageEnable: bool = policy(False, "Producers may take timed messages back.")
    allowRecallWhenBrokerNotWriteable: bool = policy(True, "Also while the broker takes no other messages.")

    # Topics
    defaultTopicQueueNums: int = policy(8, "Queues of TBW102, the most an auto-created topic gets.", low=1)
    autoCreateTopicEnable: bool = policy(True, "The first message to an unknown topic creates it.")
    clusterTopicEnable: bool = policy(True, "The topic named like the cluster may be used.")
    brokerTopicEnable: bool = policy(True, "The topic named like the broker may be used.")
    traceTopicEnable: bool = policy(False, "Offer the trace topic.")
    msgTraceTopicName: str = policy("RMQ_SYS_TRACE_TOPIC", "Name of the trace topic.")
    validateSystemTopicWhenUpdateTopic: bool = policy(True, "Refuse changes to system topics.")
    enableMixedMessageType: bool = policy(False, "Allow message.type=MIXED.")
    clearRetryTopicWhenDeleteTopic: bool = policy(True, "Deleting a topic deletes its POP retry topics.")
    reviveQueueNum: int = policy(8, "Queues of the POP revive topic.", low=1)
    timerWheelEnable: bool = policy(True, "Serve messages timed to any moment.")

    # Consumers
    autoCreateSubscriptionGroup: bool = policy(True, "The first pull or heartbeat creates a group.")
    notifyConsumerIdsChangedEnable: bool = policy(True, "Tell members when a group changes.")
    realTimeNotifyConsumerChange: bool = policy(True, "Tell them at once, else every 15 s.")
    channelExpiredTimeout: int = policy(120_000, "Clients silent for this long are dropped.", low=1)
    enableRegisterProducer: bool = policy(True, "Keep a table of producers.")
    flushConsumerOffsetInterval: int = policy(5000, "Time between writes of consumer offsets.", low=1)
    consumerOffsetUpdateVersionStep: int = policy(500, "Commits that make a new data version.", low=1)
    useServerSideResetOffset: bool = policy(True, "Reset offsets without the clients' help.")
    longPollingEnable: bool = policy(True, "Hold pulls that find nothing for as long as they ask.")
    shortPollingTimeMills: int = policy(1000, "Hold time when long polling is off.", low=1)
    disableConsumeIfConsumerReadSlowly: bool = policy(False, "Stop groups that are too far behind.")
    consumerFallbehindThreshold: int = policy(16 << 30, "Bytes behind that are too far.", high=LONG_MAX)
    enablePropertyFilter: bool = policy(False, "Serve filters by properties (SQL92).")
    filterSupportRetry: bool = policy(False, "Judge retried messages by the filter of their first topic.")
    filterDataCleanTimeSpan: int = policy(
        86_400_000, "Forget filters of groups gone this long.", high=LONG_MAX
    )
    maxErrorRateOfBloomFilter: int = policy(20, "Percent of false hits; for Java's bit maps.", low=1, high=99)
    expectConsumerNumUseFilter: int = policy(32, "Filters per topic; for Java's bit maps.", low=1)
    defaultQueryMaxNum: int = policy(32, "Most messages of a query by unique key.", low=1)

    # Transactions
    transactionTimeOut: int = policy(6000, "Age at which a transaction's producer is first asked.")
    transactionCheckMax: int = policy(15, "Times a producer is asked before its half is given up.", low=1)
    transactionCheckInterval: int = policy(30_000, "Time between rounds of asking.", low=1)
    transactionMetricFlushInterval: int = policy(10_000, "Time between writes of the open counts.", low=1)
    transactionOpMsgMaxSize: int = policy(4096, "Most bytes of offsets in one op record.", low=1)

    # Name servers
    registerNameServerPeriod: int = policy(30_000, "Time between registrations.", clamp=(10_000, 60_000))
    registerBrokerTimeoutMills: int = policy(24_000, "Longest wait for one name server.", low=1)
    forceRegister: bool = policy(True, "Register even when no topic changed.")
    disappearTimeAfterStart: int = policy(-1, "Keep away from name servers for this long.", low=-1)
    compressedRegister: bool = policy(False, "Send topics to name servers compressed.")
    enableSingleTopicRegister: bool = policy(
        False, "Tell of a changed topic alone; for name servers with deleteTopicWithBrokerRegistration."
    )

    # What messages and replies are marked with
    regionId: str = policy("DefaultRegion", "Region written into messages.")
    traceOn: bool = policy(True, "Whether clients may trace.")

    def __post_init__(self) -> None:
        """Check each value, fill in what the machine knows, then check the rest."""
        super().__post_init__()
        for name, filled in (
            ("brokerName", self.brokerName or _host_name()),
            ("namesrvAddr", self.namesrvAddr or os.environ.get("NAMESRV_ADDR", "")),
        ):
            object.__setattr__(self, name, filled)
        for address in self.name_servers():
            host, _, port = address.rpartition(":")
            if not host or not port.isdecimal() or not 0 < int(port) <= 65535:
                raise ConfigError(
                    f"namesrvAddr must be host:port, several joined by ';', not {self.namesrvAddr!r}"
                )
        for key in ("brokerName", "brokerClusterName"):
            strange = sorted(set(getattr(self, key)) - set(CLEAN_LABEL))
            if strange:
                raise ConfigError(
                    f"{key} may hold letters, digits, '_', '-' and '.', not {''.join(strange)!r}"
                )

    def name_servers(self) -> list[str]:
        """Addresses of the name servers."""
        return [part.strip() for part in self.namesrvAddr.split(";") if part.strip()]


_FIXED = {"brokerConfigPath", "rocketmqHome", "configBlackList"}


@dataclass(frozen=True, kw_only=True)
class BrokerSettings(ProcessSettings):
    """All settings of one broker process, sorted by the part that acts on them."""

    PARTS = (BrokerConfig, StoreConfig, ServerConfig)

    broker: BrokerConfig = field(default_factory=BrokerConfig)
    store: StoreConfig = field(default_factory=StoreConfig)
    server: ServerConfig = field(default_factory=ServerConfig)
    given: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Hold the role and the id together, as RocketMQ does."""
        if self.store.brokerRole == "SLAVE":
            if self.broker.brokerId <= MASTER_ID:
                raise ConfigError("a SLAVE needs a brokerId above 0")
        elif self.broker.brokerId != MASTER_ID:
            object.__setattr__(self, "broker", replace(self.broker, brokerId=MASTER_ID))

    @classmethod
    def load(cls, path: str | Path | None = None, **settings: object) -> Self:
        """Take a file like RocketMQ's `broker.conf`; keywords win over it."""
        values: dict[str, object] = {}
        if path is not None:
            try:
                values.update(cls.named(properties.read(path)))
            except ValueError as error:
                raise ConfigError(f"{path}: {error}") from None
            values["brokerConfigPath"] = str(Path(path).absolute())
        return cls.of({**values, **cls.named(settings)})

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        """Sort the keys to the parts; a key nobody knows is an error."""
        values = cls.named(values)
        refuse_unserved(values)
        broker, store, server = share(values, cls.PARTS)
        return cls(
            broker=BrokerConfig(**broker),
            store=StoreConfig(**store),
            server=ServerConfig(**server),
            given={key: as_text(value) for key, value in values.items()},
        )

    def forbidden_keys(self) -> set[str]:
        """Names of the settings that a remote caller may not change."""
        return _FIXED | {self.name_of(key.strip()) for key in self.broker.configBlackList.split(";")}

    def all(self) -> dict[str, str]:
        """Every setting in force as text, with keys that were given though nothing acts on them."""
        texts = dict(self.given)
        for part in (self.store, self.server, self.broker):
            texts.update({each.name: as_text(getattr(part, each.name)) for each in fields(part)})
        return dict(sorted(texts.items()))


def _host_name() -> str:
    """Name of this host, with whatever a topic's name cannot hold replaced."""
    clean = "".join(c if c in CLEAN_LABEL else "_" for c in socket.gethostname())
    return clean or "DEFAULT_BROKER"
