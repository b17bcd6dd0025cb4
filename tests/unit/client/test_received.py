"""Messages as consumers get them."""

import zlib

import pytest

from tailfin._engine import (
    DamagedMessage,
    ReceivedMessage,
    compress_body,
    decode_messages,
    encode_batch,
    encode_record,
    java_hash,
)
from tailfin.client.queues import Queue

PROPERTIES = b"KEYS\x01k1  k2\x02TAGS\x01food\x02UNIQ_KEY\x01AC1D00\x02color\x01red\x02"


def record(
    body: bytes = b"pizza",
    *,
    topic: str = "orders",
    properties: bytes = b"",
    offset: int = 7,
    sys_flag: int = 0,
) -> bytes:
    return encode_record(
        topic=topic,
        body=body,
        properties=properties,
        queue_id=3,
        flag=9,
        sys_flag=sys_flag,
        queue_offset=offset,
        physical_offset=4096,
        born_timestamp=1000,
        born_host="10.0.0.1:5000",
        store_timestamp=2000,
        store_host="10.0.0.2:10911",
        reconsume_times=2,
    )


def only(data: bytes, **options: object) -> ReceivedMessage:
    (message,) = decode_messages(data, broker="broker-a", **options)  # type: ignore[arg-type]
    return message


def test_every_field_can_be_read() -> None:
    message = only(record(properties=PROPERTIES))
    assert (message.topic, message.stored_topic, message.broker) == ("orders", "orders", "broker-a")
    assert (message.queue_id, message.queue_offset, message.physical_offset) == (3, 7, 4096)
    assert message.queue == Queue("orders", "broker-a", 3)
    assert (message.body, message.flag, message.sys_flag) == (b"pizza", 9, 0)
    assert (message.born_timestamp, message.born_host) == (1000, "10.0.0.1:5000")
    assert (message.store_timestamp, message.store_host) == (2000, "10.0.0.2:10911")
    assert (message.tags, message.keys) == ("food", ["k1", "k2"])
    assert (message.message_id, message.offset_message_id) == ("AC1D00", "0A00000200002A9F0000000000001000")
    assert message.properties == {"KEYS": "k1  k2", "TAGS": "food", "UNIQ_KEY": "AC1D00", "color": "red"}
    assert (message.property("color"), message.property("size")) == ("red", None)
    assert (message.transaction_id, message.prepared_offset) == (None, 0)
    assert message.size == len(record(properties=PROPERTIES))


def test_a_message_without_properties_has_neither_tags_nor_keys_and_the_brokers_id() -> None:
    message = only(record())
    assert (message.tags, message.keys, message.properties) == (None, [], {})
    assert message.message_id == message.offset_message_id


def test_tries_on_the_spot_are_counted_by_whoever_makes_them() -> None:
    message = only(record())
    assert message.reconsume_times == 2
    message.reconsume_times += 1
    assert message.reconsume_times == 3
    with pytest.raises(AttributeError):
        message.flag = 1  # type: ignore[misc]


def test_it_is_printed_for_people() -> None:
    assert repr(only(record(b"it's", properties=PROPERTIES))) == (
        'ReceivedMessage(topic="orders", broker="broker-a", queue_id=3, queue_offset=7, tags="food", '
        'keys="k1  k2", message_id="AC1D00", body=b\'it\\\'s\')'
    )
    assert repr(only(record(b"x" * 5000))).endswith(f"body=b'{'x' * 40}'... (5000 bytes))")


def test_the_body_is_made_once() -> None:
    message = only(record())
    assert message.body is message.body


@pytest.mark.parametrize("compression", ["zlib", "lz4", "zstd"])
def test_a_compressed_body_is_given_as_it_was_sent(compression: str) -> None:
    body = b"the same over and over; " * 1000
    packed, bits = compress_body(body, compression)
    assert len(packed) < len(body) / 10
    assert only(record(packed, sys_flag=bits)).body == body


def test_the_bits_of_old_clients_mean_zlib() -> None:
    assert only(record(zlib.compress(b"hello"), sys_flag=1)).body == b"hello"


def test_an_unknown_compression_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ValueError, match="none of zlib, lz4, zstd"):
        compress_body(b"x", "gzip")


@pytest.mark.parametrize("compression", ["zlib", "lz4", "zstd"])
def test_a_bomb_is_an_error_of_its_own_message(compression: str) -> None:
    packed, bits = compress_body(bytes(20 << 20), compression)
    data = record(packed, sys_flag=bits) + record(b"after", offset=8)
    bomb, after = decode_messages(data, broker="broker-a", body_bytes_max=1 << 20)
    with pytest.raises(
        DamagedMessage, match=r"message 7 of orders, queue 3 on broker-a.*more than 1048576 bytes"
    ):
        bomb.body  # noqa: B018
    assert after.body == b"after"
    assert "more than 1048576 bytes" in repr(bomb)


@pytest.mark.parametrize("compression", ["zlib", "lz4", "zstd"])
def test_a_body_cut_short_is_an_error(compression: str) -> None:
    packed, bits = compress_body(b"some text, some text, some text", compression)
    with pytest.raises(DamagedMessage, match="queue 3 on broker-a"):
        only(record(packed[:-3], sys_flag=bits)).body  # noqa: B018


def test_a_compression_that_no_client_has_is_an_error() -> None:
    with pytest.raises(DamagedMessage, match="number 7, which no format has"):
        only(record(b"x", sys_flag=0x701)).body  # noqa: B018


def test_a_body_that_does_not_fit_its_checksum_is_no_body() -> None:
    data = record(b"pizza").replace(b"pizza", b"pizzo")
    with pytest.raises(DamagedMessage, match=r"message 7 of orders.*does not fit its checksum"):
        only(data).body  # noqa: B018
    assert only(data, check_crc=False).body == b"pizzo"


def test_a_message_that_is_tried_again_shows_its_own_topic() -> None:
    data = record(topic="%RETRY%g", properties=b"RETRY_TOPIC\x01orders\x02ORIGIN_MESSAGE_ID\x01id\x02")
    message = only(data)
    assert (message.topic, message.stored_topic, message.queue) == (
        "orders",
        "%RETRY%g",
        Queue("%RETRY%g", "broker-a", 3),
    )
    assert message.property("ORIGIN_MESSAGE_ID") == "id"


def test_a_namespace_is_not_shown() -> None:
    assert only(record(topic="shop%orders"), namespace="shop").topic == "orders"
    data = record(topic="%RETRY%shop%g", properties=b"RETRY_TOPIC\x01shop%orders\x02")
    assert only(data, namespace="shop").topic == "orders"
    assert only(record(topic="bank%orders"), namespace="shop").topic == "bank%orders"


def test_a_transaction_has_the_id_of_its_message() -> None:
    data = record(properties=b"UNIQ_KEY\x01AC1D\x02TRAN_MSG\x01true\x02")
    assert only(data).transaction_id == "AC1D"


def test_tags_that_share_a_hash_are_told_apart() -> None:
    assert java_hash("Aa") == java_hash("BB")
    data = record(properties=b"TAGS\x01Aa\x02") + record(properties=b"TAGS\x01BB\x02") + record()
    assert [message.tags for message in decode_messages(data, tags=["BB", "C"])] == ["BB"]
    assert len(decode_messages(data)) == 3


def test_a_batch_stored_as_one_record_is_many_messages() -> None:
    batch = encode_batch([(1, b"one", b"TAGS\x01a\x02"), (2, b"two", b"KEYS\x01k\x02")])
    one, two = decode_messages(record(batch, offset=20, sys_flag=0xC0), broker="broker-a")
    assert (one.queue_offset, one.body, one.flag, one.tags) == (20, b"one", 1, "a")
    assert (two.queue_offset, two.body, two.flag, two.keys) == (21, b"two", 2, ["k"])
    assert two.born_host == "10.0.0.1:5000"


def test_bytes_that_are_no_records_are_refused() -> None:
    assert decode_messages(b"") == []
    with pytest.raises(ValueError, match="after 1 messages there is none: magic"):
        decode_messages(record() + b"\x01" * 100)
    with pytest.raises(ValueError, match="after 0 messages"):
        decode_messages(record()[:-1])


def test_malformed_text_is_replaced() -> None:
    message = only(record(properties=b"TAGS\x01\xff\x02"))
    assert message.tags == "\ufffd"
