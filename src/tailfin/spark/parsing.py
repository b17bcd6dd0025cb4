"""Options as Spark gives them: names in any case, every value a text. No I/O."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Self, TypeVar

from tailfin.config.setting import LONG_MAX, ConfigError, Settings, setting

T = TypeVar("T")


def option(
    default: T, help: str, *, low: float = 0, high: float = LONG_MAX, choices: tuple[str, ...] = ()
) -> T:
    """Declare an option; see `tailfin.config.setting.setting`."""
    return setting(default, help, low=low, high=high, choices=choices, engine=False)


@dataclass(frozen=True, kw_only=True)
class SparkOptions(Settings):
    """A group of options."""

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Self:
        """Read options.

        Raises:
            ConfigError: one that nobody knows, or a value that cannot work.
        """
        names = {each.name.lower(): each.name for each in fields(cls)}
        for name in given:
            if name.lower() not in names:
                near = difflib.get_close_matches(name.lower(), names, 1)
                hint = f": did you mean {names[near[0]]!r}?" if near else "; docs/spark.md lists all"
                raise ConfigError(f"there is no option {name!r}{hint}")
        return cls(**{names[name.lower()]: value for name, value in given.items()})


def milliseconds(text: str) -> int:
    """Read a time: ISO 8601, UTC without a zone, or milliseconds since 1970.

    Raises:
        ValueError: it is none.
    """
    text = text.strip()
    if text.isdecimal():
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"a time such as 2026-01-31T00:00:00Z, or milliseconds since 1970, not {text!r}"
        ) from None
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return round(aware.timestamp() * 1000)
