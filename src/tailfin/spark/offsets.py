"""Offsets of queues as JSON: in options, in checkpoints, in a query's progress. No I/O.

`{"topic": {"broker": {"0": 120}}}`, always sorted: Spark compares offsets as text.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tailfin.client.queues import Queue
from tailfin.config.setting import ConfigError

T = TypeVar("T")

Offsets = Mapping[Queue, int]
"""An offset for each queue."""

BEGAN, INITIAL = "@began", "@initial"
"""Keys beside the topics; no topic has such a name."""


def to_json(values: Mapping[Queue, T]) -> dict[str, dict[str, dict[str, T]]]:
    """Return what belongs to each queue as nested dicts, sorted."""
    nested: dict[str, dict[str, dict[str, T]]] = {}
    for queue in sorted(values):
        nested.setdefault(queue.topic, {}).setdefault(queue.broker, {})[str(queue.queue_id)] = values[queue]
    return nested


def from_json(nested: object, what: str, read: Callable[[object], T]) -> dict[Queue, T]:
    """Read nested dicts.

    Args:
        nested: parsed JSON.
        what: the option they come from, for the error.
        read: checks and returns one value; raises ValueError.

    Raises:
        ConfigError: the JSON has another shape.
    """
    found: dict[Queue, T] = {}
    for topic, brokers in _items(nested, what):
        for broker, queues in _items(brokers, what):
            for queue_id, value in _items(queues, what):
                if not queue_id.isdecimal():
                    raise ConfigError(f"{what}: {queue_id!r} is no number of a queue of {topic} on {broker}")
                queue = Queue(topic, broker, int(queue_id))
                try:
                    found[queue] = read(value)
                except ValueError as error:
                    raise ConfigError(f"{what}: {said(queue)}: {error}") from None
    return found


def _items(nested: object, what: str) -> list[tuple[str, object]]:
    if not isinstance(nested, dict):
        raise ConfigError(
            f'{what} must look like {{"topic": {{"broker": {{"0": 120}}}}}}, not {nested!r:.80}'
        )
    return list(nested.items())


def said(queue: Queue) -> str:
    """Return a queue as messages to users name it."""
    return f"queue {queue.queue_id} of {queue.topic} on {queue.broker}"


def whole(value: object) -> int:
    """Return a value of JSON that is an offset; raise ValueError."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"an offset is a whole number, not {value!r}")
    return value


@dataclass(frozen=True)
class Position:
    """How far a stream is: what a checkpoint keeps.

    Spark writes down where a batch ends, not where the first one began, and asks a restarted query for its
    beginning again. So the end of the batch that first has a queue says where that queue began.

    Attributes:
        offsets: the next offset of each queue.
        began: where queues begin that this batch is the first to have.
        initial: whether it is where the stream begins.
    """

    offsets: Offsets
    began: Offsets = field(default_factory=dict)
    initial: bool = False

    def to_json(self) -> dict[str, Any]:
        """Return it as Spark keeps it."""
        nested: dict[str, Any] = dict(to_json(self.offsets))
        if self.began:
            nested[BEGAN] = to_json(self.began)
        if self.initial:
            nested[INITIAL] = True
        return nested

    @classmethod
    def from_json(cls, nested: Mapping[str, Any]) -> "Position":
        """Read what Spark kept."""
        topics = {topic: value for topic, value in nested.items() if topic not in (BEGAN, INITIAL)}
        return cls(
            from_json(topics, "the checkpoint", whole),
            from_json(nested.get(BEGAN, {}), "the checkpoint", whole),
            bool(nested.get(INITIAL, False)),
        )
