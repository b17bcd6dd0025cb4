"""The settings of a name server: RocketMQ's `NamesrvConfig`."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Self

from tailfin.config import properties
from tailfin.config.process import ProcessSettings
from tailfin.config.server import ServerConfig
from tailfin.config.setting import ConfigError, Settings, as_text, policy, share

_BLACK_LIST = "configBlackList;configStorePath;kvConfigPath"


@dataclass(frozen=True, kw_only=True)
class NamesrvConfig(Settings):
    """How a name server works: RocketMQ's key names and defaults, one line each. Times are milliseconds."""

    listenPort: int = policy(9876, "Port to listen on; 0: any free one.", high=65535)
    rocketmqHome: str = policy("", "RocketMQ's directory; empty: the environment's ROCKETMQ_HOME.")
    kvConfigPath: str = policy("", "File of the key-value config; empty: ~/namesrv/kvConfig.json.")
    configStorePath: str = policy(
        "", "File that a remote change goes to; empty: ~/namesrv/namesrv.properties."
    )
    configBlackList: str = policy(_BLACK_LIST, "Keys that cannot be changed remotely, joined by ';'.")
    productEnvName: str = policy("center", "Name of the environment, shown only.")
    clusterTest: bool = policy(False, "Marks a test environment, shown only.")

    scanNotActiveBrokerInterval: int = policy(5000, "Time between two looks for silent brokers.", low=1)
    unRegisterBrokerQueueCapacity: int = policy(3000, "Brokers that may wait to be removed.", low=1)
    notifyMinBrokerIdChanged: bool = policy(False, "Tell brokers when another member has the smallest id.")
    deleteTopicWithBrokerRegistration: bool = policy(False, "Drop topics that a broker no longer registers.")
    returnOrderTopicConfigToBroker: bool = policy(True, "Answer registrations with the order config.")

    supportActingMaster: bool = policy(False, "Show a slave as master while there is none.")
    orderMessageEnable: bool = policy(False, "Put the order config into routes.")
    enableAllTopicList: bool = policy(True, "Answer requests for all topics.")
    enableTopicList: bool = policy(True, "Answer requests for topics by cluster or kind.")
    needWaitForService: bool = policy(False, "Answer no routes right after start.")
    waitSecondsForService: int = policy(45, "How long that lasts, in seconds.")

    def key_values(self) -> Path:
        """Return the file of the key-value config."""
        return _home(self.kvConfigPath, "kvConfig.json")

    def stored_at(self) -> Path:
        """Return the file that a remote change goes to."""
        return _home(self.configStorePath, "namesrv.properties")


_FIXED = {"configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"}


@dataclass(frozen=True, kw_only=True)
class NamesrvSettings(ProcessSettings):
    """All settings of one name server process, sorted by the part that acts on them."""

    PARTS = (NamesrvConfig, ServerConfig)

    namesrv: NamesrvConfig = field(default_factory=NamesrvConfig)
    server: ServerConfig = field(default_factory=ServerConfig)
    given: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def load(cls, path: str | Path | None = None, **settings: object) -> Self:
        """Take a file like RocketMQ's `namesrv.conf`; keywords win over it."""
        values: dict[str, object] = {"rocketmqHome": os.environ.get("ROCKETMQ_HOME", "")}
        if path is not None:
            try:
                values |= cls.named(properties.read(path))
            except ValueError as error:
                raise ConfigError(f"{path}: {error}") from None
            values["configStorePath"] = str(Path(path).absolute())
        return cls.of(values | cls.named(settings))

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        """Sort the keys to the parts; a key nobody knows is an error."""
        values = cls.named(values)
        namesrv, server = share(values, cls.PARTS)
        return cls(namesrv=NamesrvConfig(**namesrv), server=ServerConfig(**server), given=values)

    def fixed_keys(self) -> set[str]:
        """Return the names of the settings that cannot be changed remotely."""
        return _FIXED | {self.name_of(key.strip()) for key in self.namesrv.configBlackList.split(";")}

    def all(self) -> dict[str, str]:
        """Return every setting in force as text."""
        parts = (self.server, self.namesrv)
        texts = {each.name: as_text(getattr(part, each.name)) for part in parts for each in fields(part)}
        return dict(sorted(texts.items()))


def _home(given: str, name: str) -> Path:
    return (Path(given).expanduser() if given else Path.home() / "namesrv" / name).absolute()
