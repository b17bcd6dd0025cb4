"""The address that clients are told: found when not given, and tried before anyone is told."""

import asyncio
import contextlib
import ipaddress
import logging
import os
import random
import socket
from pathlib import Path

from tailfin.config.setting import ConfigError

log = logging.getLogger("tailfin.broker")

TRY_WITHIN_S = 2.0
OWN_PORTS = range(12_000, 32_000)
"""Below those that Linux gives to connections and to servers that do not care."""
PORT_TRIES = 20


def local_address(towards: str | None = None) -> str:
    """Return the address of this host from which another, by default any, is reached."""
    for target in filter(None, (towards, "192.0.2.1")):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                # Nothing is sent: the kernel only chooses the way.
                probe.connect((target, 9))
                found = str(probe.getsockname()[0])
            except OSError:
                continue
            if found != "0.0.0.0":
                return found
    return "127.0.0.1"


def resolved(host: str) -> str:
    """Return the IP address of brokerIP1, which may be a name, as records hold it: IPv6 in brackets.

    Raises:
        ConfigError: nobody knows an address of that name.
    """
    try:
        found = socket.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_STREAM)
    except (OSError, ValueError) as error:  # a name that no DNS can hold is a ValueError
        raise ConfigError(
            f"brokerIP1={host} is no address of this host, and no name that can be resolved: {error}"
        ) from None
    # A name may have addresses of both kinds; every client can make use of IPv4.
    family, *_, place = min(found, key=lambda each: each[0] != socket.AF_INET)
    ip = str(place[0]).partition("%")[0]
    return f"[{ip}]" if family == socket.AF_INET6 else ip


def free_port(host: str) -> int:
    """Return a port that nobody listens on now, and that nobody is given who asks the system for any."""
    for port in random.sample(OWN_PORTS, PORT_TRIES):
        with contextlib.suppress(OSError), socket.create_server((host, port)):
            return port
    with socket.create_server((host, 0)) as probe:
        return int(probe.getsockname()[1])


async def reachable(host: str, port: int) -> str | None:
    """Try to connect; return what is wrong, None when nothing is."""
    try:
        async with asyncio.timeout(TRY_WITHIN_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), port)
    except TimeoutError:
        return f"nothing answers at {host}:{port}"
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"
    writer.close()
    return None


def advice(host: str) -> str | None:
    """Say what is doubtful about telling clients this address."""
    if _in_container() and _is_private_of_container(host):
        return (
            f"clients outside this container will be told {host}, which they cannot reach: set brokerIP1 to "
            "the host's address and publish the port under the same number"
        )
    return None


def _in_container() -> bool:
    return Path("/.dockerenv").exists() or bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def _is_private_of_container(host: str) -> bool:
    try:
        return ipaddress.ip_address(host) in ipaddress.ip_network("172.16.0.0/12")
    except ValueError:
        return False
