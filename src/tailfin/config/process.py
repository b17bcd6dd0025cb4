"""What the settings of broker and name server have in common: one file of keys, sorted to several parts."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Self, TypeVar

from tailfin.config.setting import Settings, name_of, named

T = TypeVar("T")


class ProcessSettings(ABC):
    """All settings of one process, sorted by the part that acts on them."""

    PARTS: ClassVar[tuple[type[Settings], ...]]
    given: Mapping[str, object]
    """Keys that the file or the caller gave; a remote change is added here."""

    @classmethod
    @abstractmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        """Sort the keys to the parts; a key nobody knows is an error."""

    def changed(self, values: Mapping[str, object]) -> Self:
        """Return the settings with some of them changed."""
        return self.of({**self.given, **self.named(values)})

    @classmethod
    def name_of(cls, key: str) -> str:
        """Return the name of the setting that a key means, or the key if nobody knows it."""
        return name_of(key, cls.PARTS) or key

    @classmethod
    def named(cls, values: Mapping[str, T]) -> dict[str, T]:
        """Return values under the names of their settings; a key nobody knows is an error."""
        return named(values, cls.PARTS)
