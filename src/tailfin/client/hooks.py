"""Places where users can look at, or change, what a client does."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tailfin.client.messages import Message, ReceivedMessage
from tailfin.client.queues import Queue
from tailfin.client.results import SendResult
from tailfin.wire.frame import Frame


@dataclass(slots=True)
class Sending:
    """One message on its way, as send hooks see it; `notes` is theirs, kept from before to after."""

    group: str
    message: Message
    mode: str
    namespace: str | None = None
    queue: Queue | None = None
    result: SendResult | None = None
    error: BaseException | None = None
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Consuming:
    """Messages given to a handler, as consume hooks see them."""

    group: str
    messages: Sequence[ReceivedMessage]
    queue: Queue
    namespace: str | None = None
    success: bool = False
    status: str = ""
    error: BaseException | None = None
    notes: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class EndingTransaction:
    """The end of a transaction; `state` is COMMIT, ROLLBACK or UNKNOWN."""

    group: str
    topic: str
    message_id: str
    transaction_id: str | None
    broker: str
    state: str
    from_check: bool


class Hook:
    """Base of hooks: override what you want to see; everything else does nothing.

    A hook that raises in `check_forbidden` refuses the send. Elsewhere an exception is logged, and the
    client goes on.

    Example:
        ```python
        class Tenant(tailfin.Hook):
            def before_send(self, sending):
                sending.message.properties["tenant"] = current_tenant()


        producer = tailfin.Producer("shop", hooks=[Tenant()])
        ```
    """

    def before_request(self, address: str, request: Frame) -> None:
        """See a control request (routes, heartbeats, offsets); messages have hooks of their own."""

    def after_response(self, address: str, request: Frame, response: Frame) -> None:
        """See a control request's response."""

    def check_forbidden(self, sending: Sending) -> None:
        """Raise to refuse a message."""

    def before_send(self, sending: Sending) -> None:
        """See a message before it is sent; properties may be added."""

    def after_send(self, sending: Sending) -> None:
        """See how a send ended: `sending.result` or `sending.error`."""

    def end_transaction(self, ending: EndingTransaction) -> None:
        """See how a transaction ends."""

    def before_consume(self, consuming: Consuming) -> None:
        """See messages before their handler does."""

    def after_consume(self, consuming: Consuming) -> None:
        """See how a handler ended."""

    def keep(self, group: str, message: ReceivedMessage) -> bool:
        """Return False to leave out a message that its subscription let through.

        Answer quickly, and ask nothing of the consumer: it waits for the answer.
        """
        return True


def overriding(hooks: Iterable[Hook], *methods: str) -> tuple[Hook, ...]:
    """Return the hooks that override one of these methods, so that nothing is called for nobody."""
    return tuple(
        hook
        for hook in hooks
        if any(getattr(type(hook), each) is not getattr(Hook, each) for each in methods)
    )


class RequestHook:
    """A user's hook as `remoting.Client` calls it."""

    def __init__(self, hook: Hook) -> None:
        self._hook = hook

    def before(self, address: str, request: Frame) -> None:
        """Pass a request on."""
        self._hook.before_request(address, request)

    def after(self, address: str, request: Frame, response: Frame) -> None:
        """Pass a response on."""
        self._hook.after_response(address, request, response)
