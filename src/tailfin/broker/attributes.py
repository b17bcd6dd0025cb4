"""Attributes of topics: text like `+message.type=FIFO,-reserve.time`, and which values each may have."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Attribute:
    """What is known of one attribute."""

    choices: tuple[str, ...] = ()
    """The words allowed; none: any whole number."""
    changeable: bool = True


KNOWN = {
    "queue.type": Attribute(("BatchCQ", "SimpleCQ"), changeable=False),
    "cleanup.policy": Attribute(("DELETE", "COMPACTION"), changeable=False),
    "message.type": Attribute(("UNSPECIFIED", "NORMAL", "FIFO", "DELAY", "TRANSACTION", "MIXED")),
    "reserve.time": Attribute(),
}


def parse(text: str) -> dict[str, str | None]:
    """Read the text: a value for each `+key=value`, None for each `-key`."""
    changes: dict[str, str | None] = {}
    for part in filter(None, (part.strip() for part in text.split(","))):
        sign, (key, equals, value) = part[0], part[1:].partition("=")
        key = key.strip()
        if sign not in "+-" or not key or (sign == "+") != bool(equals):
            raise ValueError(f"attribute {part!r} must be written as +key=value or -key")
        if key in changes:
            raise ValueError(f"attribute {key!r} is given twice")
        changes[key] = value.strip() if equals else None
    return changes


def changed_attributes(
    before: dict[str, str], text: str, *, new: bool, mixed_allowed: bool = False
) -> dict[str, str]:
    """Return the attributes after a change; `ValueError` says what is wrong with it."""
    after = dict(before)
    for key, value in parse(text).items():
        rule = KNOWN.get(key)
        if rule is None:
            raise ValueError(f"attribute {key!r} is unknown; there are {', '.join(KNOWN)}")
        if new and value is None:
            raise ValueError(f"only attributes with '+' can be given to a new topic, not -{key}")
        if not new and not rule.changeable:
            raise ValueError(f"attribute {key!r} cannot be changed once the topic exists")
        if value is None:
            if key not in after:
                raise ValueError(f"attribute {key!r} cannot be removed: the topic does not have it")
            del after[key]
            continue
        if rule.choices and value not in rule.choices:
            raise ValueError(f"attribute {key!r} must be one of {', '.join(rule.choices)}, not {value!r}")
        if not rule.choices and not value.lstrip("-").isdecimal():
            raise ValueError(f"attribute {key!r} must be a whole number, not {value!r}")
        if value == "MIXED" and not mixed_allowed:
            raise ValueError("message.type=MIXED needs enableMixedMessageType=true in the broker's settings")
        after[key] = value
    return after
