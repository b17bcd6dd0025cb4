"""Locks on queues: while a member holds one, no other member of its group reads the queue in order."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable

from tailfin.client.errors import ClientError
from tailfin.client.network import Network
from tailfin.client.queues import Queue
from tailfin.wire.bodies.clients import LockBatchRequestBody, LockBatchResponseBody
from tailfin.wire.codes import Code
from tailfin.wire.error import RemotingError

log = logging.getLogger("tailfin.client")

VALID_S = 30.0
"""How long a lock counts here; brokers keep it for 60 s, so that the two never disagree to our harm."""


class Locks:
    """Takes and gives back a group's locks at the brokers."""

    def __init__(self, network: Network, group: str) -> None:
        self._network = network
        self._group = group

    async def take(self, queues: Iterable[Queue]) -> tuple[set[Queue], set[Queue]]:
        """Lock queues, or keep them locked; return those held, and those of brokers that did not answer."""
        parts = _by_broker(queues)
        outcomes = await asyncio.gather(*(self._take(broker, part) for broker, part in parts.items()))
        held: set[Queue] = set()
        unknown: set[Queue] = set()
        for part, outcome in zip(parts.values(), outcomes, strict=True):
            if outcome is None:
                unknown.update(part)
            else:
                held |= outcome
        return held, unknown

    async def give_back(self, queues: Iterable[Queue]) -> None:
        """Unlock queues; brokers that cannot be reached forget the locks by themselves."""
        await asyncio.gather(*(self._give(broker, part) for broker, part in _by_broker(queues).items()))

    async def _take(self, broker: str, queues: list[Queue]) -> set[Queue] | None:
        try:
            answer = await self._network.call(
                self._network.address_of(broker), Code.LOCK_BATCH_MQ, body=self._body(queues)
            )
        except (RemotingError, ClientError) as error:
            log.warning(
                "broker %s did not say whether group %s has its locks: %s", broker, self._group, error
            )
            return None
        locked = LockBatchResponseBody.from_json(answer.body).lock_ok_mq_set
        return {Queue.of_body(each) for each in locked} & set(queues)

    async def _give(self, broker: str, queues: list[Queue]) -> None:
        try:
            await self._network.call(
                self._network.address_of(broker), Code.UNLOCK_BATCH_MQ, body=self._body(queues)
            )
        except (RemotingError, ClientError) as error:
            log.warning(
                "locks of group %s at broker %s stay until they expire: %s", self._group, broker, error
            )

    def _body(self, queues: list[Queue]) -> bytes:
        return LockBatchRequestBody(
            consumer_group=self._group,
            client_id=self._network.client_id,
            mq_set=[queue.to_body() for queue in queues],
        ).to_json()


def _by_broker(queues: Iterable[Queue]) -> dict[str, list[Queue]]:
    parts: dict[str, list[Queue]] = defaultdict(list)
    for queue in queues:
        parts[queue.broker].append(queue)
    return parts
