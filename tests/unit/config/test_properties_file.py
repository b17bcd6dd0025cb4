from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailfin.config import BrokerSettings, properties
from tailfin.config.kept import KeptSettings
from tests.unit.loops import in_loop


@pytest.mark.shows("CF-03")
@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("a=1", {"a": "1"}),
        ("a = 1 ", {"a": "1 "}),
        ("  a\t=\t1", {"a": "1"}),
        ("a: 1", {"a": "1"}),
        ("a 1", {"a": "1"}),
        ("a", {"a": ""}),
        ("a=", {"a": ""}),
        ("a==1", {"a": "=1"}),
        ("# a=1\n! b=2\n\n  # c=3\nd=4", {"d": "4"}),
        ("a=1 # no comment", {"a": "1 # no comment"}),
        ("a=1\\\n   2\nb=3", {"a": "12", "b": "3"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\", {"a": "1"}),
        ("a=1\r\nb=2\rc=3", {"a": "1", "b": "2", "c": "3"}),
        ("a\\=b\\ c=1", {"a=b c": "1"}),
        ("p=C\\:\\\\store\\tx", {"p": "C:\\store\tx"}),
        ("p=\\u4e2d\\u6587", {"p": "中文"}),
        ("p=\\ud83d\\ude00", {"p": "😀"}),
        ("p=/数据/store", {"p": "/数据/store"}),
        ("a=1\na=2", {"a": "2"}),
    ],
)
def test_a_line_is_read_as_java_reads_it(text: str, pairs: dict[str, str]) -> None:
    assert properties.parse(text) == pairs


def test_a_short_unicode_escape_is_refused() -> None:
    with pytest.raises(ValueError, match="four hexadecimal digits"):
        properties.parse("a=\\u12")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("# é\r\nk=old\r\n".encode("latin-1"), "# é\r\nk=ü \\u4e2d\\ud83d\\ude00\r\n".encode("latin-1")),
        ("# é\nk=old\n".encode(), "# é\nk=ü 中😀\n".encode()),
        (b"\xef\xbb\xbfk=old\n# mine", b"\xef\xbb\xbf" + "# mine\nk=ü 中😀\n".encode()),
    ],
)
@in_loop
async def test_changed_file_keeps_its_encoding_and_line_ends(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    file = tmp_path / "broker.conf"
    file.write_bytes(before)
    await KeptSettings(BrokerSettings.name_of).keep(file, {"k": "ü 中😀"})
    assert file.read_bytes() == after
    assert properties.read(file) == {"k": "ü 中😀"}


def test_files_are_utf_8_with_or_without_a_mark_and_latin_1_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "broker.conf"
    for data in ("p=/é".encode(), b"\xef\xbb\xbf" + "p=/é".encode(), "p=/é".encode("latin-1")):
        file.write_bytes(data)
        assert properties.read(file) == {"p": "/é"}


@given(st.text())
def test_any_text_without_escapes_is_read(text: str) -> None:
    pairs = properties.parse(text.replace("\\", "/"))
    assert all(isinstance(value, str) for value in pairs.values())
