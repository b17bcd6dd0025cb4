"""Where the offsets of a group are kept: on the brokers, or in a file of this client's own."""

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from tailfin.client.errors import ClientError, got_no_answer
from tailfin.client.network import Network
from tailfin.client.queues import Queue
from tailfin.client.routes import MASTER
from tailfin.config.files import backup_of, replace_file
from tailfin.wire.bodies.common import MessageQueue
from tailfin.wire.body import Body, body
from tailfin.wire.codes import Code, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.headers.pull import (
    QueryConsumerOffsetRequestHeader,
    QueryConsumerOffsetResponseHeader,
    UpdateConsumerOffsetRequestHeader,
)

log = logging.getLogger("tailfin.client")


class OffsetStore(Protocol):
    """Keeps a group's offsets; one of one's own can be given to a consumer."""

    async def load(self) -> None:
        """Read what is kept; called once, at the start."""

    async def fetch(self, queue: Queue) -> int | None:
        """Return a queue's offset; None: there is none."""

    async def store(self, offsets: Mapping[Queue, int]) -> dict[Queue, int]:
        """Keep offsets; return those that are kept now."""


class RemoteOffsets:
    """Offsets on the brokers that have the queues, as clustering groups share them.

    While a master is away its slave takes them, as it does from Java's clients: members that start meanwhile
    begin there. The slave drops them when the master is back, so they count as kept when the master has them.
    """

    def __init__(self, network: Network, group: str) -> None:
        self._network = network
        self._group = group
        self._away: set[str] = set()

    async def load(self) -> None:
        """Nothing to do: brokers are asked when a queue is taken."""

    async def fetch(self, queue: Queue) -> int | None:
        """Ask the queue's broker."""
        header = QueryConsumerOffsetRequestHeader(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            set_zero_if_not_found=False,
            bname=queue.broker,
        )
        _, address = self._network.master_or_slave(queue.broker)
        answer = await self._network.call(
            address,
            Code.QUERY_CONSUMER_OFFSET,
            header=header,
            accept=(ResponseCode.SUCCESS, ResponseCode.QUERY_NOT_FOUND),
        )
        if answer.code == ResponseCode.QUERY_NOT_FOUND:
            return None
        return QueryConsumerOffsetResponseHeader.decode(answer.fields).offset

    async def store(self, offsets: Mapping[Queue, int]) -> dict[Queue, int]:
        """Tell each broker its queues' offsets, and wait until it has them."""
        outcomes = await asyncio.gather(
            *(self._has_master(queue, offset) for queue, offset in offsets.items())
        )
        return {
            queue: offset for (queue, offset), kept in zip(offsets.items(), outcomes, strict=True) if kept
        }

    async def tell(self, queue: Queue, offset: int) -> int:
        """Tell the master of a queue's broker, or a slave if it does not answer; return whose id took it."""
        header = UpdateConsumerOffsetRequestHeader(
            consumer_group=self._group,
            topic=queue.topic,
            queue_id=queue.queue_id,
            commit_offset=offset,
            bname=queue.broker,
        )
        broker_id, address = self._network.master_or_slave(queue.broker)
        try:
            await self._network.call(address, Code.UPDATE_CONSUMER_OFFSET, header=header)
        except RemotingError as error:
            other_id, other = self._network.master_or_slave(queue.broker)
            if other == address or not got_no_answer(error):
                raise
            await self._network.call(other, Code.UPDATE_CONSUMER_OFFSET, header=header)
            return other_id
        return broker_id

    async def _has_master(self, queue: Queue, offset: int) -> bool:
        try:
            told = await self.tell(queue, offset)
        except (RemotingError, ClientError) as error:
            self._note_away(queue.broker, f"none of it takes them: {error}")
            return False
        if told != MASTER:
            self._note_away(queue.broker, f"its slave {told} keeps them meanwhile")
            return False
        if queue.broker in self._away:
            self._away.discard(queue.broker)
            log.info("broker %s has the offsets of group %s again", queue.broker, self._group)
        return True

    def _note_away(self, broker: str, reason: str) -> None:
        level = logging.DEBUG if broker in self._away else logging.WARNING
        self._away.add(broker)
        log.log(
            level,
            "the master of broker %s does not take the offsets of group %s, %s; it is told again and again",
            broker,
            self._group,
            reason,
        )


@body
class _LocalFile(Body):
    offset_table: dict[MessageQueue, int] = field(default_factory=dict)


@dataclass
class LocalOffsets:
    """Offsets in a file that RocketMQ's Java client reads and writes too, one for each client and group.

    Args:
        path: `.../<client id>/<group>/offsets.json`; the version before the last is kept as `.bak`.
    """

    path: Path
    _offsets: dict[Queue, int] = field(default_factory=dict, init=False)

    async def load(self) -> None:
        """Read the file, or the version before it when it cannot be read."""
        self._offsets = await asyncio.to_thread(self._read)

    async def fetch(self, queue: Queue) -> int | None:
        """Return what was read, or kept since."""
        return self._offsets.get(queue)

    async def store(self, offsets: Mapping[Queue, int]) -> dict[Queue, int]:
        """Write the file anew."""
        self._offsets.update(offsets)
        content = _LocalFile(
            offset_table={queue.to_body(): offset for queue, offset in sorted(self._offsets.items())}
        )
        try:
            await asyncio.to_thread(replace_file, self.path, content.to_json(pretty=True))
        except OSError as error:
            log.warning("offsets are not kept in %s yet: %s", self.path, error)
            return {}
        return dict(offsets)

    def _read(self) -> dict[Queue, int]:
        for path in (self.path, backup_of(self.path)):
            try:
                content = _LocalFile.from_json(path.read_bytes())
            except FileNotFoundError:
                continue
            except RemotingError as error:
                log.warning("%s cannot be read, the version before it is tried: %s", path, error)
                continue
            return {Queue.of_body(each): offset for each, offset in content.offset_table.items()}
        return {}


def local_path(folder: Path | None, client: str, group: str) -> Path:
    """Return the file of a client and group, where RocketMQ's clients look for it."""
    return (folder or Path.home() / ".rocketmq_offsets") / client / group / "offsets.json"
