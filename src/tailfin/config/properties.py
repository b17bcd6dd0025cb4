r"""Java's properties text, the format of `broker.conf`: reading, writing, changing.

`key=value`, `key: value` or `key value`, blanks round the separator dropped; lines that start with `#` or
`!` are comments; a `\` at the end of a line joins the next one; `\t \n \r \f \uXXXX` are escapes, and any
other character after `\` stands for itself. Files are UTF-8; a byte that is not is read as Latin-1, which
was Java's rule for all of them.
"""

import codecs
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

_ESCAPE = re.compile(r"\\(u+([0-9a-fA-F]{4})|u|.)", re.DOTALL)
_KEY = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_BEYOND_LATIN_1 = re.compile(r"[^\x00-\xff]")
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read(path: str | Path) -> dict[str, str]:
    """Read a file; of a key given twice the last value holds."""
    return parse(decoded(Path(path).read_bytes())[0])


def decoded(data: bytes) -> tuple[str, str]:
    """Return the text of a file and the encoding that `encoded` takes to write it again."""
    encoding = "utf-8-sig" if data.startswith(codecs.BOM_UTF8) else "utf-8"
    try:
        return data.decode(encoding), encoding
    except UnicodeDecodeError:
        return data.decode("latin-1"), "latin-1"


def encoded(text: str, encoding: str) -> bytes:
    """Return the bytes of a file; a character that the encoding lacks is escaped."""
    if encoding == "latin-1":
        text = _BEYOND_LATIN_1.sub(_as_escapes, text)
    return text.encode(encoding)


def parse(text: str) -> dict[str, str]:
    r"""Read properties text; `ValueError` for a `\u` without four hex digits."""
    pairs: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        assert match is not None, "the pattern takes every line"
        key, value = match.groups()
        pairs[_unescape(key)] = _unescape(value)
    return pairs


def text(pairs: Mapping[str, str]) -> str:
    """Write properties text, a line each."""
    return "".join(f"{_escape(key, _IN_KEY)}={_escape(value, _IN_VALUE)}\n" for key, value in pairs.items())


def changed(before: str, pairs: Mapping[str, str], name_of: Callable[[str], str] = lambda key: key) -> str:
    """Return a text with other values for some keys; comments and all other lines stay as they are.

    `name_of` tells which of the names in `pairs` a key in the text is another spelling of.
    """
    kept: list[str] = []
    entry: list[str] = []
    for line in re.findall(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+", before):
        comment = not entry and line.lstrip(" \t\f")[:1] in ("#", "!")
        entry.append(line)
        if not comment and _goes_on(line.rstrip("\r\n")):
            continue
        if comment or not any(name_of(key) in pairs for key in parse("".join(entry))):
            kept += entry
        entry = []
    kept += entry
    end = (re.findall(r"\r\n|\r|\n", before) or ["\n"])[-1]
    if kept and kept[-1][-1] not in "\r\n":
        kept.append(end)
    return "".join(kept) + text(pairs).replace("\n", end)


def _escapes(special: str) -> dict[int, str]:
    named = {ord(value): f"\\{name}" for name, value in _NAMED.items()}
    return named | {ord(each): f"\\{each}" for each in "\\" + special}


_IN_KEY, _IN_VALUE = _escapes(" =:#!"), _escapes("")


def _escape(plain: str, escapes: dict[int, str]) -> str:
    escaped = plain.translate(escapes)
    return f"\\{escaped}" if escaped.startswith(" ") else escaped


def _as_escapes(character: re.Match[str]) -> str:
    units = character[0].encode("utf-16-be")
    return "".join(f"\\u{high:02x}{low:02x}" for high, low in zip(units[::2], units[1::2], strict=True))


def _goes_on(line: str) -> bool:
    """Whether the next line belongs to this one; an even number of backslashes are escaped ones."""
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _logical_lines(text: str) -> Iterator[str]:
    """Join continued lines, drop comments and empty lines."""
    parts: list[str] = []
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not parts and (not line or line[0] in "#!"):
            continue
        if _goes_on(line):
            parts.append(line[:-1])
            continue
        yield "".join([*parts, line])
        parts.clear()
    if parts:
        yield "".join(parts)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_meaning, text)
    # Java writes characters beyond the first plane as two escapes.
    return plain.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _meaning(match: re.Match[str]) -> str:
    letter, digits = match.groups()
    if digits:
        return chr(int(digits, 16))
    if letter == "u":
        raise ValueError(f"\\u needs four hexadecimal digits: {match.string!r}")
    return _NAMED.get(letter, letter)
