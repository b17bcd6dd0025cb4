"""What a consumer holds of one queue: messages that wait, messages that handlers have, and the way ahead."""

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Protocol


class Placed(Protocol):
    """A message of a queue."""

    @property
    def queue_offset(self) -> int:
        """Its place in the queue."""


class Portion:
    """Messages of one queue that one worker has.

    The worker takes them from the front of `todo`. Others may take some away from its end meanwhile: taking
    one is a single step for all threads.
    """

    __slots__ = ("failures", "messages", "shown", "started", "todo")

    def __init__(self, messages: list[Any]) -> None:
        self.messages = messages
        self.todo = deque(messages)
        self.shown: list[Any] = []
        """What a user who asked for it works on, and may not get done."""
        self.started = 0.0
        """When the message that is with the handler was given to it."""
        self.failures: list[Any] = []
        """What calls of the handler did not consume; here, for whoever takes the portion from a worker."""

    def show(self) -> Iterator[Any]:
        """Give its messages out one by one; the next one is asked for when the one before is done."""
        while self.todo:
            self.shown = [self.todo.popleft()]
            yield self.shown[0]
            self.shown = []

    def show_all(self) -> list[Any]:
        """Give all its messages out at once."""
        self.shown = list(self.todo)
        self.todo.clear()
        return self.shown

    def take_back(self) -> None:
        """Count what is being worked on as not begun."""
        self.todo.extendleft(reversed(self.shown))
        self.shown = []


class CachedQueue:
    """The messages of one queue between the broker and the handlers, in the order of the queue.

    Not safe for several threads at once: whoever shares it holds a lock.
    """

    def __init__(self, offset: int) -> None:
        self.read_to = offset
        """Where the next message would be: everything before it arrived here, or is not wanted."""
        self.waiting: deque[Any] = deque()
        self._out: set[Portion] = set()
        self.dropped = False
        self._taken_to = offset
        """Everything before it was handed out."""

    def add(self, messages: Iterable[Placed], read_to: int) -> None:
        """Take messages that arrived, in order, and note how far the queue is read."""
        self.waiting.extend(messages)
        self.read_to = max(self.read_to, read_to)

    def take(self, limit: int) -> Portion | None:
        """Hand out the next messages, up to `limit`."""
        waiting = self.waiting
        if not waiting or self.dropped:
            return None
        portion = Portion([waiting.popleft() for _ in range(min(limit, len(waiting)))])
        self._out.add(portion)
        self._taken_to = max(self._taken_to, portion.messages[-1].queue_offset + 1)
        return portion

    def was_overtaken(self, portion: Portion) -> bool:
        """Whether messages behind a portion were handed out: they come again if it is not done to its end."""
        return portion in self._out and portion.messages[-1].queue_offset + 1 < self._taken_to

    def has(self, portion: Portion) -> bool:
        """Whether a portion is still this queue's."""
        return portion in self._out

    def settle(self, portion: Portion, keep: list[Any]) -> list[Any]:
        """Note that all but some messages of a portion are done; return those that left."""
        if portion not in self._out:
            return []
        if not keep:
            self._out.remove(portion)
            return portion.messages
        kept = {message.queue_offset for message in keep}
        left = [message for message in portion.messages if message.queue_offset not in kept]
        portion.messages = keep
        return left

    def give_back(self, portion: Portion, messages: list[Any]) -> None:
        """Put the last messages of a portion back to their places among those that wait."""
        if portion not in self._out or not messages:
            return
        portion.messages = portion.messages[: -len(messages)]
        if not portion.messages:
            self._out.remove(portion)
        if self.waiting and self.waiting[0].queue_offset < messages[-1].queue_offset:
            # Another portion came back before: what is committed goes by the first that waits.
            self.waiting = deque(sorted([*messages, *self.waiting], key=_place))
        else:
            self.waiting.extendleft(reversed(messages))

    def clear(self) -> list[Any]:
        """Forget what waits, for another reader to have; return it."""
        left = list(self.waiting)
        if left:
            self.read_to = left[0].queue_offset
            self.waiting.clear()
        return left

    def abandon(self) -> None:
        """Forget what workers have: another reader gets it again."""
        self._out.clear()

    def restart(self, offset: int) -> list[Any]:
        """Go on from another offset, and return all that was held: workers that have some finish in vain."""
        held = [*self.waiting, *(message for portion in self._out for message in portion.messages)]
        self.waiting.clear()
        self._out.clear()
        self.read_to = self._taken_to = offset
        return held

    @property
    def commit_offset(self) -> int:
        """Where another reader would have to begin: the first message that is not done."""
        firsts: list[int] = [self.read_to, *(portion.messages[0].queue_offset for portion in self._out)]
        if self.waiting:
            # Not instead of `read_to`: what was cleared may stand before what came back afterwards.
            firsts.append(self.waiting[0].queue_offset)
        return min(firsts)

    @property
    def busy(self) -> bool:
        """Whether a worker has something of the queue."""
        return bool(self._out)

    @property
    def count(self) -> int:
        """Messages that wait or are with a handler."""
        return len(self.waiting) + sum(len(portion.messages) for portion in self._out)

    @property
    def span(self) -> int:
        """Distance from the first message held to where the next one would be."""
        return self.read_to - self.commit_offset


def _place(message: Placed) -> int:
    return message.queue_offset
