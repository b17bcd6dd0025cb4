"""What the client's scenarios share: messages with everything in them, and what was seen of them."""

# ruff: noqa: ANN401  # the keywords of `Message`

import contextlib
import hashlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import tailfin
from tailfin import ReceivedMessage
from tests.crash.waiting import wait_until
from tests.interop.clients.java_client import Saw
from tests.interop.python_client.styles import Style

PATIENCE_S = 30.0

_numbers = itertools.count(1)


def fresh(word: str) -> str:
    """Return a name that nothing else has."""
    return f"python-{word}-{next(_numbers)}"


def message(topic: str, number: int, *, body: bytes | None = None, **more: Any) -> tailfin.Message:
    """Make a message like those of the Java scenarios: its body says its topic and number."""
    text = f"{topic} #{number} \u00e9\u4e2d\U0001f41f".encode()
    given: dict[str, Any] = {
        "tags": "ABC"[number % 3],
        "keys": f"key-{number}",
        "properties": {"color": f"red-{number}"},
    }
    return tailfin.Message(topic, text if body is None else body, flag=number, **(given | more))


def messages(topic: str, count: int, **more: Any) -> list[tailfin.Message]:
    """Make numbered messages."""
    return [message(topic, number, **more) for number in range(count)]


def sent(message: tailfin.Message) -> Saw:
    """Return a message that was sent, in the words of the Java scenarios."""
    given = message.properties
    return _content(given.get("TAGS"), given.get("KEYS"), given.get("color"), message.body)


def seen(message: ReceivedMessage) -> Saw:
    """Return a message that was received, in the words of the Java scenarios."""
    content = _content(message.tags, " ".join(message.keys), message.property("color"), message.body)
    place = {"broker": message.broker, "queue": message.queue_id, "offset": message.queue_offset}
    return content | place | {"flag": message.flag, "reconsumed": message.reconsume_times}


def _content(tags: str | None, keys: str | None, color: str | None, body: bytes) -> Saw:
    digest = hashlib.sha256(body).hexdigest()[:16]
    return {"tags": tags, "keys": keys, "color": color, "bodyLength": len(body), "body": digest}


class Ledger:
    """A handler that notes what it is given, in order; `act` says what becomes of a message."""

    def __init__(self, act: Callable[[ReceivedMessage], object] = lambda message: None) -> None:
        self._act = act
        self.messages: list[ReceivedMessage] = []

    def __call__(self, message: ReceivedMessage) -> object:
        self.messages.append(message)
        return self._act(message)

    @property
    def seen(self) -> list[Saw]:
        """What came so far."""
        return [seen(message) for message in self.messages]

    def wait(self, count: int) -> list[Saw]:
        """Wait for so many messages, and return all that came."""
        wait_until(lambda: len(self.messages) >= count, f"{count} messages", PATIENCE_S)
        return self.seen


def read(style: Style, topic: str, count: int) -> list[ReceivedMessage]:
    """Read a topic from its first message, once it has so many; its queues may not be there yet."""
    with style.pull(fresh("readers")) as reader:
        found: list[ReceivedMessage] = []

        def all_of_it() -> bool:
            found.clear()
            with contextlib.suppress(tailfin.NoRoute):
                for queue in reader.queues(topic):
                    found.extend(_read_queue(reader, queue))
            return len(found) >= count

        wait_until(all_of_it, f"{count} messages in {topic}", PATIENCE_S)
    return found


def _read_queue(reader: tailfin.PullConsumer, queue: tailfin.Queue) -> Iterator[ReceivedMessage]:
    offset = reader.first_offset(queue)
    while (result := reader.pull(queue, offset)).messages:
        yield from result.messages
        offset = result.next_offset
