"""The key-value config: texts by namespace and key, in one JSON file that is always whole."""

import logging
from dataclasses import field
from pathlib import Path

from tailfin.config import files
from tailfin.config.setting import ConfigError
from tailfin.wire import fastjson
from tailfin.wire.body import Body, Misshapen, body

log = logging.getLogger("tailfin.namesrv")

ORDER_TOPICS = "ORDER_TOPIC_CONFIG"
"""Namespace of what orderly topics are made of: `broker-a:4;broker-b:4` by topic."""


@body
class KVConfigSerializeWrapper(Body):
    """The file's content."""

    config_table: dict[str, dict[str, str]] = field(default_factory=dict)


class KeyValues:
    """The texts in memory; every change is on disk before it is answered."""

    def __init__(self, path: Path) -> None:
        """Load the file, or its backup when the file is damaged."""
        self._path = path
        self._table = _load(path)
        self.changes = 0

    def get(self, namespace: str, key: str) -> str | None:
        """Return a text."""
        return self._table.get(namespace, {}).get(key)

    def of_namespace(self, namespace: str) -> dict[str, str] | None:
        """Return all texts of a namespace, None when there was never one."""
        return self._table.get(namespace)

    def put(self, namespace: str, key: str, value: str) -> None:
        """Set a text."""
        table = {name: dict(texts) for name, texts in self._table.items()}
        table.setdefault(namespace, {})[key] = value
        self._replace(table)

    def delete(self, namespace: str, key: str) -> None:
        """Remove a text; one that is not there is no error."""
        if key in self._table.get(namespace, {}):
            table = {name: dict(texts) for name, texts in self._table.items()}
            del table[namespace][key]
            self._replace(table)

    def log_all(self) -> None:
        """Say every text, for whoever looks for the cause of something later."""
        for namespace, texts in self._table.items():
            for key, value in texts.items():
                log.info("key-value config: %s / %s = %s", namespace, key, value)

    def _replace(self, table: dict[str, dict[str, str]]) -> None:
        files.replace_file(self._path, KVConfigSerializeWrapper(config_table=table).to_json(pretty=True))
        self._table = table
        self.changes += 1


def _load(path: Path) -> dict[str, dict[str, str]]:
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
