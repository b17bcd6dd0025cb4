"""The handler round a handler, which leaves repetitions out."""

import asyncio
import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from tailfin.client.consuming.handlers import RETRY, is_async, judged
from tailfin.client.once.keys import Claim, Keys, MemoryKeys

log = logging.getLogger("tailfin.client")

Handler = Callable[[Any], Any]
"""Of a message or a list of them; a function or a coroutine function."""


class Keyed(Protocol):
    """A received message, as far as its key is concerned."""

    @property
    def topic(self) -> str:
        """Where it was sent."""

    @property
    def keys(self) -> list[str]:
        """What its producer gave it to be known by."""

    @property
    def message_id(self) -> str:
        """The id that its producer's client made."""


def topic_and_keys(message: Keyed) -> str | None:
    """Return what a message is known by: its topic and all its keys; None when it has no key."""
    return " ".join((message.topic, *message.keys)) if message.keys else None


def once(
    *, by: Callable[[Any], str | None] = topic_and_keys, keys: Keys | None = None
) -> Callable[[Handler], Handler]:
    """Have a handler meet each message once, known by a key that its producer gave it.

    Brokers deliver at least once: a send that was tried again after a lost answer, a restart, a rebalance or
    a lost acknowledgement each bring a message a second time. What says that two messages mean the same is a
    key of your business (`Message(..., keys="ORDER-100")`), not the message id: a producer that does its work
    twice makes two ids.

    A message whose key is done is left out. One whose key another handler is at right now is put off, for
    that one may fail. One without a key goes to the handler each time it comes, and the log says so once.

    Handler and key store are two steps, so this is no promise of exactly once: a process that dies between
    them has its message handled again. Where the work is a write to your own database, a unique column there,
    in the same transaction, is stronger.

    Args:
        by: what a message is known by; by default its topic and keys. None: it has nothing to be known by.
        keys: where that is remembered; `MemoryKeys()` unless given. Each consumer group has its own.

    Example:
        >>> @once(keys=SqliteKeys("billing-keys.db"))
        ... def bill(message):
        ...     charge(message.body)
        >>> consumer = tailfin.PushConsumer("billing", subscribe={"orders": "paid"}, handler=bill)
    """
    gate = Gate(by, MemoryKeys() if keys is None else keys)

    def wrap(handler: Handler) -> Handler:
        wrapped = gate.coroutine(handler) if is_async(handler) else gate.function(handler)
        return functools.wraps(handler)(wrapped)

    return wrap


@dataclass(slots=True)
class Taken:
    """What is to be handled of a call, and what was claimed for it."""

    fresh: list[Any] = field(default_factory=list)
    claimed: list[str] = field(default_factory=list)
    busy: bool = False


class Gate:
    """Lets each key through once."""

    def __init__(self, by: Callable[[Any], str | None], keys: Keys) -> None:
        self._by = by
        self._keys = keys
        self._keyless_said = False

    def function(self, handler: Handler) -> Handler:
        """Return a function that calls a handler for what is new."""

        def handle(given: Any) -> object:  # noqa: ANN401  # a message, or a list of them
            taken = self.take(_listed(given))
            if taken.busy:
                return RETRY
            if not taken.fresh:
                return None
            try:
                outcome: object = handler(taken.fresh if isinstance(given, list) else given)
            except BaseException:
                self.settle(taken, succeeded=False)
                raise
            self.settle(taken, succeeded=judged(outcome) is None)
            return outcome

        return handle

    def coroutine(self, handler: Handler) -> Handler:
        """Return a coroutine function that awaits a handler for what is new."""

        async def handle(given: Any) -> object:  # noqa: ANN401
            taken = await self._aside(self.take, _listed(given))
            if taken.busy:
                return RETRY
            if not taken.fresh:
                return None
            try:
                outcome: object = await handler(taken.fresh if isinstance(given, list) else given)
            except BaseException:
                await self._aside(functools.partial(self.settle, succeeded=False), taken)
                raise
            succeeded = judged(outcome) is None
            await self._aside(functools.partial(self.settle, succeeded=succeeded), taken)
            return outcome

        return handle

    async def _aside(self, act: Callable[[Any], Any], given: object) -> Any:  # noqa: ANN401
        return await asyncio.to_thread(act, given) if self._keys.waits else act(given)

    def take(self, messages: Sequence[Any]) -> Taken:
        """Claim what is new among some messages; all or, where one is another handler's now, nothing."""
        taken = Taken()
        try:
            for message in messages:
                key = self._by(message)
                if key is None:
                    self._say_keyless(message)
                    taken.fresh.append(message)
                elif key not in taken.claimed:
                    self._take_one(message, key, taken)
                if taken.busy:
                    break
        except BaseException:
            self.settle(taken, succeeded=False)
            raise
        if taken.busy:
            self.settle(taken, succeeded=False)
        return taken

    def _take_one(self, message: object, key: str, taken: Taken) -> None:
        claim = self._keys.claim(key)
        if claim is Claim.YOURS:
            taken.claimed.append(key)
            taken.fresh.append(message)
        taken.busy = claim is Claim.BUSY

    def settle(self, taken: Taken, *, succeeded: bool) -> None:
        """Say how it went with what was claimed."""
        for key in taken.claimed:
            if succeeded:
                self._keys.done(key)
            else:
                self._keys.release(key)

    def _say_keyless(self, message: Keyed) -> None:
        if not self._keyless_said:
            self._keyless_said = True
            log.warning(
                "message %s of topic %s has no key, so repetitions of it are not noticed; "
                "have its producer set keys=, or tell `once` another way by `by=`",
                message.message_id,
                message.topic,
            )


def _listed(given: Any) -> list[Any]:  # noqa: ANN401
    return given if isinstance(given, list) else [given]
