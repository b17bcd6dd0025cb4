"""Headers: one class each, both ways, and what a broken one is answered with."""

import importlib
import pkgutil
from dataclasses import fields, replace

import pytest

from tailfin.wire import headers, version
from tailfin.wire.codes import Code, Language, ResponseCode
from tailfin.wire.error import RemotingError
from tailfin.wire.header import BoundaryType, Header, camel
from tailfin.wire.headers.namesrv import GetRouteInfoRequestHeader, RegisterBrokerRequestHeader
from tailfin.wire.headers.pull import GetMaxOffsetRequestHeader, SearchOffsetRequestHeader
from tailfin.wire.headers.send import SendMessageRequestHeader
from tailfin.wire.headers.topics import GetAllTopicConfigRequestHeader

SEND = SendMessageRequestHeader(
    producer_group="PG",
    topic="T",
    default_topic="TBW102",
    default_topic_queue_nums=4,
    queue_id=0,
    sys_flag=0,
    born_timestamp=1,
    flag=0,
    properties="k\x01v\x02",
    reconsume_times=0,
    unit_mode=False,
    batch=False,
)
SHORT = dict(
    zip("abcdefghijkm", ["PG", "T", "TBW102", "4", "0", "0", "1", "0", "k\x01v\x02", "0"], strict=False)
)


def every_header() -> list[type[Header]]:
    modules = [
        importlib.import_module(f"{headers.__name__}.{m.name}")
        for m in pkgutil.iter_modules(headers.__path__)
    ]
    return [
        each
        for module in modules
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Header) and each.__module__ == module.__name__
    ]


def test_a_send_travels_under_short_and_under_long_names() -> None:
    assert SEND.encode(short=True) == SHORT | {"k": "false", "m": "false"}
    assert SEND.encode()["producerGroup"] == "PG"
    assert SendMessageRequestHeader.decode(SEND.encode()) == SEND
    assert SendMessageRequestHeader.decode(SEND.encode(short=True)) == SEND


@pytest.mark.shows("SP-28")
def test_a_producer_tells_everything_about_its_message() -> None:
    told = replace(SEND, max_reconsume_times=16).encode()
    assert set(told) == {
        "producerGroup",
        "topic",
        "defaultTopic",
        "defaultTopicQueueNums",
        "queueId",
        "sysFlag",
        "bornTimestamp",
        "flag",
        "properties",
        "reconsumeTimes",
        "unitMode",
        "batch",
        "maxReconsumeTimes",
    }


def test_absent_fields_take_their_defaults_and_unknown_ones_are_ignored() -> None:
    header = GetMaxOffsetRequestHeader.decode({"topic": "T", "queueId": "3", "who": "knows", "bname": "b"})
    assert (header.topic, header.queue_id, header.committed, header.bname, header.lo) == (
        "T",
        3,
        True,
        "b",
        None,
    )
    assert GetAllTopicConfigRequestHeader.decode({}).topic_seq is None


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"queueId": "0"}, "topic is missing"),
        ({"topic": "T", "queueId": "x"}, "queueId is not a number of 32 bits: 'x'"),
        ({"topic": "T", "queueId": "2147483648"}, "queueId is not a number of 32 bits"),
        ({"topic": "T", "queueId": "9" * 100_000}, "queueId is not"),
        ({"topic": "T", "queueId": "--1"}, "queueId is not"),
        ({"topic": "T", "queueId": "\u0661"}, "queueId is not"),
    ],
)
def test_a_needed_field_that_is_absent_or_unreadable_is_named(given: dict[str, str], text: str) -> None:
    with pytest.raises(RemotingError, match=text) as caught:
        GetMaxOffsetRequestHeader.decode(given)
    assert caught.value.code is ResponseCode.SYSTEM_ERROR
    assert len(str(caught.value)) < 200


def test_an_unreadable_number_that_is_not_needed_counts_as_absent() -> None:
    given = {
        "brokerName": "b",
        "brokerAddr": "a:1",
        "clusterName": "c",
        "haServerAddr": "a:2",
        "brokerId": "0",
    }
    header = RegisterBrokerRequestHeader.decode(
        given | {"heartbeatTimeoutMillis": "soon", "compressed": "TRUE"}
    )
    assert header.heartbeat_timeout_millis is None
    assert header.compressed is True


@pytest.mark.parametrize(("text", "kind"), [("UPPER", "UPPER"), ("upper", "UPPER"), ("?", "LOWER")])
def test_boundary_types_are_read_as_java_does(text: str, kind: str) -> None:
    header = SearchOffsetRequestHeader.decode(
        {"topic": "T", "queueId": "0", "timestamp": "5", "boundaryType": text}
    )
    assert header.boundary_type is BoundaryType(kind)
    assert header.encode()["boundaryType"] == kind


def test_truth_values_travel_as_words() -> None:
    assert GetRouteInfoRequestHeader(topic="T", accept_standard_json_only=True).encode() == {
        "topic": "T",
        "acceptStandardJsonOnly": "true",
    }


@pytest.mark.parametrize("cls", every_header(), ids=lambda cls: cls.__name__)
def test_every_header_reads_back_what_it_wrote(cls: type[Header]) -> None:
    sample = cls.decode(dict.fromkeys(_keys(cls), "7"))
    assert cls.decode(sample.encode()) == sample


def _keys(cls: type[Header]) -> list[str]:
    return [each.metadata.get("name") or camel(each.name) for each in fields(cls)]  # type: ignore[arg-type]


def test_numbers_of_codes_languages_and_versions() -> None:
    assert (Code.GET_ROUTEINFO_BY_TOPIC, Code.POP_MESSAGE, Code.BATCH_ACK_MESSAGE) == (105, 200050, 200151)
    assert (ResponseCode.TOPIC_NOT_EXIST, ResponseCode.GO_AWAY) == (17, 1500)
    assert (Language.PYTHON, Language.NODE_JS) == (3, 13)
    assert (version.V4_9_4, version.V5_0_0, version.CURRENT) == (401, 413, 479)


@pytest.mark.parametrize(
    ("number", "name"),
    [
        (0, "V3_0_0_SNAPSHOT"),
        (28, "V3_0_7_SNAPSHOT"),
        (37, "V3_0_11"),
        (121, "V3_4_9"),
        (211, "V3_9_9"),
        (213, "V4_0_0"),
        (353, "V4_7_0"),
        (399, "V4_9_3"),
        (479, "V5_3_3"),
        (478, "V5_3_3_SNAPSHOT"),
        (611, "V5_9_9"),
        (700, "HIGHER_VERSION"),
    ],
)
def test_versions_have_names(number: int, name: str) -> None:
    assert version.name(number) == name
