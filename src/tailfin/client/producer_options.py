"""What a producer can be told, besides what every client can."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, Literal

from tailfin.broker.names import DEFAULT_TOPIC
from tailfin.client.checking import MESSAGE_BYTES_MAX
from tailfin.client.keywords import shared_out
from tailfin.client.limits import check_seconds, check_whole
from tailfin.client.options import ClientKeywords, ClientOptions
from tailfin.client.retrying import RETRY_CODES, RetryPolicy
from tailfin.config.setting import ConfigError

Compression = Literal["zlib", "lz4", "zstd", "none"]


class ProducerKeywords(ClientKeywords, total=False):
    """The keywords of `ProducerOptions` and `ClientOptions`."""

    timeout: float
    retries: int
    retry_codes: Collection[int]
    retry_unless_ok: bool
    avoid_slow_brokers: bool
    linger: float
    batch_bytes: int
    batch_count: int
    buffer_bytes: int
    compression: Compression
    compression_level: int
    compress_over: int
    max_message_size: int
    default_topic: str
    default_queues: int
    check: Callable[..., Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerOptions:
    """What a producer can be told.

    Args:
        timeout: seconds for a send, all tries together.
        retries: further tries after the first; sends to a chosen queue are tried once.
        retry_codes: refusals after which another broker is tried.
        retry_unless_ok: try again also when a message was stored, but not flushed or copied in time.
        avoid_slow_brokers: leave a broker alone for a while after it was slow, or did not answer.
        linger: seconds that `send_soon` may hold a message back to send it together with others; 0: none.
        batch_bytes: bytes after which messages that are held back go at once.
        batch_count: number of messages after which they go at once.
        buffer_bytes: bytes of messages under way; beyond it senders wait.
        compression: how bodies are compressed.
        compression_level: how hard, from 0 to 9.
        compress_over: bytes from which a body is compressed.
        max_message_size: bytes that brokers take.
        default_topic: the topic whose settings a missing topic is created with.
        default_queues: how many queues a missing topic is created with.
        check: called when a broker asks how a transaction ended; it takes the message and returns a
            `Transaction`.
    """

    timeout: float = 3.0
    retries: int = 2
    retry_codes: Collection[int] = RETRY_CODES
    retry_unless_ok: bool = False
    avoid_slow_brokers: bool = False
    linger: float = 0.005
    batch_bytes: int = 256 * 1024
    batch_count: int = 1024
    buffer_bytes: int = 64 * 1024 * 1024
    compression: Compression = "zlib"
    compression_level: int = 5
    compress_over: int = 4096
    max_message_size: int = MESSAGE_BYTES_MAX
    default_topic: str = DEFAULT_TOPIC
    default_queues: int = 4
    check: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        for name, least in _LEAST.items():
            check_whole(name, getattr(self, name), least)
        check_seconds("linger", self.linger, 0)
        check_seconds("timeout", self.timeout)
        if self.compression not in ("zlib", "lz4", "zstd", "none"):
            raise ConfigError(f"compression is zlib, lz4, zstd or none, not {self.compression!r}")

    @property
    def policy(self) -> RetryPolicy:
        """When to try again."""
        return RetryPolicy(tries=self.retries + 1, codes=self.retry_codes, unless_ok=self.retry_unless_ok)


_LEAST: dict[str, int] = {
    "retries": 0,
    "batch_bytes": 1,
    "batch_count": 1,
    "buffer_bytes": 1,
    "compression_level": 0,
    "compress_over": 0,
    "max_message_size": 1,
    "default_queues": 1,
}


def split_keywords(keywords: ProducerKeywords) -> tuple[ClientOptions, ProducerOptions]:
    """Give each options class its own; what none knows is a TypeError that names it."""
    client, own = shared_out(keywords, ClientOptions, ProducerOptions)
    return ClientOptions(**client), ProducerOptions(**own)
