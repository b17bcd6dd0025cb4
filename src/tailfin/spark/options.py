"""The options of the Spark source, one line each; docs/spark.md is written from these lines."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from tailfin.client.options import NAMESERVER_VARIABLE, ClientKeywords, ClientOptions
from tailfin.client.tls import Tls
from tailfin.config.setting import ConfigError
from tailfin.spark.parsing import SparkOptions, option

NO_OPTIONS = (
    "no options: Spark does not hand those of CREATE TABLE ... USING rocketmq to a Python source; write "
    "CREATE TEMP VIEW name USING rocketmq OPTIONS (nameServer 'host:9876', topic 'orders')"
)
OF_A_TABLE = "option."
"""How the options of CREATE TABLE begin while the table is made; later they are not there at all."""


@dataclass(frozen=True, kw_only=True)
class ConnectionOptions(SparkOptions):
    """How a cluster is reached: the same for reading and writing. Empty text is the same as no option."""

    nameServer: str = option(
        "", "`host:port` of a name server, several separated by `;`; empty: the driver's NAMESRV_ADDR."
    )
    namespace: str = option("", "Namespace of topics and groups.")
    accessKey: str = option("", "Name to sign requests with.")
    secretKey: str = option("", "Key to sign requests with.")
    securityToken: str = option("", "Token to send along with a signature.")
    tls: bool = option(False, "Speak TLS with name servers and brokers.")
    tlsCa: str = option("", "File with the authorities to trust instead of the system's.")
    tlsCertificate: str = option("", "File with this client's own certificate.")
    tlsKey: str = option("", "File with the key of the certificate.")
    tlsVerify: bool = option(True, "false: trust any server.")
    tlsCheckHostname: bool = option(True, "false: trust a certificate for any name.")
    requestTimeoutMs: int = option(5000, "Time for each question to a name server or broker.", low=1)

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Self:
        """Read options; see `SparkOptions.parse`. Those of a table are an error of their own."""
        if not given or any(name.lower().startswith(OF_A_TABLE) for name in given):
            raise ConfigError(NO_OPTIONS)
        return super().parse(given)

    def client_keywords(self) -> ClientKeywords:
        """Return the options as every client of Tailfin takes them."""
        keywords: ClientKeywords = {"request_timeout": self.requestTimeoutMs / 1000, "tls": self._tls()}
        texts: ClientKeywords = {
            "nameserver": self._nameserver(),
            "namespace": self.namespace,
            "access_key": self.accessKey,
            "secret_key": self.secretKey,
            "security_token": self.securityToken,
        }
        for name, text in texts.items():
            if text:
                keywords[name] = text  # type: ignore[literal-required]
        return keywords

    def _nameserver(self) -> str:
        # The executors' environment may be another one, so what the driver's says is written down.
        given = self.nameServer or os.environ.get(NAMESERVER_VARIABLE)
        if not given:
            raise ConfigError(
                f"no name server: give the option nameServer, as in 'host:9876', or set {NAMESERVER_VARIABLE}"
            )
        return ";".join(ClientOptions(nameserver=given).nameservers())

    def _tls(self) -> bool | Tls:
        files = {"ca": self.tlsCa, "certificate": self.tlsCertificate, "key": self.tlsKey}
        given = {name: file for name, file in files.items() if file}
        if not self.tls:
            if given or not (self.tlsVerify and self.tlsCheckHostname):
                raise ConfigError(
                    "tlsCa, tlsCertificate, tlsKey, tlsVerify and tlsCheckHostname need tls=true"
                )
            return False
        return Tls(verify=self.tlsVerify, check_hostname=self.tlsCheckHostname, **given)


@dataclass(frozen=True, kw_only=True)
class SourceOptions(ConnectionOptions):
    """What is read, from where to where, and how. 0 and empty text are the same as no option."""

    topic: str = option("", "Topics to read, separated by commas.")
    topicPattern: str = option("", "Regular expression that the whole name of a topic must match.")
    assign: str = option("", 'Queues to read: `{"topic": {"broker": [0, 1]}}`.')
    startingOffsets: str = option(
        "",
        'Where to begin: `earliest`, `latest`, or `{"topic": {"broker": {"0": 120}}}` with every queue that '
        "is read; there, -2 is earliest and -1 latest. Batch begins at `earliest`, a stream at `latest`.",
    )
    endingOffsets: str = option("", "Where a batch ends, likewise; `latest` without it. The end is not read.")
    startingTimestamp: str = option(
        "",
        "Begin with the first message stored at this time or later: ISO 8601 (UTC without a zone), "
        'milliseconds since 1970, or `{"topic": {"broker": {"0": "2026-01-31T00:00:00Z"}}}`.',
    )
    endingTimestamp: str = option("", "End a batch before the first message stored at this time or later.")
    subExpression: str = option("*", "Tags (`paid || shipped`) or an SQL92 expression; brokers evaluate it.")
    expressionType: str = option("TAG", "What `subExpression` is.", choices=("TAG", "SQL92"))
    maxOffsetsPerTrigger: int = option(0, "Most offsets that a micro-batch reads, over all queues.")
    maxBytesPerTrigger: int = option(
        0, "About how many bytes a micro-batch reads, by the sizes of messages where it begins and ends."
    )
    minPartitions: int = option(0, "Least tasks: ranges of queues are split until there are so many.")
    maxRecordsPerPartition: int = option(0, "Most offsets that one task reads.")
    failOnDataLoss: bool = option(
        True, "false: go on after offsets that are gone, with a warning that names them."
    )
    pullBatchSize: int = option(1024, "Most messages that are asked for at once.", low=1, high=65536)
    pullTimeoutMs: int = option(30_000, "Time without an answer after which a broker is given up.", low=1)
    includeProperties: bool = option(False, "Add the column `properties`.")
    format: str = option(
        "raw", "What bodies are; `json` and `avro` are decoded to columns.", choices=("raw", "json", "avro")
    )
    schema: str = option(
        "",
        "What bodies are decoded to: for `json` columns, as in `id bigint, name string`, for `avro` the Avro "
        "schema that they were written with, a record.",
    )
    avroFraming: str = option(
        "plain",
        "How bodies of Avro begin: with the datum, as Avro's single objects, or with the number of a schema "
        "in a Confluent registry.",
        choices=("plain", "single-object", "confluent"),
    )
    badRecords: str = option(
        "fail",
        "A body that cannot be decoded: ends the query, is left out, or is left out and sent to `dlqTopic`.",
        choices=("fail", "drop", "dlq"),
    )
    dlqTopic: str = option("", "Topic for bodies that cannot be decoded, as they are, with their origin.")
    group: str = option("", "Group to note a stream's progress under, for tools that show lag.")

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_selection()
        self._check_decoding()
        for edge in ("starting", "ending"):
            if getattr(self, f"{edge}Offsets") and getattr(self, f"{edge}Timestamp"):
                raise ConfigError(f"{edge}Offsets and {edge}Timestamp say the same thing: give one of them")

    def _check_selection(self) -> None:
        given = [name for name in ("topic", "topicPattern", "assign") if getattr(self, name)]
        if len(given) != 1:
            found = "none" if not given else "both " + " and ".join(given)
            raise ConfigError(f"say what to read by one of topic, topicPattern and assign, not by {found}")

    def _check_decoding(self) -> None:
        if self.schema and self.format == "raw":
            raise ConfigError("schema says how bodies are decoded: it needs format=json or avro")
        if self.badRecords != "fail" and self.format == "raw":
            raise ConfigError("badRecords is about bodies that are decoded: it needs format=json or avro")
        if self.format == "avro" and not self.schema:
            raise ConfigError(
                "format=avro needs the schema that bodies were written with: "
                """option('schema', '{"type": "record", ...}')"""
            )
        if self.avroFraming != "plain" and self.format != "avro":
            raise ConfigError("avroFraming is about bodies of Avro: it needs format=avro")
        if (self.badRecords == "dlq") != bool(self.dlqTopic):
            raise ConfigError("badRecords=dlq and dlqTopic belong together: give both, or none")
