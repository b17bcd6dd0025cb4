"""Members of a group come and go: each queue has one owner, and nothing is lost."""

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Protocol

import tailfin
from tests.crash.waiting import wait_until
from tests.interop.clients.clusters import Cluster
from tests.interop.python_client import scenes
from tests.interop.python_client.conftest import MakeTopic
from tests.interop.python_client.puppets import Puppet
from tests.interop.python_client.scenes import fresh
from tests.interop.python_client.styles import Name, Style

CHANGES = 100
SEED = 6
QUEUES = 8
MEMBERS_MAX = 5
SETTLED_WITHIN_S = 60.0


class Member(Protocol):
    """One of the group."""

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def queues(self) -> set[str]: ...


@dataclass
class PythonMember:
    style: Style
    group: str
    topic: str
    consumed: Counter[int]
    consumer: tailfin.PushConsumer = field(init=False)

    def start(self) -> None:
        self.consumer = self.style.push(
            self.group,
            self._handle,
            subscribe={self.topic: "*"},
            consume_from="first",
            rebalance_interval=0.5,
        )
        self.consumer.start()

    def stop(self) -> None:
        self.consumer.stop()

    def queues(self) -> set[str]:
        return {
            f"{queue.broker}/{queue.queue_id}" for queue in self.consumer.queues if queue.topic == self.topic
        }

    def _handle(self, message: tailfin.ReceivedMessage) -> None:
        self.consumed[message.flag] += 1


@dataclass
class JavaMember:
    puppet: Puppet
    group: str
    topic: str
    running: ExitStack = field(default_factory=ExitStack)
    name: str = ""

    def start(self) -> None:
        consumer = self.puppet.consumer("concurrent", self.group, self.topic)
        self.name = self.running.enter_context(consumer)

    def stop(self) -> None:
        self.running.close()

    def queues(self) -> set[str]:
        return set(self.puppet.ask("queues", self.name, self.topic)["queues"])


@contextmanager
def load(nameserver: str, topic: str) -> Iterator[list[int]]:
    """Send numbered messages until the block ends; it is given what was acknowledged."""
    sent, stop = list[int](), threading.Event()

    def send() -> None:
        with tailfin.Producer(fresh("producers"), nameserver=nameserver, timeout=30.0) as producer:
            while not stop.wait(0.01):
                producer.send(scenes.message(topic, len(sent)))
                sent.append(len(sent))

    thread = threading.Thread(target=send)
    thread.start()
    try:
        yield sent
    finally:
        stop.set()
        thread.join()


@dataclass
class Group:
    """Members that come and go by chance, one in ten of them Java's."""

    cluster: Cluster
    loop: asyncio.AbstractEventLoop
    puppet: Puppet
    topic: str
    name: str = field(default_factory=lambda: fresh("group"))
    members: list[Member] = field(default_factory=list)
    _chance: random.Random = field(default_factory=lambda: random.Random(SEED))
    _by_python: Counter[int] = field(default_factory=Counter)
    _of_java: list[JavaMember] = field(default_factory=list)

    def change(self) -> None:
        """Let one come, or one go."""
        if len(self.members) < 2 or (len(self.members) < MEMBERS_MAX and self._chance.random() < 0.5):
            self.members.append(member := self._new())
            member.start()
        else:
            self.members.pop(self._chance.randrange(len(self.members))).stop()

    def is_shared(self) -> bool:
        """Whether each queue has one owner, and no member less than its share."""
        owned = [member.queues() for member in self.members]
        in_all = Counter(queue for one in owned for queue in one)
        least = QUEUES // len(owned)
        return len(in_all) == QUEUES == in_all.total() and all(len(one) >= least for one in owned)

    def consumed(self) -> set[int]:
        """Return the numbers of all messages that any member got."""
        by_java = {each["flag"] for one in self._of_java for each in self.puppet.received[one.name]}
        return self._by_python.keys() | by_java

    def _new(self) -> Member:
        if self._chance.random() < 0.1:
            self._of_java.append(member := JavaMember(self.puppet, self.name, self.topic))
            return member
        style: Name = self._chance.choice(("blocking", "asyncio"))
        return PythonMember(
            Style(style, self.cluster.namesrv, self.loop), self.name, self.topic, self._by_python
        )


def test_each_queue_has_one_owner_as_members_come_and_go(
    cluster: Cluster, loop: asyncio.AbstractEventLoop, puppet: Puppet, make_topic: MakeTopic
) -> None:
    topic = make_topic("rebalanced", QUEUES)
    group = Group(cluster, loop, puppet, topic)
    try:
        with load(cluster.namesrv, topic) as sent:
            for change in range(CHANGES):
                group.change()
                wait_until(group.is_shared, f"one owner of each queue, change {change}", SETTLED_WITHIN_S)
        wait_until(lambda: group.consumed() >= set(sent), "all messages", SETTLED_WITHIN_S)
    finally:
        for member in group.members:
            member.stop()
