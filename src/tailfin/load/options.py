"""What a run is asked to do."""

import dataclasses
from dataclasses import dataclass
from typing import Literal

Mode = Literal["send", "pull", "e2e", "create"]


@dataclass(frozen=True, kw_only=True)
class LoadOptions:
    """One run of the load generator against one broker.

    Args:
        mode: send messages, read queues over and over, both with the time between, or create topics.
        address: `address:port` of the broker.
        topic: where messages go; the beginning of the names if there are several topics.
        topics: how many topics; with more than one they are called `TOPIC-00000` and so on.
        queues: of each topic.
        group: producer or consumer group.
        connections: to the broker.
        in_flight: requests that wait for their answer on each connection.
        threads: of the generator; connections are shared out among them.
        body_bytes: size of a message's body.
        batch: messages in one send.
        properties: of single messages, besides those every client gives.
        rate: messages per second over all connections; None for as fast as the broker answers.
        warm_up: seconds that do not count, before those that do.
        duration: seconds that count.
        count: messages (topics, when creating) that count; the run ends with the first of the two.
        pull_batch: messages asked for by one pull.
        binary: use the binary header encoding instead of JSON.
        consumable: wait until everything acknowledged can be read, and tell when that was.
        patience: seconds without any answer after which the run fails.
    """

    mode: Mode
    address: str
    topic: str
    topics: int = 1
    queues: int = 8
    group: str = "tailfin-bench"
    connections: int = 8
    in_flight: int = 32
    threads: int = 1
    body_bytes: int = 128
    batch: int = 1
    properties: tuple[tuple[str, str], ...] = ()
    rate: float | None = None
    warm_up: float = 0.0
    duration: float | None = None
    count: int | None = None
    pull_batch: int = 32
    binary: bool = False
    consumable: bool = False
    patience: float = 15.0

    def as_engine_options(self) -> dict[str, object]:
        """Return the mapping the engine takes."""
        return dataclasses.asdict(self)
