"""The folders of an archive."""

import json
from dataclasses import dataclass
from pathlib import Path

from tailfin.config.setting import ConfigError
from tailfin.pipeline.days import Day, days
from tailfin.pipeline.folders import mounted


@dataclass(frozen=True, slots=True)
class Layout:
    """The folders of an archive."""

    root: Path

    @classmethod
    def at(cls, path: str) -> "Layout":
        """Take the archive at a path; it need not be there yet.

        Raises:
            ConfigError: it is not on a file system that is mounted here.
        """
        return cls(mounted(path))

    @property
    def checkpoint(self) -> Path:
        """Where Spark keeps how far the archive is."""
        return self.root / "_checkpoint"

    @property
    def staging(self) -> Path:
        """Where a batch is written before its files are moved to their days."""
        return self.root / "_staging"

    @property
    def _published(self) -> Path:
        return self.root / "_published"

    def last_published(self) -> int:
        """Return the number of the last batch whose files are all in their days; -1: none."""
        if not self._published.exists():
            return -1
        found: int = json.loads(self._published.read_text())["batch"]
        return found

    def note_published(self, batch: int) -> None:
        """Write down that all files of a batch are in their days."""
        new = self._published.with_name("_published.new")
        new.write_text(json.dumps({"batch": batch}))
        new.rename(self._published)

    def check(self) -> None:
        """Make sure that what Spark and the archive know of each other belongs together."""
        if self._published.exists() and not (self.checkpoint / "metadata").exists():
            raise ConfigError(
                f"{self.checkpoint} is gone, and with it how far the archive is: put it back, or archive to "
                "an empty folder"
            )

    def days(self) -> list[Day]:
        """Return the days of all topics."""
        return days(self.root.glob("topic=*/date=*"))
