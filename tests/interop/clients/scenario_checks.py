"""What the scenarios of all clients have in common: the same messages came back, once, in order."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

Message = dict[str, Any]
CONTENT = ("tags", "keys", "color", "bodyLength", "body")


def contents(messages: Iterable[Message]) -> Counter[tuple[Any, ...]]:
    """Count messages by what the sender gave them."""
    return Counter(tuple(message.get(key) for key in CONTENT) for message in messages)


def assert_same(received: Iterable[Message], sent: Iterable[Message]) -> None:
    """Hold that just what was sent was received, once."""
    got, want = contents(received), contents(sent)
    assert got == want, f"missing {list((want - got).items())[:5]}, too many {list((got - want).items())[:5]}"


def assert_nothing_lost(received: Iterable[Message], sent: Iterable[Message], *, times_max: int) -> None:
    """Hold that all that was sent was received, and nothing else, and none of it more often than so."""
    got, want = contents(received), contents(sent)
    assert got.keys() == want.keys(), f"missing {list(want - got)[:5]}, unknown {list(got - want)[:5]}"
    assert all(times <= times_max for times in got.values()), f"too often {got.most_common(5)}"


def offsets_by_queue(received: Iterable[Message]) -> dict[tuple[str, int], list[int]]:
    """Return the offsets of each queue in the order of arrival."""
    queues: dict[tuple[str, int], list[int]] = defaultdict(list)
    for message in received:
        queues[message["broker"], message["queue"]].append(message["offset"])
    return queues


def assert_in_order(received: Iterable[Message]) -> None:
    """Hold that each queue's messages came one after the other from its first."""
    for queue, offsets in offsets_by_queue(received).items():
        assert offsets == list(range(len(offsets))), queue
