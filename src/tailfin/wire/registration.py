"""The compressed form of `RegisterBrokerBody`: length-prefixed parts in a zlib stream.

A topic is a line of words there, so its sys flag and order mark are not carried.
"""

import struct
import zlib
from collections.abc import Mapping

from tailfin.wire import fastjson, version
from tailfin.wire.bodies.common import DataVersion
from tailfin.wire.bodies.topics import (
    RegisterBrokerBody,
    TopicConfig,
    TopicConfigAndMappingSerializeWrapper,
    TopicFilterType,
    TopicQueueMappingInfo,
)
from tailfin.wire.body import Misshapen
from tailfin.wire.codes import ResponseCode
from tailfin.wire.error import RemotingError

INFLATED_BYTES_MAX = 64 * 1024 * 1024
"""Longest registration once inflated: about a million topics."""

_INT = struct.Struct(">i")


def crc32(data: bytes) -> int:
    """Return the checksum that a registration's header carries."""
    return zlib.crc32(data) & 0x7FFFFFFF


def deflate(body: RegisterBrokerBody) -> bytes:
    """Return the compressed form."""
    wrapper = body.topic_config_serialize_wrapper
    parts = [_part(wrapper.data_version.to_json()), _INT.pack(len(wrapper.topic_config_table))]
    parts += [_part(_line(topic).encode()) for topic in wrapper.topic_config_table.values()]
    parts.append(_part(fastjson.dumps(body.filter_server_list)))
    mappings = wrapper.topic_queue_mapping_info_map
    parts.append(_INT.pack(len(mappings)))
    parts += [_part(mapping.to_json()) for mapping in mappings.values()]
    return zlib.compress(b"".join(parts), 9)


def inflate(data: bytes, broker_version: int) -> RegisterBrokerBody:
    """Read the compressed form; what cannot be read is answered with SYSTEM_ERROR."""
    try:
        return _read(_Parts(_inflated(data)), broker_version)
    except (zlib.error, fastjson.NotReadable, Misshapen) as error:
        remark = f"the body is no compressed RegisterBrokerBody: {error}"
        raise RemotingError(ResponseCode.SYSTEM_ERROR, remark) from None


def _inflated(data: bytes) -> bytes:
    stream = zlib.decompressobj()
    plain = stream.decompress(data, INFLATED_BYTES_MAX)
    if stream.unconsumed_tail:
        raise Misshapen(f"more than {INFLATED_BYTES_MAX} bytes when inflated")
    if not stream.eof:
        raise Misshapen("the zlib stream ends too early")
    return plain


def _read(parts: "_Parts", broker_version: int) -> RegisterBrokerBody:
    data_version = DataVersion.from_tree(fastjson.loads(parts.text()))
    topics: dict[str, TopicConfig] = {}
    for _ in range(parts.count()):
        topic = _topic(parts.text())
        assert topic.topic_name is not None
        topics[topic.topic_name] = topic
    filters = fastjson.loads(parts.text() or "[]") or []
    if not isinstance(filters, list):
        raise Misshapen("the filter servers are an array")
    mappings: dict[str, TopicQueueMappingInfo] = {}
    if broker_version >= version.V5_0_0:
        for _ in range(parts.count()):
            mapping = TopicQueueMappingInfo.from_tree(fastjson.loads(parts.text()))
            mappings[mapping.topic or ""] = mapping
    return RegisterBrokerBody(
        topic_config_serialize_wrapper=TopicConfigAndMappingSerializeWrapper(
            data_version=data_version, topic_config_table=topics, topic_queue_mapping_info_map=mappings
        ),
        filter_server_list=[str(each) for each in filters],
    )


def _part(data: bytes) -> bytes:
    return _INT.pack(len(data)) + data


def _line(topic: TopicConfig) -> str:
    words = f"{topic.topic_name} {topic.read_queue_nums} {topic.write_queue_nums} {topic.perm}"
    line = f"{words} {topic.topic_filter_type}"
    return f"{line} {_attributes(topic.attributes)}" if topic.attributes else line


def _attributes(attributes: Mapping[str, str]) -> str:
    return fastjson.dumps(dict(attributes)).decode()


def _topic(line: str) -> TopicConfig:
    words = line.split(" ", 5)
    if len(words) < 5:
        raise Misshapen(f"a topic has at least five words, not {line[:64]!r}")
    name, read, write, perm, kind = words[:5]
    # Fast, for a broker has thousands of them and registers every half a minute.
    if not all(number.removeprefix("-").isdecimal() and len(number) < 11 for number in (read, write, perm)):
        raise Misshapen(f"a topic's queues and permissions are numbers, not {line[:64]!r}")
    attributes = fastjson.loads(words[5]) if words[5:] and words[5].strip() else {}
    if not isinstance(attributes, dict):
        raise Misshapen(f"a topic's attributes are an object, not {words[5][:64]!r}")
    return TopicConfig(
        topic_name=name,
        read_queue_nums=int(read),
        write_queue_nums=int(write),
        perm=int(perm),
        topic_filter_type=TopicFilterType.__members__.get(kind, TopicFilterType.SINGLE_TAG),
        attributes={str(key): str(value) for key, value in attributes.items()},
    )


class _Parts:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def count(self) -> int:
        if self.at + 4 > len(self.data):
            raise Misshapen(f"a length is missing at byte {self.at}")
        (number,) = _INT.unpack_from(self.data, self.at)
        self.at += 4
        if not 0 <= number <= len(self.data) - self.at:
            raise Misshapen(f"a length of {number} where {len(self.data) - self.at} bytes are left")
        return int(number)

    def text(self) -> str:
        length = self.count()
        data = self.data[self.at : self.at + length]
        self.at += length
        return data.decode("utf-8", "replace")
