"""Which queues are read. No I/O."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tailfin.client.queues import Queue
from tailfin.config.setting import ConfigError
from tailfin.spark.options import SourceOptions

SHAPE = '{"topic": {"broker": [0, 1]}}'


@dataclass(frozen=True)
class Selection:
    """Topics by name, topics by pattern, or single queues.

    Attributes:
        topics: names of topics; empty when a pattern chooses them.
        pattern: what the whole name of a topic must match.
        queues: only these queues; None: all of the topics.
    """

    topics: tuple[str, ...]
    pattern: str | None = None
    queues: frozenset[Queue] | None = None

    def matching(self, names: Iterable[str]) -> tuple[str, ...]:
        """Return the topics that the pattern chooses."""
        assert self.pattern is not None
        return tuple(sorted(name for name in names if re.fullmatch(self.pattern, name)))

    def wants(self, queue: Queue) -> bool:
        """Whether a queue of a chosen topic is read."""
        return self.queues is None or queue in self.queues


def selection(options: SourceOptions) -> Selection:
    """Read `topic`, `topicPattern` or `assign`."""
    if options.topicPattern:
        try:
            re.compile(options.topicPattern)
        except re.error as error:
            raise ConfigError(f"topicPattern {options.topicPattern!r} is no pattern: {error}") from None
        return Selection((), pattern=options.topicPattern)
    if options.assign:
        queues = frozenset(_assigned(options.assign))
        return Selection(tuple(sorted({queue.topic for queue in queues})), queues=queues)
    topics = tuple(dict.fromkeys(name.strip() for name in options.topic.split(",") if name.strip()))
    if not topics:
        raise ConfigError(f"topic names no topic: {options.topic!r}")
    return Selection(topics)


def _assigned(text: str) -> list[Queue]:
    try:
        nested = json.loads(text)
    except ValueError as error:
        raise ConfigError(f"assign is no JSON: {error}") from None
    found = []
    for topic, brokers in _mapping(nested).items():
        for broker, numbers in _mapping(brokers).items():
            if not isinstance(numbers, list) or not all(type(number) is int for number in numbers):
                raise ConfigError(f"assign must look like {SHAPE}: {numbers!r:.80} is no list of queues")
            found += [Queue(topic, broker, number) for number in numbers]
    if not found:
        raise ConfigError("assign names no queue")
    return found


def _mapping(nested: object) -> Mapping[str, object]:
    if not isinstance(nested, dict):
        raise ConfigError(f"assign must look like {SHAPE}, not {nested!r:.80}")
    return nested
