"""How a stream fares, as Spark tells it. No I/O."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Progress:
    """One batch of a stream.

    Attributes:
        name: the sink's name.
        batch: its number.
        rows: rows it read.
        behind: messages that are there and not read yet; None when the source does not tell.
        seconds: how long it took.
    """

    name: str
    batch: int
    rows: int
    behind: int | None
    seconds: float

    @property
    def rows_per_second(self) -> float:
        """How fast it was."""
        return self.rows / self.seconds if self.seconds else 0.0

    @property
    def line(self) -> str:
        """What people are told of it."""
        behind = "" if self.behind is None else f"{self.behind:,} behind, "
        return (
            f"{self.name}: batch {self.batch}: {self.rows:,} rows, {self.rows_per_second:,.0f} rows/s, "
            f"{behind}{self.seconds:.2f} s"
        )


@dataclass(frozen=True, slots=True)
class Done:
    """What a sink got in a whole run."""

    name: str
    rows: int = 0
    batches: int = 0
    seconds: float = 0.0

    def after(self, batch: Progress) -> "Done":
        """Return it with one more batch."""
        return replace(
            self, rows=self.rows + batch.rows, batches=self.batches + 1, seconds=self.seconds + batch.seconds
        )

    @property
    def line(self) -> str:
        """What people are told of it."""
        batches = "1 batch" if self.batches == 1 else f"{self.batches} batches"
        return f"{self.name}: {self.rows:,} rows in {batches}, {self.seconds:.2f} s"


def progress(name: str, told: Mapping[str, Any]) -> Progress:
    """Read what Spark tells of a batch (`StreamingQuery.lastProgress`)."""
    from tailfin.spark.lag import lag_of

    behind = [lag[0] for source in told["sources"] if (lag := lag_of(source["latestOffset"])) is not None]
    return Progress(
        name=name,
        batch=told["batchId"],
        rows=told["numInputRows"],
        behind=sum(behind) if behind else None,
        seconds=told["durationMs"].get("triggerExecution", 0) / 1000,
    )
