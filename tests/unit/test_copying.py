"""What a copy of a message has of the first one's properties."""

import re
from pathlib import Path

from tailfin.copying import OF_THE_FIRST_MESSAGE, UNIQUE_KEY, another_message, same_message
from tailfin.spark.sink.decisions import ATTEMPT, BATCH, PARTITION, QUERY

LAYOUT = Path(__file__).parents[2] / "engine/src/message/layout.rs"
SAID_BY_USERS = {
    "BUYER_ID",
    "CORRELATION_ID",
    "KEYS",
    "REPLY_TO_CLIENT",
    "TAGS",
    "TRACE_CONTEXT",
    "TTL",
    "__SHARDINGKEY",
}
OF_SPARK = {QUERY, BATCH, PARTITION, ATTEMPT}
NEWER = {"ORIGIN_GROUP"}  # servers since 5.5 write it, and nothing reads it


def test_every_name_of_rocketmq_is_either_kept_or_lost() -> None:
    names = set(re.findall(r'pub const \w+: &\[u8\] = b"([^"]+)";', LAYOUT.read_text()))
    assert {"TAGS", "TRAN_MSG", "__CRC32#"} <= names
    assert names - SAID_BY_USERS == OF_THE_FIRST_MESSAGE - NEWER - OF_SPARK
    assert OF_SPARK <= OF_THE_FIRST_MESSAGE


def test_users_own_properties_are_kept() -> None:
    users = dict.fromkeys(SAID_BY_USERS, "1") | {"color": "red", "ORIGIN_TOPIC": "orders"}
    first = dict.fromkeys(OF_THE_FIRST_MESSAGE, "2") | users
    assert another_message(first) == users
    assert same_message(first) == users | {UNIQUE_KEY: "2"}
