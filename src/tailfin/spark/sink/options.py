"""The options of the Spark sink, one line each; docs/spark.md is written from these lines."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self, get_args

from tailfin.client.checking import MESSAGE_BYTES_MAX
from tailfin.client.producer_options import Compression, ProducerKeywords
from tailfin.config.setting import ConfigError
from tailfin.spark.options import ConnectionOptions
from tailfin.spark.parsing import option

AT_LEAST_ONCE, EXACTLY_ONCE = "at-least-once", "exactly-once"
SPARKS_OWN = ("checkpointlocation", "queryname")


@dataclass(frozen=True, kw_only=True)
class SinkOptions(ConnectionOptions):
    """Where rows go, and how. Empty text is the same as no option."""

    topic: str = option("", "Topic of rows that name none in a column `topic`.")
    deliveryGuarantee: str = option(
        AT_LEAST_ONCE, "What a row may count on.", choices=(AT_LEAST_ONCE, EXACTLY_ONCE)
    )
    group: str = option("TAILFIN_SPARK", "Producer group.")
    sendTimeoutMs: int = option(30_000, "Time for a message, all tries together.", low=1)
    retries: int = option(5, "Further tries after the first.")
    lingerMs: int = option(5, "Time that a message may wait for others to travel with.")
    batchBytes: int = option(256 * 1024, "Bytes after which messages go together.", low=1)
    bufferBytes: int = option(64 << 20, "Bytes of messages that may be under way in a task.", low=1)
    maxInFlight: int = option(
        1024, "exactly-once: messages that may be under way in a task, and ends of transactions.", low=1
    )
    compression: str = option("zlib", "How long bodies are compressed.", choices=get_args(Compression))
    compressOver: int = option(4096, "Bytes from which a body is compressed; it then travels alone.")
    maxMessageSize: int = option(MESSAGE_BYTES_MAX, "Longest body that brokers take.", low=1)
    transactionTimeoutS: int = option(
        3600,
        "exactly-once: how long a batch may take from its first message to its commit, a restart included.",
        low=10,
    )
    decisionTopic: str = option(
        "TAILFIN_SPARK_DECISIONS", "exactly-once: topic where it stands which batches are committed."
    )
    writeId: str = option(
        "", "exactly-once, batch: name of this write; one that was committed before is not made again."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.group:
            raise ConfigError("group cannot be empty: leave the option out, or name a producer group")
        if self.writeId and not self.is_exactly_once:
            raise ConfigError("writeId needs deliveryGuarantee=exactly-once")
        if self.is_exactly_once and not self.decisionTopic:
            raise ConfigError("decisionTopic cannot be empty: leave the option out, or name a topic")

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Self:
        """Read options as Spark gives them, with one of its own among them."""
        return super().parse({name: text for name, text in given.items() if name.lower() not in SPARKS_OWN})

    @property
    def is_exactly_once(self) -> bool:
        """Whether rows are half messages until their batch is committed."""
        return self.deliveryGuarantee == EXACTLY_ONCE

    def producer_keywords(self) -> ProducerKeywords:
        """Return the options as a producer takes them."""
        compression: Compression = self.compression  # type: ignore[assignment]  # one of its choices
        keywords: ProducerKeywords = {
            "timeout": self.sendTimeoutMs / 1000,
            "retries": self.retries,
            "linger": self.lingerMs / 1000,
            "batch_bytes": self.batchBytes,
            "buffer_bytes": self.bufferBytes,
            "compression": compression,
            "compress_over": self.compressOver,
            "max_message_size": self.maxMessageSize,
        }
        for name, value in self.client_keywords().items():
            keywords[name] = value  # type: ignore[literal-required]  # a producer takes all of a client's
        return keywords
