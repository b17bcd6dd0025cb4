"""Every setting once: RocketMQ's key, its type, its default and one line of help."""

from tailfin.config.broker import BrokerConfig, BrokerSettings
from tailfin.config.server import ServerConfig
from tailfin.config.setting import ConfigError
from tailfin.config.store import StoreConfig

__all__ = ["BrokerConfig", "BrokerSettings", "ConfigError", "ServerConfig", "StoreConfig"]
