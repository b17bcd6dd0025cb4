"""Who is connected: producers and consumers by group, what consumers subscribe to, who is told of changes.

A group's members should subscribe to the same things. RocketMQ keeps one subscription per group and lets the
newest heartbeat win, so that two different members starve each other without a word. Here each member's
subscriptions are kept, a topic stays while any member reads it, and a clash is logged by name; of two
filters on one topic the newer version holds, as in RocketMQ.
"""

import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from tailfin.wire.bodies.clients import (
    ConsumeFromWhere,
    ConsumeType,
    MessageModel,
    SubscriptionData,
)

log = logging.getLogger("tailfin.broker")


@dataclass(slots=True)
class Client:
    """One connection as a member of one group."""

    connection: int
    client_id: str
    language: str
    version: int
    address: str
    seen: float = 0.0
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)


@dataclass(slots=True)
class ConsumerGroup:
    """A consumer group with at least one member."""

    name: str
    consume_type: ConsumeType = ConsumeType.CONSUME_PASSIVELY
    message_model: MessageModel = MessageModel.CLUSTERING
    consume_from_where: ConsumeFromWhere = ConsumeFromWhere.CONSUME_FROM_LAST_OFFSET
    fingerprint: int = 0
    members: dict[int, Client] = field(default_factory=dict)
    subscriptions: dict[str, SubscriptionData] = field(default_factory=dict)

    @property
    def broadcast(self) -> bool:
        """Whether every member reads everything."""
        return self.message_model == MessageModel.BROADCASTING

    def client_ids(self) -> list[str]:
        """Ids of the members, each once."""
        return list(dict.fromkeys(member.client_id for member in self.members.values()))

    def find(self, client_id: str) -> Client | None:
        """Return the member with this id."""
        return next((member for member in self.members.values() if member.client_id == client_id), None)


@dataclass(frozen=True, slots=True)
class Joining:
    """What a heartbeat says about one consumer group."""

    group: str
    consume_type: ConsumeType
    message_model: MessageModel
    consume_from_where: ConsumeFromWhere
    subscriptions: tuple[SubscriptionData, ...] | None
    """None: as in the last heartbeat."""
    fingerprint: int = 0


class ClientTable:
    """Producers and consumers.

    `on_members` hears of a group whose members or topics changed; `on_subscription` of a group's filter on a
    topic, with None when nobody reads it any more.
    """

    def __init__(self, expiry_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self.on_members: Callable[[ConsumerGroup], None] = lambda group: None
        self.on_subscription: Callable[[ConsumerGroup, str, SubscriptionData | None], None] = (
            lambda group, topic, subscription: None
        )
        self._expiry_s = expiry_s
        self._clock = clock
        self._producers: dict[str, dict[int, Client]] = {}
        self._producer_ids: dict[str, Client] = {}
        self._consumers: dict[str, ConsumerGroup] = {}
        self._groups_of: dict[int, set[str]] = {}

    def beat_producer(self, group: str, client: Client) -> None:
        """Note a producer, or that it is still there."""
        client.seen = self._clock()
        members = self._producers.setdefault(group, {})
        before = members.get(client.connection)
        members[client.connection] = client
        self._producer_ids[client.client_id] = client
        if before and before.client_id != client.client_id:
            self._forget_id(before)
        self._groups_of.setdefault(client.connection, set())

    def beat_consumer(self, joining: Joining, client: Client) -> None:
        """Note a consumer, what it subscribes to, and tell others what changed."""
        group = self._consumers.setdefault(joining.group, ConsumerGroup(joining.group))
        group.consume_type = joining.consume_type
        group.message_model = joining.message_model
        group.consume_from_where = joining.consume_from_where
        group.fingerprint = joining.fingerprint
        known = group.members.get(client.connection)
        joined = known is None or known.client_id != client.client_id
        member = client if known is None or joined else known
        member.seen = self._clock()
        group.members[client.connection] = member
        self._groups_of.setdefault(client.connection, set()).add(joining.group)
        if joining.subscriptions is not None:
            member.subscriptions = {each.topic: each for each in joining.subscriptions if each.topic}
        if self._merge(group) or joined:
            self.on_members(group)

    def needs_subscriptions(self, group: str, connection: int, fingerprint: int) -> bool:
        """Whether a member that sent none has to send them in full, or the group's others changed theirs."""
        found = self._consumers.get(group)
        member = found.members.get(connection) if found else None
        return found is None or member is None or found.fingerprint != fingerprint

    def leave(self, client_id: str, connection: int, *, producer: str | None, consumer: str | None) -> None:
        """Take a client out of the groups it names."""
        if producer:
            self._drop_producer(producer, connection)
        group = self._consumers.get(consumer) if consumer else None
        if group and (member := group.members.get(connection)) and member.client_id == client_id:
            self._remove(group, connection)

    def closed(self, connection: int) -> None:
        """Forget everything about a connection."""
        groups = self._groups_of.pop(connection, None)
        if groups is None:
            return
        for name in groups:
            if (group := self._consumers.get(name)) and connection in group.members:
                try:
                    self._remove(group, connection)
                # The connection is known no more by now: nobody would come back for its other groups.
                except Exception:
                    log.exception("those who follow group %s failed when a member's connection ended", name)
        for name in list(self._producers):
            self._drop_producer(name, connection)

    def _drop_producer(self, group: str, connection: int) -> None:
        table = self._producers.get(group, {})
        client = table.pop(connection, None)
        if client is None:
            return
        if not table:
            del self._producers[group]
        self._forget_id(client)

    def _forget_id(self, left: Client) -> None:
        """Forget the id of a producer that left a group, if that was its last."""
        connection, client_id = left.connection, left.client_id
        tables = self._producers.values()
        # A client has one connection for all its groups, and perhaps a newer one by now.
        is_left = not any((each := table.get(connection)) and each.client_id == client_id for table in tables)
        known = self._producer_ids.get(client_id)
        if is_left and known and known.connection == connection:
            del self._producer_ids[client_id]

    def expired(self) -> list[int]:
        """Connections of which a client has been silent too long."""
        limit = self._clock() - self._expiry_s
        return sorted({client.connection for client in self._clients() if client.seen < limit})

    def _remove(self, group: ConsumerGroup, connection: int) -> None:
        del group.members[connection]
        self._groups_of.get(connection, set()).discard(group.name)
        if not group.members:
            del self._consumers[group.name]
        self._merge(group)
        self.on_members(group)

    def _merge(self, group: ConsumerGroup) -> bool:
        """Make one table of the members' subscriptions; return whether its topics changed."""
        newest: dict[str, SubscriptionData] = {}
        for member in group.members.values():
            for topic, each in member.subscriptions.items():
                if topic not in newest or each.sub_version > newest[topic].sub_version:
                    newest[topic] = each
        before = group.subscriptions
        group.subscriptions = newest
        for topic, each in newest.items():
            if before.get(topic) != each:
                self.on_subscription(group, topic, each)
                self._warn_of_clash(group, topic)
        for topic in before.keys() - newest.keys():
            self.on_subscription(group, topic, None)
        return before.keys() != newest.keys()

    def _warn_of_clash(self, group: ConsumerGroup, topic: str) -> None:
        filters = {
            member.subscriptions[topic].sub_string if topic in member.subscriptions else "(not subscribed)"
            for member in group.members.values()
            if member.subscriptions
        }
        if len(filters) > 1 and not group.broadcast:
            log.warning(
                "members of group %s disagree on topic %s: %s; each message goes to one member only, so some "
                "will be lost to the others: give every member the same subscriptions, or another group",
                group.name,
                topic,
                " and ".join(sorted(map(repr, filters))),
            )

    def consumer_group(self, name: str) -> ConsumerGroup | None:
        """Return a group that has members."""
        return self._consumers.get(name)

    def consumer_groups(self) -> list[ConsumerGroup]:
        """Return all groups that have members."""
        return list(self._consumers.values())

    def groups_reading(self, topic: str) -> list[str]:
        """Groups of which a member subscribes to a topic."""
        return [group.name for group in self._consumers.values() if topic in group.subscriptions]

    def producers(self, group: str) -> list[Client]:
        """Return the producers of a group."""
        return list(self._producers.get(group, {}).values())

    def producer_groups(self) -> dict[str, list[Client]]:
        """Return all producers by group."""
        return {name: list(table.values()) for name, table in self._producers.items()}

    def producer_by_id(self, client_id: str) -> Client | None:
        """Return a producer by its client id."""
        return self._producer_ids.get(client_id)

    def _clients(self) -> Iterator[Client]:
        for table in self._producers.values():
            yield from table.values()
        for group in self._consumers.values():
            yield from group.members.values()
