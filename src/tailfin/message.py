"""Messages stored and received, the codecs round them (records, batches, ids, Java's hash), and filters."""

from tailfin._engine import (
    BadExpression,
    DamagedMessage,
    Message,
    ReceivedMessage,
    SqlFilter,
    compress_body,
    decode_batch,
    decode_message_id,
    decode_messages,
    encode_batch,
    encode_message_id,
    encode_record,
    java_hash,
)

__all__ = [
    "BadExpression",
    "DamagedMessage",
    "Message",
    "ReceivedMessage",
    "SqlFilter",
    "compress_body",
    "decode_batch",
    "decode_message_id",
    "decode_messages",
    "encode_batch",
    "encode_message_id",
    "encode_record",
    "java_hash",
]
