"""How a body's class becomes JSON and back.

A field's key is its Python name in camel case unless `named` says otherwise. Writing leaves out None and
puts keys in alphabetical order, as Java does; reading ignores what it does not know, takes null for
absent, numbers in quotes for numbers, and an enum's place for its name.
"""

import base64
import contextlib
import functools
import operator
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields
from enum import StrEnum
from types import NoneType
from typing import Any, Self, TypeVar, dataclass_transform, get_args, get_origin, get_type_hints

from tailfin.wire import fastjson
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.fastjson import Json
from tailfin.wire.header import camel

T = TypeVar("T", bound="Body")
Convert = Callable[[Any], Any]


class Misshapen(ValueError):
    """A value that is not what its field holds; the text says where."""


def named(*keys: str, default: Any = MISSING, default_factory: Any = MISSING) -> Any:  # noqa: ANN401  # of any type
    """Declare a field with another key than its camel case; further keys are read, never written."""
    metadata = {"keys": keys}
    if default_factory is not MISSING:
        return field(default_factory=default_factory, metadata=metadata)
    return field(default=default, metadata=metadata)


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(field, named))
def body(cls: type[T]) -> type[T]:
    """Make a body class of a class body: frozen, keywords only."""
    return dataclass(frozen=True, slots=True, kw_only=True)(cls)


class Body:
    """Base of every body."""

    __slots__ = ()

    def to_json(self, *, standard: bool = False, pretty: bool = False) -> bytes:
        """Write it; the arguments are those of `fastjson.dumps`."""
        return fastjson.dumps(self.to_tree(), standard=standard, pretty=pretty)

    def to_tree(self) -> dict[str, Any]:
        """Return it as dicts, lists and plain values."""
        tree = {}
        for slot in _layout(type(self)):
            value = getattr(self, slot.name)
            if value is not None:
                tree[slot.key] = slot.write(value) if slot.write else value
        return tree

    @classmethod
    def from_json(cls, data: bytes | str) -> Self:
        """Read it; what cannot be read is answered with SYSTEM_ERROR and a sentence that says where."""
        try:
            return cls.from_tree(fastjson.loads(data))
        except (fastjson.NotReadable, Misshapen) as error:
            remark = f"the body is no {cls.__name__}: {error}"
            raise RemotingError(ResponseCode.SYSTEM_ERROR, remark) from None

    @classmethod
    def from_tree(cls, tree: object) -> Self:
        """Make it from dicts, lists and plain values."""
        if not isinstance(tree, dict):
            raise Misshapen(f"an object expected, not {_short(tree)}")
        values: dict[str, Any] = {}
        for slot in _layout(cls):
            value = tree.get(slot.key)
            if value is None and slot.other_keys:
                value = next((tree[key] for key in slot.other_keys if tree.get(key) is not None), None)
            if value is not None:
                try:
                    values[slot.name] = slot.read(value)
                except Misshapen as error:
                    raise Misshapen(f"{slot.key}: {error}") from None
            elif slot.required:
                raise Misshapen(f"{slot.key} is missing")
        return cls(**values)


@dataclass(frozen=True, slots=True)
class _Slot:
    name: str
    key: str
    other_keys: tuple[str, ...]
    read: Convert
    write: Convert | None
    required: bool


_layouts: dict[type[Body], tuple[_Slot, ...]] = {}


def _layout(cls: type[Body]) -> tuple[_Slot, ...]:
    known = _layouts.get(cls)
    if known is None:
        known = _layouts[cls] = _read_layout(cls)
    return known


def _read_layout(cls: type[Body]) -> tuple[_Slot, ...]:
    hints = get_type_hints(cls)
    slots = []
    for each in fields(cls):  # type: ignore[arg-type]  # every subclass is a dataclass
        key, *others = each.metadata.get("keys") or (camel(each.name),)
        required = each.default is MISSING and each.default_factory is MISSING
        read, write = _converters(hints[each.name])
        slots.append(_Slot(each.name, key, tuple(others), read, write, required))
    return tuple(sorted(slots, key=lambda slot: slot.key))


def _converters(hint: object) -> tuple[Convert, Convert | None]:
    """Return how a value of this type is read, and how it is written (None: as it is)."""
    if NoneType in get_args(hint):
        hint = next(each for each in get_args(hint) if each is not NoneType)
    if get_origin(hint) is list:
        read, write = _converters(get_args(hint)[0])
        return _list_reader(read), write and (lambda items: list(map(write, items)))
    if get_origin(hint) is dict:
        return _map_converters(*get_args(hint))
    if hint in _PLAIN:
        return _PLAIN[hint]
    if isinstance(hint, type) and issubclass(hint, Body):
        return hint.from_tree, operator.methodcaller("to_tree")
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return functools.partial(_read_enum, hint), str
    assert hint in (Any, object), f"no rule for {hint!r}"
    return lambda value: value, None


def _map_converters(key_hint: object, value_hint: object) -> tuple[Convert, Convert]:
    read_value, write_value = _converters(value_hint)
    read_key, write_key = _key_converters(key_hint)

    def read(value: object) -> Json:
        if not isinstance(value, dict):
            raise Misshapen(f"an object expected, not {_short(value)}")
        return {read_key(key): read_value(each) for key, each in value.items() if each is not None}

    def write(value: dict[Any, Any]) -> Json:
        return {
            write_key(key) if write_key else key: write_value(each) if write_value else each
            for key, each in value.items()
        }

    return read, write


def _key_converters(hint: object) -> tuple[Convert, Convert | None]:
    if not (isinstance(hint, type) and issubclass(hint, Body)):
        return _converters(hint)

    def read(key: object) -> Json:
        if not isinstance(key, fastjson.ObjectKey):
            raise Misshapen(f"an object expected as key, not {_short(key)}")
        return hint.from_tree(dict(key))

    return read, lambda key: fastjson.ObjectKey(key.to_tree().items())


def _list_reader(read: Convert) -> Convert:
    def read_list(value: object) -> Json:
        if not isinstance(value, list):
            raise Misshapen(f"an array expected, not {_short(value)}")
        return [read(each) for each in value]

    return read_list


def _read_enum(kind: type[StrEnum], value: object) -> StrEnum:
    members = list(kind)
    if isinstance(value, int) and 0 <= value < len(members):
        return members[value]
    if isinstance(value, str) and value in kind.__members__:
        return kind[value]
    raise Misshapen(f"one of {', '.join(kind.__members__)} expected, not {_short(value)}")


def _read_text(value: object) -> str:
    if isinstance(value, str):
        return _whole_text(value)
    if isinstance(value, dict | list):
        raise Misshapen(f"a text expected, not {_short(value)}")
    return fastjson.dumps(value).decode()


def _whole_text(text: str) -> str:
    """Refuse half a character: neither the engine nor an answer can hold it."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise Misshapen(f"half a character in {_short(text)}") from None
    return text


def _read_int(value: object) -> int:
    if isinstance(value, str) and len(value) <= 20:
        with contextlib.suppress(ValueError):
            value = int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not -(1 << 63) <= value < 1 << 63:
        raise Misshapen(f"a whole number of 64 bits expected, not {_short(value)}")
    return value


def _read_float(value: object) -> float:
    try:
        if isinstance(value, int | float | str) and not isinstance(value, bool):
            return float(value)
    except (ValueError, OverflowError):
        pass
    raise Misshapen(f"a number expected, not {_short(value)}")


def _read_bool(value: object) -> bool:
    if isinstance(value, bool):
        return value
    if value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.lower() in ("true", "false"):
        return value.lower() == "true"
    raise Misshapen(f"true or false expected, not {_short(value)}")


def _read_bytes(value: object) -> bytes:
    try:
        return base64.b64decode(_read_text(value))
    except ValueError:
        raise Misshapen(f"Base64 expected, not {_short(value)}") from None


_PLAIN: dict[Any, tuple[Convert, Convert | None]] = {
    str: (_read_text, None),
    int: (_read_int, None),
    float: (_read_float, None),
    bool: (_read_bool, None),
    bytes: (_read_bytes, lambda value: base64.b64encode(value).decode()),
}


def _short(value: object) -> str:
    text = repr(value) if not isinstance(value, dict | list) else type(value).__name__
    return text if len(text) <= 40 else text[:40] + "..."
