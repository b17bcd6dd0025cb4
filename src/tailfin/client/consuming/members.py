"""Who else is in a group, and what the others read."""

import logging
import random
from collections.abc import Mapping

from tailfin.client.consuming.subscriptions import differing
from tailfin.client.errors import ClientError
from tailfin.client.network import Network
from tailfin.client.routes import Route
from tailfin.wire.bodies.clients import GetConsumerListByGroupResponseBody, SubscriptionData
from tailfin.wire.bodies.stats import ConsumerConnection
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.clients import (
    GetConsumerConnectionListRequestHeader,
    GetConsumerListByGroupRequestHeader,
)

log = logging.getLogger("tailfin.client")


class Members:
    """Asks brokers about a group."""

    def __init__(self, network: Network, group: str) -> None:
        self._network = network
        self._group = group
        self._complaints: frozenset[str] = frozenset()

    async def ids(self, route: Route) -> list[str] | None:
        """Return the members' client ids, by a broker of the topic; None when none of them can say."""
        for address in self._addresses(route):
            header = GetConsumerListByGroupRequestHeader(consumer_group=self._group)
            try:
                answer = await self._network.call(address, Code.GET_CONSUMER_LIST_BY_GROUP, header=header)
            except RemotingError as error:
                log.debug("%s does not say who is in group %s: %s", address, self._group, error)
                continue
            return GetConsumerListByGroupResponseBody.from_json(answer.body).consumer_id_list
        return None

    async def compare_subscriptions(self, route: Route, mine: Mapping[str, SubscriptionData]) -> list[str]:
        """Warn when other members of the group subscribe differently; return what is new about it."""
        for address in self._addresses(route):
            header = GetConsumerConnectionListRequestHeader(consumer_group=self._group)
            try:
                answer = await self._network.call(address, Code.GET_CONSUMER_CONNECTION_LIST, header=header)
            except (RemotingError, ClientError):
                continue
            known = ConsumerConnection.from_json(answer.body)
            others = [
                each.client_id for each in known.connection_set if each.client_id != self._network.client_id
            ]
            found = differing(mine, known.subscription_table) if others else []
            fresh = [each for each in found if each not in self._complaints]
            self._complaints = frozenset(found)
            for each in fresh:
                log.warning(
                    "members of group %s subscribe differently, so each misses messages: %s "
                    "(this one is %s; others: %s). Give all members the same subscriptions, or other groups",
                    self._group,
                    each,
                    self._network.client_id,
                    ", ".join(str(other) for other in others),
                )
            return fresh
        return []

    def _addresses(self, route: Route) -> list[str]:
        addresses = [self._network.master_or_slave(broker)[1] for broker in route.brokers]
        random.shuffle(addresses)
        return addresses
