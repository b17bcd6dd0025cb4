"""What can be subscribed to, and how it is told."""

import pytest

from tailfin.client.consuming.subscriptions import (
    Sql,
    check_subscriptions,
    differing,
    matches_tags,
    subscription,
    tags_of,
)


def test_tags_are_taken_apart_and_hashed_as_java_does() -> None:
    data = subscription("orders", " paid ||shipped || paid ", 7)
    assert data.tags_set == ["paid", "shipped"]
    assert data.code_set == sorted([3433164, 2061557075])
    assert (data.sub_string, data.expression_type, data.sub_version) == ("paid ||shipped || paid", "TAG", 7)


@pytest.mark.parametrize("everything", ["*", "", "  "])
def test_a_star_and_nothing_mean_everything(everything: str) -> None:
    data = subscription("orders", everything, 1)
    assert (data.sub_string, data.tags_set, data.code_set) == ("*", [], [])


def test_sql_travels_as_it_is() -> None:
    data = subscription("orders", Sql("a > 1"), 1)
    assert (data.sub_string, data.expression_type, data.tags_set) == ("a > 1", "SQL92", [])


@pytest.mark.parametrize("nothing", ["||", " || "])
def test_bars_without_tags_are_refused(nothing: str) -> None:
    with pytest.raises(ValueError, match=r"tags are written as 'paid \|\| shipped'"):
        tags_of(nothing)


def test_an_empty_sql_expression_is_refused() -> None:
    with pytest.raises(ValueError, match="needs an expression"):
        Sql("  ")


def test_wrong_subscriptions_are_refused_with_an_example() -> None:
    with pytest.raises(TypeError, match=r'as in \{"orders": "\*"\}'):
        check_subscriptions("orders")
    with pytest.raises(TypeError, match="the subscription of 'orders' is a text or an Sql, not 7"):
        check_subscriptions({"orders": 7})
    with pytest.raises(ValueError, match="illegal characters"):
        check_subscriptions({"or ders": "*"})


def test_tags_are_compared_as_texts() -> None:
    assert matches_tags({}, None)
    assert matches_tags({"a": None}, "a")
    assert not matches_tags({"a": None}, None)
    assert not matches_tags({"a": None}, "b")


def test_members_that_differ_are_told_where() -> None:
    mine = {"a": subscription("a", "x || y", 1), "b": subscription("b", "*", 1)}
    assert differing(mine, {"a": subscription("a", "y||x", 9), "b": subscription("b", "", 9)}) == []
    group = {"a": subscription("a", "x", 1), "c": subscription("c", Sql("n > 1"), 1)}
    assert differing(mine, group) == [
        "this member reads 'a' as 'x || y', another one as 'x'",
        "this member reads 'b' ('*'), another one does not",
        "another member reads 'c' ('n > 1'), this one does not",
    ]


@pytest.mark.parametrize("expression", ["a | b", "a || b|c"])
def test_tags_with_a_single_bar_between_them_are_refused(expression: str) -> None:
    with pytest.raises(ValueError, match="is no tag; tags are written as"):
        tags_of(expression)
