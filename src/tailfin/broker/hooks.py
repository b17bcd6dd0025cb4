"""Functions of an operator's own, called round sends and deliveries.

A send hook on a topic takes its sends off the hot path: each then costs Python time. A consume hook sees what
each pull of a group was given; it too takes that group's pulls to Python first.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

log = logging.getLogger("tailfin.broker")

ALL = "*"


@dataclass(slots=True, kw_only=True)
class SendContext:
    """One send, before and after it is stored; `properties` may be changed before."""

    topic: str
    producer_group: str
    queue_id: int
    body: bytes
    properties: dict[str, str]
    born_host: str
    batch: bool = False
    kind: str = "Normal_Msg"
    """RocketMQ's name for the kind of message: this, `Trans_Msg_Half` or `Delay_Msg`."""
    message_id: str | None = None
    queue_offset: int | None = None
    code: int | None = None
    """The response code, once there is one."""
    notes: dict[str, object] = field(default_factory=dict)
    """Whatever a hook wants to find again after the send."""


@dataclass(slots=True, kw_only=True)
class ConsumeContext:
    """One pull of a group that is about to be served."""

    group: str
    topic: str
    queue_id: int
    offset: int
    client: str


@dataclass(frozen=True, slots=True)
class SendHook:
    """What to call before and after sends to a topic; raising before refuses the send."""

    before: Callable[[SendContext], None] | None = None
    after: Callable[[SendContext], None] | None = None


class Hooks:
    """The registered hooks; `on_change` hears of each topic or group whose hooks changed."""

    def __init__(self) -> None:
        self.on_topic: Callable[[str], None] = lambda topic: None
        self.on_group: Callable[[str], None] = lambda group: None
        self._send: dict[str, list[SendHook]] = {}
        self._consume: dict[str, list[Callable[[ConsumeContext], None]]] = {}

    def on_send(
        self,
        topic: str = ALL,
        *,
        before: Callable[[SendContext], None] | None = None,
        after: Callable[[SendContext], None] | None = None,
    ) -> Callable[[], None]:
        """Register functions round sends to a topic, `*` for all; return what takes them out again."""
        hook = SendHook(before, after)
        self._send.setdefault(topic, []).append(hook)
        self.on_topic(topic)

        def remove() -> None:
            self._send[topic].remove(hook)
            if not self._send[topic]:
                del self._send[topic]
            self.on_topic(topic)

        return remove

    def on_consume(self, function: Callable[[ConsumeContext], None], group: str = ALL) -> Callable[[], None]:
        """Register a function that sees the pulls of a group, `*` for all; return what takes it out again."""
        self._consume.setdefault(group, []).append(function)
        self.on_group(group)

        def remove() -> None:
            self._consume[group].remove(function)
            if not self._consume[group]:
                del self._consume[group]
            self.on_group(group)

        return remove

    def of_topic(self, topic: str) -> list[SendHook]:
        """Hooks round sends to a topic."""
        return [*self._send.get(ALL, ()), *self._send.get(topic, ())]

    def of_group(self, group: str) -> list[Callable[[ConsumeContext], None]]:
        """Functions that see a group's pulls."""
        return [*self._consume.get(ALL, ()), *self._consume.get(group, ())]

    def before_send(self, context: SendContext) -> None:
        """Call the hooks before a send; what one raises refuses the send."""
        for hook in self.of_topic(context.topic):
            if hook.before:
                hook.before(context)

    def after_send(self, context: SendContext) -> None:
        """Call the hooks after a send; the message is stored, so what one raises is only logged."""
        for hook in self.of_topic(context.topic):
            try:
                if hook.after:
                    hook.after(context)
            except Exception:
                log.exception("a send hook of topic %s failed", context.topic)

    def before_consume(self, context: ConsumeContext) -> None:
        """Call the functions that see a pull; what one raises is only logged."""
        for function in self.of_group(context.group):
            try:
                function(context)
            except Exception:
                log.exception("a consume hook of group %s failed", context.group)
