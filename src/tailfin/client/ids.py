"""Names by which brokers tell clients apart."""

import os
import secrets
from dataclasses import dataclass

from tailfin.broker.address import local_address


@dataclass(frozen=True, slots=True)
class Identity:
    """A client's names.

    Attributes:
        client_id: never the same for two clients, or a group would give both the same queues.
        stable_id: the same after a restart, for what a client keeps on its own disk.
    """

    client_id: str
    stable_id: str


def identity(*, host: str | None = None, instance: str | None = None, unit: str | None = None) -> Identity:
    """Make the names of a new client: `<ip>@<pid>#<random>`, with the instance and the unit if given."""
    host = host or local_address()
    suffix = f"@{unit}" if unit else ""
    unique = f"{os.getpid()}#{secrets.token_hex(8)}"
    name = f"{instance}#{unique}" if instance else unique
    return Identity(f"{host}@{name}{suffix}", f"{host}@{instance or 'DEFAULT'}{suffix}")
