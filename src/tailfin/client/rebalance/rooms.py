"""Shares by machine room: read what is near."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Protocol

from tailfin.client.queues import Queue
from tailfin.client.rebalance.strategy import Strategy


class ByMachineRoom:
    """Only queues of given rooms, whose brokers are named `room@name`, in even shares.

    Queues of other rooms are read by nobody.
    """

    name = "MACHINE_ROOM"

    def __init__(self, rooms: Iterable[str]) -> None:
        if isinstance(rooms, str):
            raise TypeError(f"rooms are given as a set, as in ByMachineRoom({{{rooms!r}}})")
        self._rooms = frozenset(rooms)

    def share(self, member: str, queues: Sequence[Queue], members: Sequence[str]) -> list[Queue]:
        """Return the queues of one member."""
        index = members.index(member)
        near = [queue for queue in queues if _room_in_name(queue.broker) in self._rooms]
        size, left = divmod(len(near), len(members))
        mine = near[index * size : (index + 1) * size]
        if index < left:
            # Java hands out the rest one by one behind the even shares, not within them.
            mine.append(near[size * len(members) + index])
        return mine


class Rooms(Protocol):
    """Says in which machine room something stands."""

    def of_broker(self, queue: Queue) -> str:
        """Return the room of a queue's broker."""

    def of_member(self, member: str) -> str:
        """Return the room of a member, by its client id (`address@...`)."""


class MachineRoomNearby:
    """Another strategy within each room; queues of rooms without a member are shared by all members."""

    def __init__(self, strategy: Strategy, rooms: Rooms) -> None:
        self._strategy = strategy
        self._rooms = rooms
        self.name = f"MACHINE_ROOM_NEARBY-{strategy.name}"

    def share(self, member: str, queues: Sequence[Queue], members: Sequence[str]) -> list[Queue]:
        """Return the queues of one member."""
        queues_by_room: dict[str, list[Queue]] = defaultdict(list)
        for queue in queues:
            queues_by_room[self._named(self._rooms.of_broker(queue), f"broker {queue.broker}")].append(queue)
        members_by_room: dict[str, list[str]] = defaultdict(list)
        for each in members:
            members_by_room[self._named(self._rooms.of_member(each), f"member {each}")].append(each)
        own = self._rooms.of_member(member)
        mine: list[Queue] = []
        if own in queues_by_room:
            mine += self._strategy.share(member, queues_by_room.pop(own), members_by_room[own])
        for room in sorted(queues_by_room.keys() - members_by_room.keys()):
            mine += self._strategy.share(member, queues_by_room[room], members)
        return mine

    def _named(self, room: str, what: str) -> str:
        if not room:
            raise ValueError(f"{type(self._rooms).__name__} knows no machine room for {what}")
        return room


def _room_in_name(broker: str) -> str | None:
    parts = broker.split("@")
    return parts[0] if len(parts) == 2 else None
