"""Messages on their way: all of a send but the waiting, so that asyncio and blocking producers share it."""

import logging
import threading
import time
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass

from tailfin.client import names
from tailfin.client.checking import check_batch, check_message, split_batch
from tailfin.client.choosing import FaultTable, Turns, by_key
from tailfin.client.errors import UNREACHABLE, MessageRefused, NoRoute
from tailfin.client.hooks import Hook, Sending, overriding
from tailfin.client.limits import check_seconds
from tailfin.client.messages import Message, encoded_size
from tailfin.client.network import Network
from tailfin.client.producer_options import ProducerOptions
from tailfin.client.queues import Queue
from tailfin.client.results import SendResult
from tailfin.client.retrying import Ended, RetryPolicy, Try, send_flow

log = logging.getLogger("tailfin.client")

Select = Callable[[Sequence[Queue], Message], Queue]
Flow = Generator[Try, Ended, None]


@dataclass(frozen=True, slots=True)
class Target:
    """Where a message is to go, and in what time; nothing given: the next queue, in the usual time."""

    queue: Queue | None = None
    sharding_key: str | None = None
    select: Select | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        if sum(each is not None for each in (self.queue, self.sharding_key, self.select)) > 1:
            raise TypeError("one of queue, sharding_key and select says where a message goes, not several")
        if self.queue is not None and not isinstance(self.queue, Queue):
            raise TypeError(
                "queue is one of producer.queues(topic), or tailfin.Queue(topic, broker, number), "
                f"not {self.queue!r}"
            )
        if self.sharding_key is not None and not isinstance(self.sharding_key, str):
            raise TypeError(f"sharding_key is text, not {self.sharding_key!r}: make it so by str()")
        if self.timeout is not None:
            check_seconds("timeout", self.timeout)

    @property
    def is_open(self) -> bool:
        """Whether any queue will do."""
        return self.queue is None and self.sharding_key is None and self.select is None


@dataclass(slots=True)
class Letter:
    """Messages that passed all checks and travel together, with how they are to be sent.

    Attributes:
        messages: as the user made them; one, unless it is a batch.
        topic: their topic, with the namespace.
        choose: gives the queue for each try.
        policy: when to try again.
        seconds: time for all tries.
        oneway: nobody answers, and no try follows.
        sendings: what hooks see; empty when nobody looks.
    """

    messages: Sequence[Message]
    topic: str
    choose: Callable[[str | None], Queue]
    policy: RetryPolicy
    seconds: float
    oneway: bool = False
    sendings: Sequence[Sending] = ()

    def flow(self, now: float) -> Flow:
        """Begin with the tries."""
        return send_flow(self.choose, self.policy, now=now, seconds=self.seconds)


class Counts:
    """What became of messages, counted by many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.sent = 0
        self.failed = 0
        self.retried = 0

    def add(self, *, sent: int = 0, failed: int = 0, retried: int = 0) -> None:
        """Count."""
        with self._lock:
            self.sent += sent
            self.failed += failed
            self.retried += retried


class Letters:
    """Prepares a producer's messages and notes how their tries end; any thread may use it."""

    def __init__(
        self,
        network: Network,
        group: str,
        options: ProducerOptions,
        hooks: Sequence[Hook] = (),
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._network = network
        self._group = group
        self._options = options
        self._namespace = network.options.namespace
        self._turns = Turns()
        self._once = RetryPolicy(tries=1)
        self.faults = FaultTable()
        self.counts = Counts()
        self._clock = clock
        self._forbidding = overriding(hooks, "check_forbidden")
        self._before = overriding(hooks, "before_send")
        self._after = overriding(hooks, "after_send")
        self.has_hooks = bool(self._forbidding or self._before or self._after)

    def write(self, message: Message, target: Target, *, mode: str = "sync") -> Letter:
        """Check a message, show it to hooks, and say how it is to be sent."""
        check_message(message, self._options.max_message_size)
        return self._written((message,), target, mode)

    def write_batch(self, messages: Sequence[Message], target: Target) -> list[Letter]:
        """Do so with messages that are to travel together, in as many letters as their size takes."""
        limit = self._options.max_message_size
        check_batch(messages, limit)
        sizes = [encoded_size(each) for each in messages]
        return [self._written(messages[part], target, "sync") for part in split_batch(sizes, limit)]

    def _written(self, messages: Sequence[Message], target: Target, mode: str) -> Letter:
        topic = names.wrap(self._namespace, messages[0].topic)
        if target.queue is not None and target.queue.topic != messages[0].topic:
            raise MessageRefused(f"a message of topic {messages[0].topic!r} cannot go to {target.queue}")
        letter = Letter(
            messages,
            topic,
            self._chooser(messages[0], topic, target),
            self._options.policy if target.is_open and mode != "oneway" else self._once,
            self._options.timeout if target.timeout is None else target.timeout,
            mode == "oneway",
        )
        self._show(letter, mode)
        return letter

    def tried(self, broker: str, ended: Ended, began: float) -> None:
        """Note how a try at a broker ended."""
        if ended.code in UNREACHABLE:
            self.faults.note_failure(broker, ended.now * 1000)
        else:
            self.faults.note(broker, (ended.now - began) * 1000, ended.now * 1000)

    def arrived(self, letter: Letter, results: Sequence[SendResult]) -> None:
        """Note that a letter's messages are stored."""
        self.counts.add(sent=len(results))
        for sending, result in zip(letter.sendings, results, strict=False):
            sending.result = result
            sending.queue = result.queue
            self._tell(sending)

    def lost(self, letter: Letter, error: BaseException) -> None:
        """Note that a letter's messages were not acknowledged."""
        self.counts.add(failed=len(letter.messages))
        for sending in letter.sendings:
            sending.error = error
            self._tell(sending)

    def user_topic(self, topic: str) -> str:
        """Return a topic under the name that the user knows."""
        return names.unwrap(self._namespace, topic)

    def user_queue(self, topic: str, broker: str, queue_id: int) -> Queue:
        """Return a queue under the name that the user knows."""
        return Queue(self.user_topic(topic), broker, queue_id)

    def queues(self, topic: str) -> tuple[Queue, ...]:
        """Return the queues of a topic whose route is known; raise NoRoute when none can be sent to."""
        route = self._network.known_route(topic)
        if route is None or not route.publish:
            raise NoRoute(
                topic,
                "none of its queues takes messages: it is not writable, or its brokers' masters are down",
            )
        return route.publish

    def _chooser(self, message: Message, topic: str, target: Target) -> Callable[[str | None], Queue]:
        if target.queue is not None:
            chosen = target.queue._replace(topic=topic)
            return lambda last_broker: chosen
        if (key := target.sharding_key) is not None:
            return lambda last_broker: by_key(self.queues(topic), key)
        if (select := target.select) is not None:
            return lambda last_broker: self._selected(select, message, topic)
        return lambda last_broker: self.next_queue(topic, last_broker)

    def next_queue(self, topic: str, last_broker: str | None) -> Queue:
        """Return the queue whose turn it is."""
        return self._turns.next(self.queues(topic), last_broker=last_broker, avoided=self._is_avoided)

    def _selected(self, select: Select, message: Message, topic: str) -> Queue:
        offered = {self.user_queue(*each): each for each in self.queues(topic)}
        chosen = select(tuple(offered), message)
        if chosen not in offered:
            raise MessageRefused(
                f"the selector returned {chosen!r}, which is none of the queues it was given"
            )
        return offered[chosen]

    def _is_avoided(self, broker: str) -> bool:
        return self._options.avoid_slow_brokers and self.faults.is_away(broker, self._clock() * 1000)

    def _show(self, letter: Letter, mode: str) -> None:
        if not self.has_hooks:
            return
        letter.sendings = [Sending(self._group, each, mode, self._namespace) for each in letter.messages]
        for sending in letter.sendings:
            for hook in self._forbidding:
                hook.check_forbidden(sending)
        for sending in letter.sendings:
            for hook in self._before:
                _safely(hook, hook.before_send, sending)

    def _tell(self, sending: Sending) -> None:
        for hook in self._after:
            _safely(hook, hook.after_send, sending)


def _safely(hook: Hook, method: Callable[[Sending], None], sending: Sending) -> None:
    try:
        method(sending)
    except Exception:
        log.exception("%r failed, the send goes on", hook)
