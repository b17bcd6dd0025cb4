"""How a header's class becomes ext fields and back.

A field's key on the wire is its Python name in camel case unless `wire` says otherwise. What Java does with
bad input is kept where it helps (a number that does not parse counts as absent), and made a clear refusal
where Java would stumble over a null later: a field without default must be there.
"""

import functools
import time
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from types import NoneType
from typing import Annotated, Any, Self, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

Int = Annotated[int, 32]
Long = Annotated[int, 64]

T = TypeVar("T", bound="Header")


class BoundaryType(StrEnum):
    """Which end of equal store times a search by time means."""

    LOWER = "LOWER"
    UPPER = "UPPER"


def wire(name: str = "", *, short: str = "", default: Any = MISSING) -> Any:  # noqa: ANN401  # of any type
    """Declare a field whose key is not its camel case, or that has a one-letter key as well."""
    return field(default=default, metadata={"name": name, "short": short})


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field, wire))
def header(cls: type[T]) -> type[T]:
    """Make a header class of a class body: frozen, keywords only."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


class Header:
    """Base of every header."""

    __slots__ = ()

    def encode(self, *, short: bool = False) -> dict[str, str]:
        """Return the ext fields; with `short` under the one-letter keys where there are some."""
        values = (
            (slot.short if short else slot.key, getattr(self, slot.name)) for slot in _layout(type(self))
        )
        return {key: _text(value) for key, value in values if value is not None}

    @classmethod
    def decode(cls, given: Mapping[str, str]) -> Self:
        """Read ext fields, under long or one-letter keys; unknown ones are ignored."""
        values: dict[str, Any] = {}
        for slot in _layout(cls):
            text = given.get(slot.key)
            if text is None and slot.short is not slot.key:
                text = given.get(slot.short)
            value = None if text is None else slot.parse(text)
            if value is not None:
                values[slot.name] = value
            elif slot.required:
                problem = "is missing" if text is None else f"is not {slot.kind}: {text[:64]!r}"
                raise RemotingError(ResponseCode.SYSTEM_ERROR, f"the header field {slot.key} {problem}")
        return cls(**values)


@header
class RpcHeader(Header):
    """What requests to a broker may carry besides: namespace, broker name, hint of a oneway call."""

    ns: str | None = None
    nsd: bool | None = None
    bname: str | None = None
    oway: bool | None = None


@header
class TopicHeader(RpcHeader):
    """The same, and whether the queue meant is a logical one."""

    lo: bool | None = None


@dataclass(frozen=True, slots=True)
class _Slot:
    name: str
    key: str
    short: str
    kind: str
    parse: Callable[[str], Any]
    required: bool


def camel(name: str) -> str:
    """Return `queue_id` as `queueId`."""
    first, *rest = name.split("_")
    return first + "".join(part[:1].upper() + part[1:] for part in rest)


def now_ms() -> int:
    """Return the time in milliseconds."""
    return time.time_ns() // 1_000_000


_layouts: dict[type[Header], tuple[_Slot, ...]] = {}


def _layout(cls: type[Header]) -> tuple[_Slot, ...]:
    known = _layouts.get(cls)
    if known is None:
        known = _layouts[cls] = _read_layout(cls)
    return known


def _read_layout(cls: type[Header]) -> tuple[_Slot, ...]:
    hints = get_type_hints(cls, include_extras=True)
    slots = []
    for each in fields(cls):  # type: ignore[arg-type]  # every subclass is a dataclass
        key = each.metadata.get("name") or camel(each.name)
        kind, parse = _parser(hints[each.name])
        required = each.default is MISSING and each.default_factory is MISSING
        slots.append(_Slot(each.name, key, each.metadata.get("short") or key, kind, parse, required))
    return tuple(slots)


def _parser(hint: object) -> tuple[str, Callable[[str], Any]]:
    if NoneType in get_args(hint) and get_origin(hint) is not Annotated:
        hint = next(each for each in get_args(hint) if each is not NoneType)
    if get_origin(hint) is Annotated:
        bits: int = get_args(hint)[1]
        return f"a number of {bits} bits", functools.partial(_number, bound=1 << (bits - 1))
    if hint is bool:
        return "a truth value", lambda text: text.lower() == "true"
    if hint is BoundaryType:
        return "LOWER or UPPER", lambda text: BoundaryType("UPPER" if text.upper() == "UPPER" else "LOWER")
    return "text", lambda text: text


def _number(text: str, *, bound: int) -> int | None:
    # The longest number of 64 bits has 20 characters: whatever is longer needs no conversion to be refused.
    if len(text) > 20 or not text.isascii() or not text.lstrip("+-").isdigit():
        return None
    try:
        value = int(text)
    except ValueError:
        return None
    return value if -bound <= value < bound else None


def _text(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
