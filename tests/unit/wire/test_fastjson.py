"""JSON as Java writes it, and everything it must not be able to do to a reader."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailfin.wire.fastjson import DEPTH_MAX, Json, NotReadable, ObjectKey, dumps, loads

QUEUE = ObjectKey([("brokerName", "b"), ("queueId", 0), ("topic", "T")])


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{0:"a",-1:"b"}', {"0": "a", "-1": "b"}),
        ('{"x":{ 0 : [1,2]},"0:":{1:2}}', {"x": {"0": [1, 2]}, "0:": {"1": 2}}),
        ('{"s":"{0:1,","t":"\\",1:"}', {"s": "{0:1,", "t": '",1:'}),
        ('{{"brokerName":"b","queueId":0,"topic":"T"}:7}', {QUEUE: 7}),
        ("{'a':'it\\'s',b:null,c:true}", {"a": "it's", "b": None, "c": True}),
        (" [ 1.5e3 , -2 , 'x\\u0041\\x41' , false ] ", [1500.0, -2, "xAA", False]),
        ('{{"a":"\\ud83d\\ude00"}:1}', {ObjectKey([("a", "\U0001f600")]): 1}),
        ("{}", {}),
    ],
)
def test_java_texts_are_read(text: str, value: Json) -> None:
    assert loads(text) == value
    assert loads(text.encode()) == value


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "{0:",
        "{'a':1,}",
        "[1,]",
        "{{}",
        '{{"a":{}}:1}',
        "nul",
        "1 2",
        "'a",
        "'\\u12",
        "\\",
        "{,}",
        "-",
    ],
)
def test_other_texts_are_refused_with_a_place(text: str) -> None:
    with pytest.raises(NotReadable, match="at character"):
        loads(text)


def test_bytes_that_are_no_text_are_refused() -> None:
    with pytest.raises(NotReadable, match="UTF-8"):
        loads(b'{"a":"\xff"}')


@pytest.mark.parametrize("opening", ["[", '{"a":', "{0:", "{{"])
def test_depth_is_limited_without_exhausting_the_stack(opening: str) -> None:
    with pytest.raises(NotReadable):
        loads(opening * 100_000)


def test_the_deepest_allowed_text_is_read() -> None:
    assert loads("{0:" * DEPTH_MAX + "'x'" + "}" * DEPTH_MAX)


def test_a_long_hostile_text_takes_time_in_proportion() -> None:
    """A scan from every quote to the end would take hours for this one."""
    with pytest.raises(NotReadable):
        loads('{0:"' + '\\"' * 2_000_000)


def test_java_flavour_leaves_number_keys_bare_and_writes_object_keys() -> None:
    tree = {"a": {0: "x", QUEUE: [1, None, True, 1.0, "ü/"]}, "e": {}, "l": []}
    java = '{"a":{0:"x",{"brokerName":"b","queueId":0,"topic":"T"}:[1,null,true,1.0,"ü/"]},"e":{},"l":[]}'
    assert dumps(tree).decode() == java
    assert loads(java) == {"a": {"0": "x", QUEUE: [1, None, True, 1.0, "ü/"]}, "e": {}, "l": []}


def test_standard_flavour_is_json_for_everyone() -> None:
    assert dumps({"b": {2: "ü", 1: "x"}, "a": 1}, standard=True) == b'{"a":1,"b":{"1":"x","2":"\\u00fc"}}'


def test_pretty_form_is_indented_by_tabs() -> None:
    text = dumps({"table": {"k": [1, 2], "e": {}}}, pretty=True).decode()
    assert text == '{\n\t"table":{\n\t\t"k":[\n\t\t\t1,\n\t\t\t2\n\t\t],\n\t\t"e":{}\n\t}\n}'


def test_numbers_that_json_lacks_become_null() -> None:
    assert dumps([float("nan"), float("inf")]) == b"[null,null]"


scalars = st.none() | st.booleans() | st.integers(-(1 << 63), 1 << 63) | st.text(st.characters(codec="utf-8"))
trees = st.recursive(
    scalars, lambda below: st.lists(below) | st.dictionaries(st.text("ab0"), below), max_leaves=20
)


@given(trees)
def test_both_flavours_read_back_as_written(tree: Json) -> None:
    assert loads(dumps(tree)) == tree
    assert loads(dumps(tree, pretty=True)) == tree
    assert json.loads(dumps(tree, standard=True)) == tree


@given(st.text("{}[]:,\"'\\u01a -", max_size=40))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        loads(text)
    except NotReadable:
        return
