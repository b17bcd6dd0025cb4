"""Keyword arguments of producers and consumers, shared out to the classes that hold their options."""

import difflib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any


def shared_out(given: Mapping[str, Any], *kinds: type) -> list[dict[str, Any]]:
    """Give each options class its own keywords.

    Raises:
        TypeError: none of them knows a keyword; the text names it and the nearest one that exists.
    """
    known = {each.name: index for index, kind in enumerate(kinds) for each in fields(kind)}
    shares: list[dict[str, Any]] = [{} for _ in kinds]
    for name, value in given.items():
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            hint = f": did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"there is no option {name!r}{hint}")
        shares[known[name]][name] = value
    return shares
