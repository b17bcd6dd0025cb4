"""The corpus written by Tailfin: every shape a record can take, fixed by a seed.

Run as a program it writes for ever and tells of each acknowledgement on standard output, to be killed.
"""

import hashlib
import itertools
import json
import random
import sys
import time
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypedDict

from tailfin.store import Appended, Store, StoreConfig
from tests.interop.official import SMALL, Line, Settings

TOPICS = ("CorpusA", "corpus_b", "%RETRY%corpus_group", "L" * 127)
LONG_RETRY_TOPIC = "%RETRY%" + "g" * 150  # record version 2
TAGS = ("TagA", "TagB", "TagC", "中文", "étiquette-🐟", "polygenelubricants", "A B")
LIGHT_QUEUES = ("%LMQ%one", "%LMQ%one,%LMQ%two", "%LMQ%no/queue,%LMQ%три", "%LMQ%four")
SCHEDULE_TOPIC = "SCHEDULE_TOPIC_XXXX"
COMPRESSED, PREPARED, COMMIT, ROLLBACK = 1, 4, 8, 12


def open_store(directory: str | Path, settings: Settings = SMALL) -> Store:
    """Open a directory with settings that are given to both sides."""
    return Store(directory, StoreConfig.of(settings))


class Draft(TypedDict):
    """The keywords of one append."""

    topic: str
    body: bytes
    queue_id: int
    properties: dict[str, str]
    flag: int
    sys_flag: int
    born_timestamp: int
    born_host: str
    reconsume_times: int
    prepared_offset: int


class Corpus:
    """Messages for one store, and what the store said of them."""

    def __init__(self, store: Store, seed: int = 1) -> None:
        """Begin a corpus."""
        self._store = store
        self._random = random.Random(seed)
        self._made = 0

    def write(self, count: int, *, delayed: int = 0, light: int = 0) -> list[Line]:
        """Write `count` messages, of which some come in batches, and return their acknowledgements."""
        acks: list[Line] = []
        while len(acks) < count:
            acks += self.write_some(count - len(acks))
        for _ in range(delayed):
            level = self._random.randint(1, 18)
            real = {"DELAY": str(level), "REAL_TOPIC": TOPICS[0], "REAL_QID": "0"}
            acks.append(self._single(SCHEDULE_TOPIC, level - 1, real, sys_flag=0))
        for _ in range(light):
            names = {"INNER_MULTI_DISPATCH": self._random.choice(LIGHT_QUEUES)}
            acks.append(self._single(TOPICS[0], self._random.randrange(4), names, sys_flag=0))
        return acks

    def write_some(self, most: int) -> list[Line]:
        """Write one message, or now and then one batch."""
        chance = self._random
        if most > 1 and chance.randrange(60) == 0:
            return self._batch(min(most, chance.randint(2, 40)))
        topic = LONG_RETRY_TOPIC if chance.randrange(50) == 0 else chance.choice(TOPICS)
        kinds = (PREPARED, ROLLBACK, COMMIT, COMMIT, *([0] * 96))
        sys_flag = chance.choice(kinds) | (COMPRESSED if chance.randrange(50) == 0 else 0)
        return [self._single(topic, chance.randrange(4), {}, sys_flag)]

    def _single(self, topic: str, queue_id: int, properties: dict[str, str], sys_flag: int) -> Line:
        chance = self._random
        body = self._body()
        draft: Draft = {
            "topic": topic,
            "body": zlib.compress(body) if sys_flag & COMPRESSED else body,
            "queue_id": queue_id,
            "properties": self._properties() | properties,
            "flag": chance.randrange(-(2**31), 2**31) if chance.randrange(8) == 0 else 0,
            "sys_flag": sys_flag,
            "born_timestamp": int(time.time() * 1000) - chance.randrange(5000),
            "born_host": self._host(),
            "reconsume_times": chance.randrange(16) if chance.randrange(10) == 0 else 0,
            "prepared_offset": chance.randrange(1 << 20) if sys_flag & ROLLBACK == COMMIT else 0,
        }
        return self._ack(draft, self._store.append(**draft))

    def _batch(self, count: int) -> list[Line]:
        chance = self._random
        topic, queue_id = chance.choice(TOPICS), chance.randrange(4)
        inner = [(chance.randbytes(chance.randint(1, 300)), self._properties()) for _ in range(count)]
        born: dict[str, Any] = {"born_timestamp": int(time.time() * 1000), "born_host": self._host()}
        result = self._store.append_batch(topic, inner, queue_id, **born)
        ids = result.message_id.split(",")
        assert len(ids) == result.count == count
        return [
            self._line(
                topic,
                queue_id,
                body,
                properties,
                {**born, "batch": True},
                result,
                result.queue_offset + i,
                ids[i],
            )
            for i, (body, properties) in enumerate(inner)
        ]

    def _ack(self, draft: Draft, result: Appended) -> Line:
        place = result.queue_offset, result.message_id
        own = draft["topic"], draft["queue_id"], draft["body"], draft["properties"]
        return self._line(*own, dict(draft), result, *place)

    def _line(
        self,
        topic: str,
        queue_id: int,
        body: bytes,
        properties: dict[str, str],
        rest: dict[str, Any],
        result: Appended,
        queue_offset: int,
        message_id: str,
    ) -> Line:
        return {
            "topic": topic,
            "queueId": queue_id,
            "queueOffset": queue_offset,
            "physicalOffset": int(message_id[-16:], 16),
            "offsetMsgId": message_id,
            "storeTimestamp": result.store_timestamp,
            "storeHost": self._store.config.storeHost,
            "bornTimestamp": rest["born_timestamp"],
            "bornHost": rest["born_host"],
            "sysFlag": rest.get("sys_flag", 0),
            "flag": rest.get("flag", 0),
            "reconsumeTimes": rest.get("reconsume_times", 0),
            "preparedTransactionOffset": rest.get("prepared_offset", 0),
            "batch": "batch" in rest,
            "tags": properties.get("TAGS"),
            "keys": properties.get("KEYS"),
            "uniqKey": properties.get("UNIQ_KEY"),
            "properties": properties,
            "bodyLength": len(body),
            "bodyCrc": zlib.crc32(body) & 0x7FFFFFFF,
            "bodySha256": hashlib.sha256(body).hexdigest(),
        }

    def _properties(self) -> dict[str, str]:
        chance = self._random
        self._made += 1
        properties = {"WAIT": "false" if chance.randrange(4) == 0 else "true"}
        if chance.randrange(10):
            properties["UNIQ_KEY"] = f"7F0000010001{chance.getrandbits(48):012X}{self._made:08X}"
        if chance.randrange(5):
            properties["TAGS"] = chance.choice(TAGS)
        numbers = [chance.randrange(700) for _ in range(chance.randrange(4))]
        if numbers:
            properties["KEYS"] = " ".join(f"{'ключ' if n % 7 == 0 else 'key'}-{n}" for n in numbers)
        for i in range(chance.randrange(4)):
            properties[f"user-{i}"] = (
                f"値={self._made}" if chance.randrange(6) == 0 else f"{chance.getrandbits(32):x}"
            )
        return properties

    def _body(self) -> bytes:
        chance = self._random
        if self._made % 5003 == 17:
            return chance.randbytes(1 << 20)
        match chance.randrange(40):
            case 0:
                return b""
            case 1:
                return chance.randbytes(chance.randrange(8192))
            case _:
                return chance.randbytes(chance.randint(1, 256))

    def _host(self) -> str:
        chance = self._random
        port = chance.randint(1024, 61023)
        if chance.randrange(20) == 0:
            return f"[fd{chance.randrange(256):02x}::{chance.randint(1, 9)}]:{port}"
        return f"10.0.0.{chance.randint(1, 250)}:{port}"


def write_until_killed(directory: str, settings: dict[str, Any], keep_every: int) -> Iterator[list[Line]]:
    """Write for ever; yield what was acknowledged. Every so often all that is derived goes to the disk."""
    with open_store(directory, {**SMALL, **settings}) as store:
        corpus = Corpus(store, seed=3)
        for turn in itertools.count(1):
            yield corpus.write_some(40)
            if keep_every and turn % keep_every == 0:
                store.flush_queues()


if __name__ == "__main__":
    for acks in write_until_killed(sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])):
        sys.stdout.write("".join(json.dumps(ack) + "\n" for ack in acks))
        sys.stdout.flush()
