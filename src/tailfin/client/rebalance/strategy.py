"""What a strategy is, and the rules that hold for all of them."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from tailfin.client.queues import Queue


class Strategy(Protocol):
    """Gives a member its share of a topic's queues.

    A strategy of one's own is any object with these two, for example one that leaves a queue to one member:

    ```python
    class FirstTakesAll:
        name = "FIRST_TAKES_ALL"

        def share(self, member, queues, members):
            return list(queues) if members[0] == member else []
    ```
    """

    @property
    def name(self) -> str:
        """RocketMQ's name of the strategy; tools show it."""

    def share(self, member: str, queues: Sequence[Queue], members: Sequence[str]) -> list[Queue]:
        """Return the queues of one member.

        Args:
            member: whose share; it is one of `members`.
            queues: all queues of the topic, sorted.
            members: ids of all members, sorted.
        """


def share_of(strategy: Strategy, member: str, queues: Iterable[Queue], members: Iterable[str]) -> list[Queue]:
    """Return a member's share, whatever order the queues and members stand in.

    One whom the broker does not list gets nothing. Names are sorted as Java sorts texts, by UTF-16 units.
    """
    everyone = sorted(set(members), key=_java_order)
    everything = sorted(
        set(queues), key=lambda queue: (_java_order(queue.topic), _java_order(queue.broker), queue.queue_id)
    )
    if member not in everyone or not everything:
        return []
    return strategy.share(member, everything, everyone)


def _java_order(text: str) -> bytes:
    return text.encode("utf-16-be", "surrogatepass")
