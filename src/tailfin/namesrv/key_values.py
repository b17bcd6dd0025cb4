"""The key-value config: texts by namespace and key, in one JSON file that is always whole."""

import asyncio
import logging
from dataclasses import field
from pathlib import Path

from tailfin.config import files
from tailfin.config.setting import ConfigError
from tailfin.rounds import Rounds
from tailfin.wire import fastjson
from tailfin.wire.body import Body, Misshapen, body

log = logging.getLogger("tailfin.namesrv")

Table = dict[str, dict[str, str]]

ORDER_TOPICS = "ORDER_TOPIC_CONFIG"
"""Namespace of what orderly topics are made of: `broker-a:4;broker-b:4` by topic."""


@body
class KVConfigSerializeWrapper(Body):
    """The file's content."""

    config_table: dict[str, dict[str, str]] = field(default_factory=dict)


class KeyValues:
    """The texts in memory. A change is in force and answered once it is on disk.

    The file is written by another thread, once for all changes that came while it was written last: however
    many come, whoever asks for a text or a route is not held up.
    """

    def __init__(self, path: Path) -> None:
        """Load the file, or its backup when the file is damaged."""
        self._path = path
        self._table = _load(path)
        self._waiting: list[tuple[str, str, str | None]] = []
        self._rounds = Rounds(self._write)

    def get(self, namespace: str, key: str) -> str | None:
        """Return a text."""
        return self._table.get(namespace, {}).get(key)

    def of_namespace(self, namespace: str) -> dict[str, str] | None:
        """Return all texts of a namespace, None when there was never one."""
        return self._table.get(namespace)

    async def put(self, namespace: str, key: str, value: str) -> None:
        """Set a text; an `OSError` when it cannot be written."""
        await self._change(namespace, key, value)

    async def delete(self, namespace: str, key: str) -> None:
        """Remove a text; one that is not there is no error."""
        await self._change(namespace, key, None)

    def log_all(self) -> None:
        """Say every text, for whoever looks for the cause of something later."""
        for namespace, texts in self._table.items():
            for key, value in texts.items():
                log.info("key-value config: %s / %s = %s", namespace, key, value)

    async def _change(self, namespace: str, key: str, value: str | None) -> None:
        self._waiting.append((namespace, key, value))
        await self._rounds.served()

    async def _write(self) -> None:
        changes, self._waiting = self._waiting, []
        table = _changed(self._table, changes)
        if table != self._table:
            await asyncio.to_thread(_store, self._path, table)
            self._table = table


def _changed(table: Table, changes: list[tuple[str, str, str | None]]) -> Table:
    """Return a table after changes; what the other one holds stays as it is, for it may be being read."""
    fresh = {namespace: dict(table.get(namespace, {})) for namespace, _, _ in changes}
    for namespace, key, value in changes:
        if value is None:
            fresh[namespace].pop(key, None)
        else:
            fresh[namespace][key] = value
    # A namespace stays once it has had a text, and is not made by a deletion.
    return {**table, **{name: texts for name, texts in fresh.items() if texts or name in table}}


def _store(path: Path, table: Table) -> None:
    files.replace_file(path, KVConfigSerializeWrapper(config_table=table).to_json(pretty=True))


def _load(path: Path) -> Table:
    trouble = []
    for each in (path, files.backup_of(path)):
        try:
            table = KVConfigSerializeWrapper.from_tree(fastjson.loads(each.read_bytes())).config_table
        except FileNotFoundError:
            continue
        except (fastjson.NotReadable, Misshapen) as error:
            trouble.append(f"{each} cannot be read ({error})")
            continue
        if trouble:
            log.warning("%s; going on with %s", trouble[0], each)
        return table
    if trouble:
        raise ConfigError(f"{'; '.join(trouble)}. Mend the file, or remove it to begin with none")
    return {}
