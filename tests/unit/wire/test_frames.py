"""Frames against the published bytes, and what happens to bytes that are no frame."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailfin.wire import frame
from tailfin.wire.frame import BINARY, JSON, Frame, FrameError

JSON_FRAME = bytes.fromhex(
    "000000810000007d7b22636f6465223a3130352c226578744669656c6473223a7b22746f706963223a2254227d2c22666c6167223a"
    "302c226c616e6775616765223a22505954484f4e222c226f7061717565223a372c2273657269616c697a655479706543757272656e"
    "74525043223a224a534f4e222c2276657273696f6e223a3437397d"
)
BINARY_FRAME = bytes.fromhex(
    "000000280100002200690301df000000070000000000000001720000000c0005746f70696300000001540102"
)
POP_FRAME = bytes.fromhex(
    "00000028010000240d720000000000000200000000000000000000000f000161000000016200016500000000"
)


@pytest.mark.shows("RM-11", "RM-12", "RM-14")
def test_json_frame_has_the_published_bytes() -> None:
    ours = Frame(code=105, opaque=7, version=479, fields={"topic": "T"})
    assert frame.encode(ours, JSON) == JSON_FRAME
    assert frame.decode(JSON_FRAME[4:]) == ours


@pytest.mark.shows("RM-14")
def test_binary_frame_has_the_published_bytes() -> None:
    ours = Frame(code=105, opaque=7, version=479, remark="r", fields={"topic": "T"}, body=b"\1\2")
    assert frame.encode(ours, BINARY) == BINARY_FRAME
    assert frame.decode(BINARY_FRAME[4:]) == ours


def test_binary_header_cuts_large_codes_and_drops_empty_values() -> None:
    read = frame.decode(POP_FRAME[4:])
    assert (read.code, read.fields, read.language, read.opaque) == (3442, {"a": "b"}, "JAVA", 2)
    pop = Frame(code=200050, opaque=2, version=0, language="JAVA", fields={"a": "b", "e": ""})
    assert frame.encode(pop, BINARY) == POP_FRAME


@pytest.mark.shows("RM-22")
def test_flag_bits_tell_responses_and_oneway_requests() -> None:
    assert Frame(code=0, flag=1).is_response
    assert Frame(code=0, flag=2).is_oneway
    assert not Frame(code=0, flag=2).is_response


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", "cannot have 0 bytes"),
        (b"\0\0\0\5{}", "header of 5 bytes in a frame of 6"),
        (b"\2\0\0\0", "encoding 2 is unknown"),
        (b"\0\0\0\2[]", "not an object"),
        (b"\0\0\0\1{", "header"),
        (b'\0\0\0\x0e{"code":"ten"}', "numbers"),
        (b"\1\0\0\1\0", "header"),
        (b"\1\0\0\x11" + struct.pack(">hBhiii", 1, 0, 0, 0, 0, 99), "length of 99"),
        (b"\1\0\0\x15" + struct.pack(">hBhiiii", 1, 0, 0, 0, 0, 0, -1), "length of -1"),
    ],
)
def test_bytes_that_are_no_frame_are_refused_with_a_reason(data: bytes, text: str) -> None:
    with pytest.raises(FrameError, match=text):
        frame.decode(data)


@pytest.mark.parametrize("length", [0, 3, -1, 16 * 1024 * 1024])
def test_lengths_beyond_the_limit_are_refused(length: int) -> None:
    with pytest.raises(FrameError):
        frame.body_length(struct.pack(">i", length))


def test_frames_that_no_peer_would_take_are_not_sent() -> None:
    with pytest.raises(FrameError, match="at most 16777216"):
        frame.encode(Frame(code=10, body=bytes(16 * 1024 * 1024)))


texts = st.text(st.characters(codec="utf-8"), min_size=1)


@given(
    code=st.integers(-(1 << 15), (1 << 15) - 1),
    opaque=st.integers(-(1 << 31), (1 << 31) - 1),
    remark=st.none() | texts,
    fields=st.dictionaries(texts, texts),
    body=st.binary(),
    kind=st.sampled_from([JSON, BINARY]),
)
def test_what_is_written_is_what_is_read(
    code: int, opaque: int, remark: str | None, fields: dict[str, str], body: bytes, kind: int
) -> None:
    ours = Frame(code=code, opaque=opaque, remark=remark, fields=fields, body=body)
    data = frame.encode(ours, kind)
    assert frame.body_length(data[:4]) == len(data) - 4
    assert frame.decode(data[4:]) == ours


@given(st.binary(max_size=64))
def test_any_bytes_are_a_frame_or_a_frame_error(data: bytes) -> None:
    for kind in (JSON, BINARY):
        whole = bytes([kind]) + len(data).to_bytes(3, "big") + data
        try:
            frame.decode(whole)
        except FrameError:
            continue
