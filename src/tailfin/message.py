"""The stored message, and the codecs round it: records, batches, ids and Java's hash."""

from tailfin._engine import (
    Message,
    decode_batch,
    decode_message_id,
    encode_batch,
    encode_message_id,
    encode_record,
    java_hash,
)

__all__ = [
    "Message",
    "decode_batch",
    "decode_message_id",
    "encode_batch",
    "encode_message_id",
    "encode_record",
    "java_hash",
]
