"""Queries, looked at without Spark."""

import pytest

from tailfin.pipeline.sql import mistakes, reads


@pytest.mark.parametrize(
    ("sql", "names"),
    [
        ("select * from orders", ["orders"]),
        ("SELECT * FROM `orders` o JOIN customers AS c ON o.a = c.a", ["orders", "customers"]),
        ("select * from a, b x, c where 1 in (select d from e)", ["a", "b", "c", "e"]),
        ("with x as (select * from a), y (n) as (select 1) select * from x join y", ["a"]),
        ("select extract(year from t), trim(both 'x' from s) from a", ["a"]),
        ("select * from a where b is distinct from c", ["a"]),
        ("select * from (select * from a) t left join b on true", ["a", "b"]),
        ("select * from db.t join cat.db.u, a", ["a"]),
        ("select * from range(10), values (1), a", []),
        ("from a select b", ["a"]),
        ("table a", ["a"]),
        ("select 'from b' from a -- from c\n/* from d */", ["a"]),
        ("select * from a lateral view explode(b) t as c", ["a"]),
        ("select * from a union all select * from b;", ["a", "b"]),
    ],
)
def test_the_views_that_a_query_reads_are_found(sql: str, names: list[str]) -> None:
    assert [each.name for each in reads(sql)] == names
    assert mistakes(sql) == []


@pytest.mark.parametrize(
    ("sql", "line", "column", "text"),
    [
        ("  ", 1, 1, "the query is empty"),
        ("-- nothing", 1, 1, "the query is empty"),
        (
            "selct 1",
            1,
            1,
            "a query begins with SELECT, WITH, FROM, VALUES or TABLE, not with 'selct'; did you "
            "mean 'SELECT'?",
        ),
        ("drop table a", 1, 1, "a query begins with SELECT, WITH, FROM, VALUES or TABLE, not with 'drop'"),
        ("select 1; select 2", 1, 9, "a step is one query: nothing may follow the ';'"),
        ("select\n  (1", 2, 3, "this '(' is never closed"),
        ("select 1)", 1, 9, "this ')' closes nothing"),
        ("select a[1) from b", 1, 11, "this ')' closes nothing"),
        ('select "a', 1, 8, "the text that begins here never ends"),
        ("select `a", 1, 8, "the name that begins here never ends"),
        ("select /* a", 1, 8, "the comment that begins here never ends"),
        ("select a,\nfrom b", 1, 9, "a comma before 'from'"),
        ("select a, b,", 1, 12, "a comma before the end"),
        ("select f(a,) from b", 1, 11, "a comma before ')'"),
    ],
)
def test_what_is_plainly_no_query_is_told_with_its_place(sql: str, line: int, column: int, text: str) -> None:
    found = mistakes(sql)
    assert [(each.line, each.column, each.text) for each in found] == [(line, column, text)]
