"""Who in a group reads which queue: RocketMQ's strategies, as plain functions of the same two lists.

Every member sorts the queues and the members' ids alike and works out its own share, so that all agree
without talking to each other. Members of one group, Java's among them, must therefore use the same strategy.
"""

from tailfin.client.rebalance.hashing import ConsistentHash
from tailfin.client.rebalance.rooms import ByMachineRoom, MachineRoomNearby, Rooms
from tailfin.client.rebalance.shares import Averagely, ByCircle, ByConfig
from tailfin.client.rebalance.strategy import Strategy, share_of

__all__ = [
    "Averagely",
    "ByCircle",
    "ByConfig",
    "ByMachineRoom",
    "ConsistentHash",
    "MachineRoomNearby",
    "Rooms",
    "Strategy",
    "share_of",
]
