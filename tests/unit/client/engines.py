"""Couriers and outboxes of the engine for tests, with every option at a plain value."""

import contextlib
from collections.abc import Iterator

from tailfin._engine import Courier, Outbox, Receipt

COURIER: dict[str, int | bool | str] = {
    "connect_ms": 3000,
    "idle_ms": 120_000,
    "max_frame_bytes": 16 << 20,
    "binary": False,
    "tls": False,
    "tls_ca": "",
    "tls_insecure": False,
    "tls_check_host": False,
    "tls_cert": "",
    "tls_key": "",
    "access_key": "",
    "secret_key": "",
    "security_token": "",
}

OUTBOX: dict[str, int | bool | str] = {
    "group": "senders",
    "linger_ms": 5,
    "batch_bytes": 64 << 10,
    "batch_count": 512,
    "room_bytes": 16 << 20,
    "compression": "none",
    "compression_level": 5,
    "compress_over": 4096,
    "max_message_size": 4 << 20,
    "timeout_ms": 10_000,
    "default_topic": "TBW102",
    "default_queues": 4,
    "unit_mode": False,
    "instance_id": "",
    "client_ip": "127.0.0.1",
}


@contextlib.contextmanager
def courier(**options: int | bool | str) -> Iterator[Courier]:
    """A courier that is stopped at the end of the block."""
    made = Courier(COURIER | options)
    try:
        yield made
    finally:
        made.stop(0.0)


def outbox(carrying: Courier, **options: int | bool | str) -> Outbox:
    """An outbox."""
    return Outbox(carrying, OUTBOX | options)


def ended(receipt: Receipt) -> Receipt:
    """Wait for a receipt."""
    assert receipt.wait(20.0), "no result within 20 s"
    return receipt
