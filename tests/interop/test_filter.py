"""The official filter and Tailfin's judge the same expressions on the same properties."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tailfin.broker.bloom import BloomFilter
from tests.interop import filter_judge
from tests.interop.filter_judge import REFUSED, OfficialFilter, judge
from tests.interop.filter_table import CONSTANTS, EXPRESSIONS, SETS, TEXTS, VALUES

EXAMPLES = 800


@pytest.fixture(scope="module")
def official() -> Iterator[OfficialFilter]:
    """One machine for all questions."""
    with filter_judge.official() as running:
        yield running


@pytest.mark.shows("FI-02")
def test_every_expression_of_the_table_is_judged_alike(official: OfficialFilter) -> None:
    assert len(EXPRESSIONS) >= 300
    wrong = []
    verdicts = set()
    for expression in EXPRESSIONS:
        theirs, ours = official.judge(expression, SETS), judge(expression, SETS)
        verdicts |= {theirs} if theirs == REFUSED else set(theirs)
        if theirs == REFUSED or ours == REFUSED:
            if theirs != ours:
                wrong.append(f"{expression!r}: official {theirs}, ours {ours}")
            continue
        wrong += [
            f"{expression!r} of {properties}: official {their}, ours {our}"
            for properties, their, our in zip(SETS, theirs, ours, strict=True)
            if their != our
        ]
    assert not wrong, "\n".join(wrong[:50])
    assert verdicts == {REFUSED, *"TFNE"}


names = st.sampled_from(["a", "b", "c", "A", "TAGS"])
constants = st.sampled_from(CONSTANTS)
texts = st.sampled_from([text for text in TEXTS if text != "'''"])
digits = st.integers(0, 1 << 70).map(str)
numbers = st.one_of(
    digits, st.floats(0, allow_nan=False, allow_infinity=False).map(repr), digits.map("{}L".format)
)
values = st.one_of(names, constants, numbers, constants.map("-{}".format))


def compound(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Build expressions of smaller ones, right and wrong."""
    two = st.tuples(inner, inner)
    return st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR", "=", "<>", "<"]), inner).map(" ".join),
        inner.map("({})".format),
        inner.map("NOT {}".format),
        inner.map("-({})".format),
        st.tuples(inner, st.sampled_from(["IS NULL", "IS NOT NULL"])).map(" ".join),
        two.map(lambda pair: "({}) AND ({})".format(*pair)),
        two.map(lambda pair: "({}) OR NOT ({})".format(*pair)),
    )


predicates = st.one_of(
    st.tuples(values, st.sampled_from(["=", "<>", "<", "<=", ">", ">="]), values).map(" ".join),
    st.tuples(values, st.sampled_from(["BETWEEN", "NOT BETWEEN"]), values, st.just("AND"), values).map(
        " ".join
    ),
    st.tuples(names, st.sampled_from(["IN", "NOT IN"]), st.lists(texts, min_size=1, max_size=7)).map(
        lambda parts: f"{parts[0]} {parts[1]} ({', '.join(parts[2])})"
    ),
    st.tuples(
        values, st.sampled_from(["", "NOT "]), st.sampled_from(["CONTAINS", "STARTSWITH", "ENDSWITH"]), texts
    ).map(lambda parts: f"{parts[0]} {parts[1]}{parts[2]} {parts[3]}"),
    names,
)
WORDS = [
    "a",
    "b",
    "1",
    "2L",
    "1.5",
    "'x'",
    "''",
    "TRUE",
    "NULL",
    "=",
    "<>",
    ">",
    "<=",
    "(",
    ")",
    ",",
    "-",
    "+",
]
WORDS += [
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS",
    "BETWEEN",
    "CONTAINS",
    "ENDSWITH",
    "--",
    "/*",
    "*/",
    "\n",
    "!",
    "0",
    ".",
]
expressions = st.one_of(
    st.recursive(predicates, compound, max_leaves=8),
    st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join),
    st.lists(st.sampled_from(WORDS), max_size=8).map("".join),
    st.text(alphabet="ab1'()=<>-.eL 0\"*/\n", max_size=16),
)
value_texts = st.one_of(
    st.sampled_from(VALUES),
    digits,
    st.floats().map(repr),
    st.floats(allow_nan=False, allow_infinity=False).map(float.hex),
    st.from_regex(r"[ +-]?0x[0-9a-fA-F]{0,20}\.?[0-9a-fA-F]{0,20}[pP][+-]?[0-9]{1,4}[dfDF]?", fullmatch=True),
    st.from_regex(r"\s?[+-]?[0-9]*\.?[0-9]*([eE][+-]?[0-9]{1,3})?[dfDF]?", fullmatch=True),
    st.text(max_size=6),
)
plain = value_texts.filter(lambda text: bool(text) and not set(text) & {"\x01", "\x02"})
property_sets = st.lists(st.dictionaries(names, plain, max_size=4), min_size=1, max_size=6)


@pytest.mark.shows("FI-02")
@given(expressions, property_sets)
@settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow])
def test_any_expression_is_judged_alike(
    official: OfficialFilter, expression: str, sets: list[dict[str, str]]
) -> None:
    assert judge(expression, sets) == official.judge(expression, sets)


@given(st.text(max_size=40), st.integers(1, 99), st.integers(1, 300))
@settings(max_examples=200, deadline=None, database=None)
def test_a_group_has_the_same_bits_as_in_java(
    official: OfficialFilter, text: str, error: int, entries: int
) -> None:
    ours = BloomFilter.of(error, entries).positions(text)
    assert (ours.bit_num, ours.bit_pos) == official.bloom(error, entries, text)
