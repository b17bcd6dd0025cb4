"""Where each group stands in each queue: held by the hot path, kept in `consumerOffset.json`.

With light queues the file is `lmqConsumerOffset.json`, as in RocketMQ. The newer one of both is read, so that
turning them on or off costs no group its place.
"""

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

from tailfin.broker import names
from tailfin.broker.config_file import ConfigFile, first_version, following
from tailfin.config.broker import BrokerConfig
from tailfin.rounds import Rounds
from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.bodies.groups import ConsumerOffsetSerializeWrapper

if TYPE_CHECKING:
    from collections.abc import Callable

    from tailfin.remoting import HotPath

SEPARATOR = "@"
LIGHT_QUEUE = 0


class ConsumerOffsets:
    """Offsets of consumer groups; commits happen in the hot path, files and admin questions here."""

    def __init__(self, folder: Path, config: BrokerConfig, hot: "HotPath", *, light: bool = False) -> None:
        self.version = first_version()
        self._config = config
        self._hot = hot
        self._light = light
        plain = ConfigFile(folder / "consumerOffset.json", ConsumerOffsetSerializeWrapper)
        of_light = ConfigFile(folder / "lmqConsumerOffset.json", ConsumerOffsetSerializeWrapper)
        self._file, self._others_file = (of_light, plain) if light else (plain, of_light)
        self._persisted = hot.offsets_version()
        self._counted = self._persisted
        self._rounds = Rounds(self._write)
        self.before_write: Callable[[], None] = lambda: None
        """Commits what has to stand in the file as of one moment."""

    def load(self) -> None:
        """Read the file into the hot path."""
        found = [(content, file) for file in (self._file, self._others_file) if (content := file.read())]
        if not found:
            return
        content, _ = max(found, key=lambda each: _order(*each))
        self.version = content.data_version or self.version
        light = {key: {LIGHT_QUEUE: offset} for key, offset in (content.lmq_offset_table or {}).items()}
        self._hot.load_offsets({**content.offset_table, **light})
        self._persisted = self._counted = self._hot.offsets_version()

    def snapshot(self) -> ConsumerOffsetSerializeWrapper:
        """Return the table as the file holds it."""
        self._count_version()
        return self._content()

    def _content(self) -> ConsumerOffsetSerializeWrapper:
        table = {key: dict(sorted(queues.items())) for key, queues in sorted(self._hot.offsets().items())}
        light: dict[str, int] | None = None
        if self._light:
            of_light = [key for key in table if key.partition(SEPARATOR)[2].startswith(names.LIGHT_PREFIX)]
            light = {key: table.pop(key).get(LIGHT_QUEUE, 0) for key in of_light}
        return ConsumerOffsetSerializeWrapper(
            offset_table=table, lmq_offset_table=light, data_version=self.version
        )

    async def persist_if_changed(self) -> None:
        """Write the file when a commit came since the last time, by another thread."""
        await self._rounds.served()

    async def _write(self) -> None:
        self.before_write()
        now = self._hot.offsets_version()
        if now != self._persisted:
            self._count_version()
            await asyncio.to_thread(lambda: self._file.write(self._content()))
            self._persisted = now

    def _count_version(self) -> None:
        now = self._hot.offsets_version()
        if now - self._counted >= self._config.consumerOffsetUpdateVersionStep:
            self._counted = now
            self.version = following(self.version)

    def commit(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Set an offset."""
        self._hot.commit_offset(group, topic, queue_id, offset)

    def get(self, group: str, topic: str, queue_id: int) -> int | None:
        """Return an offset, None when the group never committed one."""
        return self._hot.committed_offset(group, topic, queue_id)

    def pulled(self, group: str, topic: str, queue_id: int) -> int | None:
        """Return where the last pull of a queue ended."""
        return self._hot.pulled_offset(group, topic, queue_id)

    def reset(self, group: str, topic: str, queue_id: int, offset: int) -> None:
        """Send the group's readers of a queue to an offset with their next pull."""
        self._hot.reset_offset(group, topic, queue_id, offset)

    def of(self, group: str, topic: str) -> dict[int, int]:
        """Return a group's offsets on a topic, by queue."""
        return self._hot.offsets_of(group, topic)

    def topics_of(self, group: str) -> list[str]:
        """Topics on which a group has offsets."""
        return self._hot.topics_with_offsets(group)

    def groups_of(self, topic: str) -> list[str]:
        """Groups that have offsets on a topic."""
        return self._hot.groups_with_offsets(topic)

    def drop(self, *, topic: str | None = None, group: str | None = None) -> None:
        """Forget the offsets of a topic, of a group, or of one group on one topic."""
        self._hot.drop_offsets(topic=topic, group=group)


def _order(
    content: ConsumerOffsetSerializeWrapper, file: ConfigFile[ConsumerOffsetSerializeWrapper]
) -> tuple[int, int, int]:
    """Return what to compare to see which of two files is newer.

    Not how often they changed: a Java broker with light queues counts from 0 with each start. As few commits
    make no new version, the files' own times count as well.
    """
    version = content.data_version or DataVersion()
    written = file.path.stat().st_mtime_ns if file.path.exists() else 0
    return version.state_version, version.timestamp, written
