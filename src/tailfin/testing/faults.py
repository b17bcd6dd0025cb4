"""Switches for what goes wrong between clients and brokers."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Literal, Self, get_args

from tailfin.broker.app import Broker
from tailfin.cluster import Node
from tailfin.remoting import Request
from tailfin.testing import killing
from tailfin.wire.codes import Code

Kind = Literal["send", "pull", "retry", "commit", "heartbeat", "members", "lock", "end_transaction"]

KINDS: dict[str, tuple[Code, ...]] = {
    "send": (Code.SEND_MESSAGE, Code.SEND_MESSAGE_V2, Code.SEND_BATCH_MESSAGE),
    "pull": (Code.PULL_MESSAGE, Code.LITE_PULL_MESSAGE),
    "retry": (Code.CONSUMER_SEND_MSG_BACK,),
    "commit": (Code.UPDATE_CONSUMER_OFFSET,),
    "heartbeat": (Code.HEART_BEAT,),
    "members": (Code.GET_CONSUMER_LIST_BY_GROUP,),
    "lock": (Code.LOCK_BATCH_MQ, Code.UNLOCK_BATCH_MQ),
    "end_transaction": (Code.END_TRANSACTION,),
}
"""What a fault may concern, in the words of whoever writes a test."""

NAMESERVER = "nameserver"

Run = Callable[[Coroutine[Any, Any, None]], None]
"""Runs a coroutine on the cluster's thread, and waits for it."""


@dataclass(eq=False, slots=True)
class Fault:
    """A fault that is switched on: until `end`, the end of its `with` block, or `times` requests."""

    _faults: "Faults"
    _codes: frozenset[int]
    _broker: str | None
    _times: int | None
    _slow_s: float = 0.0
    _answers: bool = False
    met: int = field(default=0, init=False)
    """How many requests it has met so far."""

    def end(self) -> None:
        """Switch it off; one that is off stays off."""
        self._faults._switch(self, on=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self.end()


class Faults:
    """The fault switches of a cluster.

    A request is named by its kind (`"send"`, `"pull"`, `"retry"`, `"commit"`, `"heartbeat"`, `"members"`,
    `"lock"`, `"end_transaction"`) or by its `Code`; none at all means every request to a broker.

    Example:
        >>> with running.faults.drop("send", times=1) as fault:
        ...     producer.send(Message("orders", b"paid 42"))  # succeeds with its second try
        >>> assert fault.met == 1
    """

    def __init__(self, node: Node, run: Run) -> None:
        self._node = node
        self._run = run
        self._on: list[Fault] = []
        self._late: set[asyncio.Task[None]] = set()

    def drop(
        self, *what: Kind | Code, times: int | None = None, answers: bool = False, broker: str | None = None
    ) -> Fault:
        """Lose requests: they are not carried out, and nobody answers.

        Args:
            *what: which requests.
            times: how many of them; until its end without.
            answers: lose only the answers. What was asked for is done, and whoever asked cannot know.
            broker: at which broker; at all of them without.
        """
        return self._switch(Fault(self, _codes(what), broker, _positive(times), _answers=answers))

    def slow(
        self, seconds: float, *what: Kind | Code, times: int | None = None, broker: str | None = None
    ) -> Fault:
        """Let requests come in so many seconds late.

        Args:
            seconds: how late.
            *what: which requests.
            times: how many of them; until its end without.
            broker: at which broker; at all of them without.
        """
        if seconds <= 0:
            raise ValueError(f"slow takes seconds, more than 0, not {seconds}")
        return self._switch(Fault(self, _codes(what), broker, _positive(times), _slow_s=seconds))

    def heal(self) -> None:
        """Switch every fault off. Who was killed stays away: see `restart`."""
        for fault in list(self._on):
            fault.end()

    def kill(self, server: str | None = None) -> None:
        """Kill a broker by its name, the first one without, or the `"nameserver"`.

        Connections are cut, nobody is told, nothing is written down: a broker's files stay as they are.
        """
        if server == NAMESERVER:
            self._run(self._node.stop_name_server(drain=0.0))
        else:
            self._run(killing.kill(self._killable(server)))

    def restart(self, server: str | None = None) -> None:
        """Start what was killed again, at its old address.

        A broker recovers its files as after a crash. Brokers tell a name server at once what they have.
        """
        if server == NAMESERVER:
            self._run(self._revive_name_server())
        else:
            self._run(self._revive(self._named(server)))

    async def forget(self) -> None:
        """Lose what still comes late, at the end of the cluster."""
        for late in self._late:
            late.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)

    def _named(self, name: str | None) -> int:
        names = [broker.config.brokerName for broker in self._node.brokers]
        if name is not None and name not in names:
            raise ValueError(f"there is no broker {name!r}, only {', '.join(names)}")
        return 0 if name is None else names.index(name)

    def _killable(self, name: str | None) -> Broker:
        broker = self._node.brokers[self._named(name)]
        if broker.is_stopped:
            raise ValueError(f"{broker.config.brokerName} is dead already")
        return broker

    async def _revive_name_server(self) -> None:
        if self._node.has_name_server:
            raise ValueError("the name server is alive: kill it first")
        await self._node.start_name_server()
        for broker in self._node.brokers:
            if not broker.is_stopped:
                await broker.registration.register()

    async def _revive(self, number: int) -> None:
        broker = await killing.revive(self._node.brokers[number])
        self._node.brokers[number] = broker
        self._apply(broker)

    def _switch(self, fault: Fault, *, on: bool = True) -> Fault:
        if fault._broker is not None:
            self._named(fault._broker)
        self._run(self._set(fault, on))
        return fault

    async def _set(self, fault: Fault, on: bool) -> None:
        if on:
            self._on.append(fault)
        elif fault in self._on:
            self._on.remove(fault)
        for broker in self._node.brokers:
            if not broker.is_stopped:
                self._apply(broker)

    def _of(self, broker: Broker) -> list[Fault]:
        return [fault for fault in self._on if fault._broker in (None, broker.config.brokerName)]

    def _apply(self, broker: Broker) -> None:
        """Have the requests that a fault concerns come to Python, and by `_meet`."""
        faults = self._of(broker)
        broker.server.detour = (lambda request: self._meet(broker, request)) if faults else None
        broker.hot.send_to_python(frozenset[int]().union(*(fault._codes for fault in faults)))

    def _meet(self, broker: Broker, request: Request) -> bool:
        fault = next((each for each in self._of(broker) if request.code in each._codes), None)
        if fault is None:
            return False
        fault.met += 1
        if fault.met == fault._times:
            self._on.remove(fault)
            self._apply(broker)
        if fault._answers:
            self._later(broker.server.serve_in_silence(request))
        elif fault._slow_s:
            self._later(_late(broker, request, fault._slow_s))
        # A request that nobody keeps is one that nobody answers.
        return True

    def _later(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._late.add(task)
        task.add_done_callback(self._late.discard)


async def _late(broker: Broker, request: Request, seconds: float) -> None:
    await asyncio.sleep(seconds)
    if not broker.is_stopped:
        broker.server.serve(request)


def _codes(what: tuple[Kind | Code, ...]) -> frozenset[int]:
    found: set[int] = set()
    for each in what:
        if isinstance(each, Code):
            found.add(each)
        elif each in KINDS:
            found.update(KINDS[each])
        else:
            raise ValueError(f"a fault is about {', '.join(get_args(Kind))}, or a Code, not {each!r}")
    return frozenset(found or Code)


def _positive(times: int | None) -> int | None:
    if times is not None and times < 1:
        raise ValueError(f"times is at least 1, not {times}")
    return times
