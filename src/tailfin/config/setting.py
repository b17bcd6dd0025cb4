"""One line per setting: what that line may say, and how a value from a file or a caller is checked by it.

The attribute's name is RocketMQ's key and its type is that of the default, so neither is written twice.
"""

import difflib
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from itertools import chain
from typing import Any, Self, TypeVar

from tailfin.config.known import KNOWN, UNSERVED

INT_MAX = 2**31 - 1
LONG_MAX = 2**63 - 1

T = TypeVar("T")

log = logging.getLogger("tailfin.config")
_said: set[str] = set()


class ConfigError(ValueError):
    """A setting that cannot work; the text names the key, the value and what would do."""


@dataclass(frozen=True, slots=True)
class Rule:
    """What is known of one setting besides its name and default."""

    help: str
    low: float
    high: float
    clamp: tuple[int, int] | None
    multiple_of: int
    choices: tuple[str, ...]
    engine: bool


def setting(
    default: T,
    help: str,
    *,
    low: float = 0,
    high: float = INT_MAX,
    clamp: tuple[int, int] | None = None,
    multiple_of: int = 1,
    choices: tuple[str, ...] = (),
    engine: bool = True,
) -> T:
    """Declare a setting of a `Settings` class.

    Args:
        default: RocketMQ's default; its type is the setting's type.
        help: one line for the documentation.
        low: the least number allowed.
        high: the greatest number allowed.
        clamp: a range into which a number is moved, where RocketMQ does that too.
        multiple_of: a number is raised to a multiple of this, where RocketMQ does that too.
        choices: the words allowed.
        engine: whether the engine is told.
    """
    rule = Rule(help, low, high, clamp, multiple_of, choices, engine)
    return field(default=default, metadata={"rule": rule})


def policy(
    default: T, help: str, *, low: float = 0, high: float = INT_MAX, clamp: tuple[int, int] | None = None
) -> T:
    """Declare a setting that Python acts on and the engine never hears of."""
    return setting(default, help, low=low, high=high, clamp=clamp, engine=False)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """A group of settings; every value is checked when the object is made."""

    def __post_init__(self) -> None:
        """Turn each value into its type, or say what is wrong with it."""
        for each in fields(self):
            object.__setattr__(self, each.name, checked(each, getattr(self, each.name)))

    @classmethod
    def keys(cls) -> list[str]:
        """Names of all settings, in the order they are declared."""
        return [each.name for each in fields(cls)]

    @classmethod
    def of(cls, values: Mapping[str, object]) -> Self:
        """Make the settings from a mapping, as a file gives it.

        Both spellings of `mapped` are taken. A key that RocketMQ knows and that means nothing here is said
        once; a key nobody knows is an error.
        """
        (taken,) = share(values, [cls])
        return cls(**taken)


def share(values: Mapping[str, object], parts: Sequence[type[Settings]]) -> list[dict[str, Any]]:
    """Sort keys, as one file gives them, to the settings classes that act on them.

    A key that RocketMQ knows and that no part acts on is said once; a key nobody knows is an error.
    """
    own = [part.keys() for part in parts]
    taken: list[dict[str, Any]] = [{} for _ in parts]
    idle: list[str] = []
    for key, value in named(values, parts).items():
        homes = [each for each, keys in zip(taken, own, strict=True) if key in keys]
        if not homes:
            idle.append(key)
        for each in homes:
            each[key] = value
    if news := [key for key in idle if key not in _said]:
        _said.update(news)
        log.info("accepted, but without effect in this part: %s", ", ".join(news))
    return taken


def named(values: Mapping[str, T], parts: Sequence[type[Settings]]) -> dict[str, T]:
    """Return values under the names of their settings, however their keys are spelt.

    A key nobody knows, and a setting that is given twice with different values, are errors.
    """
    own = [part.keys() for part in parts]
    found: dict[str, T] = {}
    for given, value in values.items():
        key = name_of(given, parts)
        if key is None:
            raise ConfigError(unknown(given, chain.from_iterable(own)))
        if key in found and found[key] != value:
            raise ConfigError(f"{key} is given twice, as {found[key]!r} and as {value!r}")
        found[key] = value
    return found


def name_of(key: str, parts: Sequence[type[Settings]]) -> str | None:
    """Return the name of the setting that a key means; None when nobody knows it."""
    return next((name for part in parts if (name := respelt(key, part.keys()))), respelt(key, KNOWN))


def refuse_unserved(values: Mapping[str, object]) -> None:
    """Raise for a value by which somebody relies on a safety that is not there."""
    for key in values.keys() & UNSERVED.keys():
        served, instead = UNSERVED[key]
        if as_text(values[key]).strip().lower() != served:
            raise ConfigError(
                f"{key} can only be {served} here, not {values[key]!r}: {instead}. "
                "Take the line out if that will do, or let RocketMQ's broker serve it"
            )


def checked(each: Field[Any], value: object) -> object:
    """Return a value as the type of its setting, within its limits."""
    rule: Rule = each.metadata["rule"]
    default = each.default
    assert default is not MISSING
    if isinstance(default, bool):
        return as_bool(each.name, value)
    if isinstance(default, int | float):
        return as_number(each.name, value, rule, whole=isinstance(default, int))
    if not isinstance(value, str):
        raise ConfigError(f"{each.name} must be text, not {value!r}")
    text = value.strip()
    if rule.choices and text not in rule.choices:
        raise ConfigError(f"{each.name} must be one of {', '.join(rule.choices)}, not {value!r}")
    return text


def as_bool(key: str, value: object) -> bool:
    """Take true and false in any case; Java reads every other word as false, here it is an error."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    raise ConfigError(f"{key} must be true or false, not {value!r}")


def as_number(key: str, value: object, rule: Rule, *, whole: bool) -> int | float:
    """Take a number, or its text."""
    kind = "a whole number" if whole else "a number"
    try:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise ValueError
        if whole and isinstance(value, float):
            raise ValueError
        number: int | float = int(value) if whole else float(value)
    except ValueError:
        raise ConfigError(f"{key} must be {kind}, not {value!r}") from None
    if not rule.low <= number <= rule.high:
        bound = f"at least {rule.low}" if number < rule.low else f"at most {rule.high}"
        raise ConfigError(f"{key} must be {bound}, not {number}")
    if rule.clamp:
        number = min(max(number, rule.clamp[0]), rule.clamp[1])
    if rule.multiple_of > 1:
        number = -(-number // rule.multiple_of) * rule.multiple_of
    return number


def as_text(value: object) -> str:
    """Write a value the way a properties file has it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def respelt(key: str, names: Iterable[str]) -> str | None:
    """Find a key under its own or its other spelling.

    RocketMQ writes both `maped` and `mapped`; a dotted key like `tls.server.mode` is `tlsServerMode` here.
    """
    first, *others = key.split(".")
    key = first + "".join(other[:1].upper() + other[1:] for other in others)
    spellings = [key]
    for one, other in (("apped", "aped"), ("aped", "apped")):
        if f"m{one}" in key.lower():
            spellings.append(key.replace(f"m{one}", f"m{other}").replace(f"M{one}", f"M{other}"))
    return next((each for each in spellings if each in names), None)


_NEAR_LENGTH = 3
"""A key that was meant is at most so much longer or shorter than what was written."""
_SHOWN_LENGTH = 100


def unknown(key: str, names: Iterable[str]) -> str:
    """Say that nobody knows a key, and which one was probably meant."""
    # Comparing takes long: with all names it would hold others up who ask while somebody guesses keys.
    folded = {name.lower(): name for name in [*KNOWN, *names] if abs(len(name) - len(key)) <= _NEAR_LENGTH}
    near = difflib.get_close_matches(key.lower(), folded, n=1)
    shown = key if len(key) <= _SHOWN_LENGTH else key[:_SHOWN_LENGTH] + "..."
    advice = f"did you mean {folded[near[0]]!r}?" if near else "RocketMQ has none of that name, take it out"
    return f"unknown setting {shown!r}; {advice}"
