r"""A reader of Java's properties text, the format of `broker.conf`.

`key=value`, `key: value` or `key value`, blanks round the separator dropped; lines that start with `#` or
`!` are comments; a `\` at the end of a line joins the next one; `\t \n \r \f \uXXXX` are escapes, and any
other character after `\` stands for itself. Files are UTF-8; a byte that is not is read as Latin-1, which
was Java's rule for all of them.
"""

import re
from collections.abc import Iterator
from pathlib import Path

_ESCAPE = re.compile(r"\\(u+([0-9a-fA-F]{4})|u|.)", re.DOTALL)
_KEY = re.compile(r"((?:\\.|[^\\=:\s])*)[ \t\f]*[=:]?[ \t\f]*(.*)", re.DOTALL)
_NAMED = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


def read(path: str | Path) -> dict[str, str]:
    """Read a file; of a key given twice the last value holds."""
    data = Path(path).read_bytes()
    try:
        return parse(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        return parse(data.decode("latin-1"))


def parse(text: str) -> dict[str, str]:
    r"""Read properties text; `ValueError` for a `\u` without four hex digits."""
    pairs: dict[str, str] = {}
    for line in _logical_lines(text):
        match = _KEY.fullmatch(line)
        assert match is not None, "the pattern takes every line"
        key, value = match.groups()
        pairs[_unescape(key)] = _unescape(value)
    return pairs


def _logical_lines(text: str) -> Iterator[str]:
    """Join continued lines, drop comments and empty lines."""
    parts: list[str] = []
    for raw in re.split(r"\r\n|\r|\n", text):
        line = raw.lstrip(" \t\f")
        if not parts and (not line or line[0] in "#!"):
            continue
        # An even number of backslashes at the end are escaped ones, not a continuation.
        if (len(line) - len(line.rstrip("\\"))) % 2:
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
