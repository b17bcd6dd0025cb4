"""The name server: which brokers live, which topics they have, and the key-value config."""

from tailfin.namesrv.app import NameServer

__all__ = ["NameServer"]
