"""Results as people and scripts read them."""

import dataclasses
import json
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from tailfin.client.queues import Queue
from tailfin.wire.bodies.topics import Perm


def show_json(value: object) -> None:
    """Print anything the admin client returns as JSON."""
    print(json.dumps(plain(value), ensure_ascii=False, indent=2))


def plain(value: object) -> object:
    """Return a value as JSON has it: a class with its fields and properties, an enum as text or number."""
    if isinstance(value, Enum):
        return value.value if isinstance(value, str | int) else value.name
    if isinstance(value, Queue):
        return value._asdict()
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [each.name for each in dataclasses.fields(value)]
        names += [name for name, each in vars(type(value)).items() if isinstance(each, property)]
        return {name: plain(getattr(value, name)) for name in names}
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [plain(each) for each in value]
    return value


def show_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under headers: numbers to the right, all else to the left."""
    table = [list(row) for row in rows]
    texts = [[_cell(each) for each in row] for row in table]
    widths = [max(map(len, column)) for column in zip(headers, *texts, strict=True)]
    right = [
        bool(table) and all(isinstance(row[place], int | float | None) for row in table)
        for place in range(len(headers))
    ]
    for line in [[each.upper() for each in headers], *texts]:
        cells = (
            text.rjust(width) if to_right else text.ljust(width)
            for text, width, to_right in zip(line, widths, right, strict=True)
        )
        print("  ".join(cells).rstrip())


def show_pairs(pairs: Mapping[str, object]) -> None:
    """Print names and values, one a line."""
    width = max(map(len, pairs), default=0)
    for name, value in pairs.items():
        print(f"{name.ljust(width)}  {_cell(value)}".rstrip())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    return str(value)


def permission(bits: int) -> str:
    """Write a permission for people."""
    return ("r" if bits & Perm.READ else "") + ("w" if bits & Perm.WRITE else "") or "-"
