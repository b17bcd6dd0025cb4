"""The options of the reader of store files, one line each; docs/spark.md is written from these lines."""

import json
from dataclasses import dataclass

from tailfin.config.setting import ConfigError
from tailfin.spark.parsing import SparkOptions, milliseconds, option


@dataclass(frozen=True, kw_only=True)
class StoreOptions(SparkOptions):
    """Which messages of which directories are read. Empty text is the same as no option."""

    path: str = option("", "A store directory, Tailfin's or RocketMQ's; `load(path)` says the same.")
    paths: str = option("", 'Several: `["a", "b"]`; `load(["a", "b"])` says the same.')
    topic: str = option("", "Topics to read, separated by commas; empty: all but RocketMQ's own.")
    startingTimestamp: str = option(
        "",
        "Leave out what was stored before this time: ISO 8601 (UTC without a zone), or ms since 1970.",
    )
    endingTimestamp: str = option("", "Leave out what was stored at this time or later.")
    systemTopics: bool = option(
        False, "true: also RocketMQ's own topics, and parts of transactions that no queue holds."
    )
    brokerName: str = option("", "What the column `brokerName` says; null without it: the files do not know.")
    includeProperties: bool = option(False, "Add the column `properties`.")
    splitBytes: int = option(128 << 20, "Bytes of the commit log that one task reads, about.", low=1 << 16)
    batchRows: int = option(10_000, "Most rows of a batch that is handed to Spark.", low=1, high=1_000_000)
    onDamage: str = option(
        "fail",
        "What happens at bytes that are no message: the query ends, or reads on behind them with a warning.",
        choices=("fail", "skip"),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.directories():
            raise ConfigError(
                'no store directory: spark.read.format("rocketmq-store").load("/path/of/store"), or '
                "CREATE TEMP VIEW ... USING ... OPTIONS; CREATE TABLE passes no options"
            )
        if self.span()[0] > self.span()[1]:
            raise ConfigError(
                "startingTimestamp is later than endingTimestamp: there is nothing between them"
            )

    def directories(self) -> list[str]:
        """Return the directories."""
        given = [self.path] if self.path else []
        if not self.paths:
            return given
        try:
            more = json.loads(self.paths)
        except ValueError:
            more = None
        if not isinstance(more, list) or not all(isinstance(each, str) and each for each in more):
            raise ConfigError(f'paths is a list of directories, such as ["a", "b"], not {self.paths}')
        return given + more

    def topics(self) -> list[str] | None:
        """Return the topics that are named; None: none is."""
        return [name for each in self.topic.split(",") if (name := each.strip())] or None

    def span(self) -> tuple[int, int]:
        """Return from when on, and before when, messages are wanted, in milliseconds."""
        return _time("startingTimestamp", self.startingTimestamp, -(2**63)), _time(
            "endingTimestamp", self.endingTimestamp, 2**63 - 1
        )


def _time(name: str, text: str, default: int) -> int:
    try:
        return milliseconds(text) if text else default
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from None
