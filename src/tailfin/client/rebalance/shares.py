"""Shares by number: neighbours together, one after the other, or a fixed list."""

from collections.abc import Iterable, Sequence

from tailfin.client.queues import Queue


class Averagely:
    """Neighbouring queues for each member, the first ones one more when it does not come out even.

    8 queues and 3 members: 0-2, 3-5, 6-7. This is the default, of Java's clients too.
    """

    name = "AVG"

    def share(self, member: str, queues: Sequence[Queue], members: Sequence[str]) -> list[Queue]:
        """Return the queues of one member."""
        index = members.index(member)
        size, left = divmod(len(queues), len(members))
        begin = index * size + min(index, left)
        return list(queues[begin : begin + size + (index < left)])


class ByCircle:
    """Queues dealt out like cards. 8 queues and 3 members: 0 3 6, 1 4 7, 2 5."""

    name = "AVG_BY_CIRCLE"

    def share(self, member: str, queues: Sequence[Queue], members: Sequence[str]) -> list[Queue]:
        """Return the queues of one member."""
        return list(queues[members.index(member) :: len(members)])


class ByConfig:
    """A fixed list, whoever else is there: the members have to be told lists that fit each other.

    Queues of the list that the topic does not have are asked for all the same, as Java does it.
    """

    name = "CONFIG"

    def __init__(self, queues: Iterable[Queue]) -> None:
        self._queues = [Queue(*queue) for queue in queues]

    def share(self, member: str, queues: Sequence[Queue], members: Sequence[str]) -> list[Queue]:
        """Return the queues of one member."""
        topics = {queue.topic for queue in queues}
        return [queue for queue in self._queues if queue.topic in topics]
