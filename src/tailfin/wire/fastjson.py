"""JSON as RocketMQ's Java side writes and reads it, which is not always JSON.

Java leaves the keys of integer maps without quotes (`{0:"a"}`) and uses whole objects as keys
(`{{"queueId":0}:7}`). Here such an object is an `ObjectKey`. Reading takes the standard module's fast way
first and the tolerant reader below only when that refuses.
"""

import json
import math
import re
from collections.abc import Callable, Iterable
from json.encoder import encode_basestring
from typing import Any, TypeAlias

Json: TypeAlias = Any  # what JSON can hold; the type checker cannot follow it

DEPTH_MAX = 64
_NUMBER = re.compile(r"-?\d{1,32}(?:\.\d{1,64})?(?:[eE][+-]?\d{1,4})?")
_WORD = re.compile(r"[A-Za-z_$][\w$.]*")
_BLANK = re.compile(r"[ \t\r\n]*")
_PLAIN = {quote: re.compile(rf"[^{quote}\\]*") for quote in "\"'"}
_STRING_OR_NUMBER_KEY = re.compile(r'"(?:[^"\\]++|\\.)*+"?|(?<=[{,])\s*(-?\d{1,32})\s*(?=:)', re.DOTALL)
_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "0": "\0"}
_WORDS = {"true": True, "false": False, "null": None, "NaN": None}


class ObjectKey(tuple[tuple[str, Any], ...]):
    """An object that stands as a key: its pairs, in the order written."""

    __slots__ = ()


class Written(str):
    """JSON that is written already and goes out as it is; see `written`."""

    __slots__ = ()


class NotReadable(ValueError):
    """A text that neither Java nor Python would take for JSON."""


def loads(data: bytes | str) -> Json:
    """Read JSON, standard or Java's."""
    try:
        text = data if isinstance(data, str) else data.decode()
    except UnicodeDecodeError as error:
        raise NotReadable(f"not UTF-8: {error.reason} at byte {error.start}") from None
    for attempt in (text, None):
        try:
            return json.loads(_STRING_OR_NUMBER_KEY.sub(_quoted, text) if attempt is None else attempt)
        except (ValueError, RecursionError):
            continue
    return _Reader(text).whole()


def dumps(value: Json, *, standard: bool = False, pretty: bool = False) -> bytes:
    """Write JSON as Java does by default; `standard` for readers that know nothing else.

    Args:
        value: dicts, lists, texts, numbers, truth values, None.
        standard: quote every key, sort maps, escape what is not ASCII.
        pretty: one entry a line, indented by tabs, as in Java's config files.
    """
    if standard:
        return json.dumps(value, separators=(",", ":"), sort_keys=True).encode()
    parts: list[str] = []
    _write(value, parts.append, "\n" if pretty else "")
    return "".join(parts).encode("utf-8", "replace")


def written(value: Json, depth: int | None) -> Written:
    """Write a value that will stand in a pretty text `depth` levels deep, or in a text of one line."""
    parts: list[str] = []
    _write(value, parts.append, "" if depth is None else "\n" + "\t" * depth)
    return Written("".join(parts))


def _quoted(match: re.Match[str]) -> str:
    number = match[1]
    return match[0] if number is None else f'"{number}"'


def _write(value: Json, put: Callable[[str], None], line: str) -> None:
    if isinstance(value, str):
        put(value if isinstance(value, Written) else encode_basestring(value))
    elif value is None or value is True or value is False:
        put("null" if value is None else "true" if value else "false")
    elif isinstance(value, int):
        put(str(int(value)))
    elif isinstance(value, float):
        put(repr(value) if math.isfinite(value) else "null")
    elif isinstance(value, dict):
        _write_pairs(value.items(), put, line)
    else:
        _write_items(value, put, line)


def _write_pairs(pairs: Iterable[tuple[Any, Any]], put: Callable[[str], None], line: str) -> None:
    inner = line and line + "\t"
    before, after = "{" + inner, "{}"
    for key, value in pairs:
        put(before)
        if isinstance(key, str):
            put(encode_basestring(key))
        elif isinstance(key, ObjectKey):
            _write_pairs(key, put, "")
        else:
            put(str(int(key)))
        put(":")
        _write(value, put, inner)
        before, after = "," + inner, line + "}"
    put(after)


def _write_items(items: Iterable[Any], put: Callable[[str], None], line: str) -> None:
    inner = line and line + "\t"
    before, after = "[" + inner, "[]"
    for value in items:
        put(before)
        _write(value, put, inner)
        before, after = "," + inner, line + "]"
    put(after)


class _Reader:
    """A recursive-descent reader: quotes of either kind or none, numbers and objects as keys."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def whole(self) -> Json:
        value = self.value(0)
        if self.peek():
            raise self.trouble("something follows the value")
        return value

    def value(self, depth: int) -> Json:
        first = self.peek()
        if first == "{":
            return dict(self.pairs(depth))
        if first == "[":
            return self.items(depth)
        if first in ('"', "'"):
            return self.string()
        if first and first in "-0123456789":
            return self.number()
        word = self.word()
        if word not in _WORDS:
            raise self.trouble(f"a value cannot be {word[:32]!r}")
        return _WORDS[word]

    def pairs(self, depth: int) -> list[tuple[Any, Any]]:
        self.enter("{", depth)
        found: list[tuple[Any, Any]] = []
        while self.peek() != "}":
            if found:
                self.take(",")
            key = self.key(depth + 1)
            self.take(":")
            found.append((key, self.value(depth + 1)))
        self.at += 1
        return found

    def items(self, depth: int) -> list[Any]:
        self.enter("[", depth)
        found: list[Any] = []
        while self.peek() != "]":
            if found:
                self.take(",")
            found.append(self.value(depth + 1))
        self.at += 1
        return found

    def key(self, depth: int) -> Json:
        first = self.peek()
        if first == "{":
            pairs = self.pairs(depth)
            if any(isinstance(value, dict | list) for _, value in pairs):
                raise self.trouble("a key's object may only hold plain values")
            return ObjectKey(pairs)
        if first in ('"', "'"):
            return self.string()
        if first and first in "-0123456789":
            return str(self.number())
        return self.word()

    def string(self) -> str:
        quote = self.peek()
        plain = _PLAIN[quote]
        self.at += 1
        parts = []
        while True:
            match = plain.match(self.text, self.at)
            assert match is not None, "the pattern takes an empty text"
            parts.append(match[0])
            self.at = match.end()
            if self.at >= len(self.text):
                raise self.trouble("a text does not end")
            self.at += 1
            if self.text[self.at - 1] == quote:
                return "".join(parts).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
            parts.append(self.escape())

    def escape(self) -> str:
        letter = self.text[self.at : self.at + 1]
        self.at += 1
        if letter not in ("u", "x"):
            return _ESCAPES.get(letter, letter)
        length = 4 if letter == "u" else 2
        digits = self.text[self.at : self.at + length]
        if not re.fullmatch(rf"[0-9a-fA-F]{{{length}}}", digits):
            raise self.trouble(f"\\{letter} needs {length} hexadecimal digits")
        self.at += length
        return chr(int(digits, 16))

    def number(self) -> int | float:
        match = _NUMBER.match(self.text, self.at)
        if match is None:
            raise self.trouble("not a number")
        self.at = match.end()
        text = match[0]
        return int(text) if text.lstrip("-").isdigit() else float(text)

    def word(self) -> str:
        match = _WORD.match(self.text, self.at)
        if match is None:
            raise self.trouble("a value or a key is missing")
        self.at = match.end()
        return match[0]

    def peek(self) -> str:
        blank = _BLANK.match(self.text, self.at)
        assert blank is not None, "the pattern takes an empty text"
        self.at = blank.end()
        return self.text[self.at : self.at + 1]

    def enter(self, bracket: str, depth: int) -> None:
        if depth >= DEPTH_MAX:
            raise self.trouble(f"more than {DEPTH_MAX} levels deep")
        self.take(bracket)

    def take(self, expected: str) -> None:
        if self.peek() != expected:
            raise self.trouble(f"{expected!r} expected")
        self.at += 1

    def trouble(self, what: str) -> NotReadable:
        return NotReadable(f"{what} at character {self.at}: {self.text[self.at : self.at + 24]!r}")
