"""The stored message, the codecs round it (records, batches, ids, Java's hash), and filters by properties."""

from tailfin._engine import (
    BadExpression,
    Message,
    SqlFilter,
    decode_batch,
    decode_message_id,
    encode_batch,
    encode_message_id,
    encode_record,
    java_hash,
)

__all__ = [
    "BadExpression",
    "Message",
    "SqlFilter",
    "decode_batch",
    "decode_message_id",
    "encode_batch",
    "encode_message_id",
    "encode_record",
    "java_hash",
]
