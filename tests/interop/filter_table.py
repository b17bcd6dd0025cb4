"""Expressions and property sets that the official filter and Tailfin's are held against each other with."""

from itertools import product

VALUES = (
    "1", "2", "-1", "+3", "0", "-0", "00", "5", "10", "1.0", "1.5", "-1.5", ".5", "5.", "1e3", "1E-3",
    "1e400", "0.0",
    "-0.0", "0x1p3", "0x1.8p0", "0x10", "NaN", "-NaN", "nan", "Infinity", "-Infinity", "inf", "x", "X",
    "xy", "abc",
    "true", "TRUE", "tRuE", "false", "null", "NULL", " 2", "2 ", "\t2\n", "2147483647", "2147483648",
    "-2147483648",
    "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "1d", "1F", "1L",
    "1_0",
    "it's", "''", "%", "٣", "\uff11\uff12", "é", "\U0001d7d3", "日本", "a b", "--", "0x1p-1074",
    "0x1.fffffffffffff8p1023", "1e",
)  # fmt: skip
"""Texts that a property may have."""

SETS: tuple[dict[str, str], ...] = (
    {},
    *({"a": value} for value in VALUES),
    {"b": "x"},
    {"b": "1"},
    {"a": "1", "b": "1"},
    {"a": "1", "b": "1.0"},
    {"a": "1", "b": "2"},
    {"a": "2", "b": "1"},
    {"a": "x", "b": "x"},
    {"a": "x", "b": "1"},
    {"a": "1", "b": "x"},
    {"a": "-0.0", "b": "0.0"},
    {"a": "NaN", "b": "NaN"},
    {"a": "true", "b": "TRUE"},
    {"a": "9", "b": "10"},
    {"a": "1", "b": "2", "c": "3", "TAGS": "TagA", "KEYS": "k", "_x$1": "x", "A": "y"},
)

NUMBERS = ("0", "1", "2L", "3", "1.5", "1.0", ".5", "5.", "1E3", "2147483648", "-1", "+1", "- -2", "-1.5")
CONSTANTS = (*NUMBERS, "'x'", "'1'", "''", "TRUE", "FALSE")
TEXTS = ("'x'", "'X'", "'a'", "'1'", "''", "'''", "''''", "'é'", "'日'", "'b c'")

COMPARED = tuple(
    f"a {operator} {value}" for operator, value in product(("=", "<>"), (*CONSTANTS, "b", "NULL"))
) + tuple(
    f"a {operator} {value}"
    for operator, value in product((">", ">=", "<", "<="), (*NUMBERS, "b", "'x'", "TRUE", "NULL"))
)

TURNED = tuple(f"{value} {operator} a" for operator, value in product(("=", "<>", "<", ">="), CONSTANTS))

SEARCHED = tuple(
    f"a {word} {text}"
    for word, text in product(
        ("CONTAINS", "NOT CONTAINS", "STARTSWITH", "NOT STARTSWITH", "ENDSWITH", "NOT ENDSWITH"), TEXTS
    )
)

BOUNDED = tuple(
    f"a {word} {low} AND {high}"
    for word, (low, high) in product(
        ("BETWEEN", "NOT BETWEEN"),
        (
            ("1", "3"), ("3", "1"), ("1", "1"), ("-1", "1"), ("1", "-1"), ("1.5", "2"), ("2", "1.5"),
            ("1", "b"),
            ("b", "3"), ("b", "a"), ("'1'", "'3'"), ("TRUE", "FALSE"), ("NULL", "1"), ("1", "NULL"),
            ("1L", "2147483648"),
            ("0", "9223372036854775807"), ("-2", "- 1"), ("x", "y"), ("1", "'3'"),
        ),
    )
)  # fmt: skip

LISTED = (
    "a IN ('x')", "a IN ('x', 'y', '1')", "a NOT IN ('x')", "a NOT IN ('1','2','3','x','abc','true')",
    "a IN ('')",
    "a IN ('it''s')", "a IN ('é','日本')", "a IN ()", "a IN 'x'", "a IN (1)", "a IN ('x',)",
    "a IN ('x' 'y')", "a IN (x)",
    "a IN ('x'", "1 IN ('1')", "'x' IN ('x')", "TRUE IN ('x')", "(a) IN ('x')", "-a IN ('x')",
    "NOT a IN ('x')",
    "NOT (a IN ('x'))", "not a not in ('x')", "a IN ('x') = TRUE", "a IN ('x') IS NULL",
    "a NOT NOT IN ('x')",
    "(a = 1) IN ('x')", "a in('1','1','1')", "a IN ('x') IN ('y')", "a not  in\t(\n'2' ,'3' )",
)  # fmt: skip

NULLS = (
    "a IS NULL", "a IS NOT NULL", "NOT a IS NULL", "NOT (a IS NULL)", "a is null is null",
    "a IS NULL IS NOT NULL",
    "1 IS NULL", "'x' IS NOT NULL", "NULL IS NULL", "NULL IS NOT NULL", "NULL", "NOT NULL", "a IS",
    "a IS NOT", "a IS 1",
    "a IS NOT 1", "a IS TRUE", "-a IS NULL", "-1 IS NULL", "(a > 1) IS NULL", "a > 1 IS NULL", "a = NULL",
    "NULL = a",
    "NULL <> a", "NULL = NULL", "a IS NULL = TRUE", "a IS NULL = b IS NULL", "NULL AND a = '1'",
    "NULL OR a = '1'",
    "a = '1' AND NULL", "a = '1' OR NULL", "TRUE AND NULL", "FALSE AND NULL", "TRUE OR NULL",
    "FALSE OR NULL",
)  # fmt: skip

LOGIC = (
    "TRUE", "FALSE", "a", "NOT a", "NOT NOT a", "(a)", "((a))", "a AND b", "a OR b", "NOT TRUE",
    "not (false)",
    "a = '1' AND b = '1'", "a = '1' OR b = '1'", "a = '1' AND b = '1' OR a = 'x'",
    "a = 'x' OR a = '1' AND b = '2'",
    "(a = 'x' OR a = '1') AND b = '2'", "a > 1 AND b > 1", "a > 1 OR b > 1", "b > 1 OR a > 1",
    "b IS NULL OR a > 1",
    "a > 1 OR b IS NULL", "a = 'x' AND a > 1", "a <> 'x' AND a > 1", "a = 'x' OR a > 1",
    "NOT (a = '1' AND b = '1')",
    "NOT a = '1'", "NOT (a) = '1'", "NOT a > 1", "NOT 1", "NOT 'x'", "NOT -1", "NOT -a", "NOT (a > 1)",
    "1 AND a",
    "a AND 1", "'x' OR a", "-1 OR TRUE", "a OR -a", "TRUE AND TRUE AND FALSE OR TRUE", "a = '1' AND",
    "AND a", "a OR",
    "OR", "a AND OR b", "a = '1' = TRUE", "a = '1' = b", "a = b = c", "TRUE = TRUE", "TRUE = FALSE",
    "TRUE <> FALSE",
    "TRUE = 1", "TRUE = 'true'", "'true' = TRUE", "'x' = TRUE", "1 = TRUE", "1 = 1", "1 = 2", "1 = 1.0",
    "1 = '1'",
    "1 = 'x'", "'1' = 1", "'x' = 'x'", "1.5 = '1.5'", "2147483648 = '2147483648'", "1 < 2", "2 < 1",
    "1 < 1.5",
    "2147483648 > 1", "1 < 2147483648", "2147483648 > 1.5", "1.5 < 2147483648", "1 < 'x'", "'x' < 'y'",
    "TRUE < FALSE",
    "(a = 1) > 2", "(a > 1) = TRUE", "TRUE = (a > 1)", "(a > 1) = (b > 1)", "(a > 1) <> (b > 1)",
    "(a = '1') = 'true'",
    "a > 1 > 0", "a = 1 > 0", "(a = '1') = 1", "1 = (a = '1')", "(TRUE) = a", "(a) = (b)",
)  # fmt: skip

SIGNS = (
    "a = -1", "a = - 1", "a = --1", "a = --1\n", "a = +1", "a = + + 1", "a = -+-1", "-a = 1", "-a > 1",
    "-a < -a", "- - a = 1",
    "-'x' = 1", "-TRUE = 1", "-(a = '1') = 1", "-(1) = -1", "+a = 1", "+a", "-a", "+(a = '1')",
    "-(a = '1')", "a = -",
    "a = +", "-1 CONTAINS 'x'", "-9223372036854775808 = a", "a = -9223372036854775807", "a > -2147483648",
    "a = -1.5e1",
    "-1 = '-1'", "-a IS NULL", "a BETWEEN -a AND 1", "-a BETWEEN 1 AND 2", "-1.0 < 0", "-a CONTAINS '1'",
    "a + 1 > 2", "a - 1 > 2",
)  # fmt: skip

WRITTEN = (
    "", " ", "a=1", "a  =\t1\r\n", "a\x0c=\x0c1", "a\x0b= 1", "a\xa0= 1", "A = 'y'", "TAGS = 'TagA'",
    "_x$1 = 'x'", "$ = 1", "_ IS NULL",
    "é = 1", "a = 'x", "a = x'", "a = \"x\"", "a == 1", "a != 1", "a <> 1", "a < > 1", "a =< 1", "a => 1",
    "a > = 1", "a <= = 1", "a <=> 1",
    "a & b", "a || b", "a = 1;", "a = 1 ;", "a = 1 #", "a = 1 foo !", "a = 1 foo", "a = '1' 'x",
    "a = '1'b", "a = '1'''", "a = 1 1",
    "a = 1)", "(a = 1", "(a = 1))", "()", "(", ")", "a = (1)", "a = ('1')", "(a) > (1)", "a > (b)",
    "a = 1 -- c", "a = 1 -- c\n", "-- c\na = 1",
    "a = -- c\r1", "a /* c */ = 1", "a /* * / */ = 1", "a = 1 /*", "a = 1 /* x", "a = 1 /",
    "/**/a = 1/***/", "a = /*/ 1", "a /* '*/ = 1",
    "a = 012", "a = 12.", "a = 1.5.5", "a = 1e", "a = 1e+", "a = 1l", "a = 0L", "a = 00", "a = 0.0",
    "a = 0.", "a = .0", "a = 0e5", "a = 1.e1",
    "a = 01.5", "a = 1e308", "a = 1e309", "a = 1e-323", "a = 1e-324", "a = 9223372036854775807",
    "a = 9223372036854775808", "a > 99999999999999999999L",
    "a = 2147483647", "a = 2147483648", "a = 1x", "a = 0x10", "a = .", "a = 1..", "1a = 1", "a.b = 1",
    "a-b = 1", "a LIKE 'x%'", "a like 'x'",
    "a IN", "a NOT", "a NOT b", "a NOT = 1", "a NOT LIKE 'x'", "a BETWEEN", "a BETWEEN 1",
    "a BETWEEN 1 AND", "a BETWEEN 1 OR 2", "a BETWEEN 1, 2",
    "a BETWEEN 1 AND 2 AND b = '1'", "a BETWEEN 1 AND 2 = TRUE", "a BETWEEN 1 AND 3 BETWEEN 1 AND 2",
    "5 BETWEEN 1 AND 10", "5 BETWEEN 10 AND 1",
    "'5' BETWEEN 1 AND 10", "TRUE BETWEEN 1 AND 2", "(a = 1) BETWEEN 1 AND 2",
    "a NOT BETWEEN 1 AND 2 OR b = '1'", "a CONTAINS", "a CONTAINS x",
    "a CONTAINS 1", "a CONTAINS ('x')", "'abc' CONTAINS 'b'", "1 CONTAINS '1'", "TRUE CONTAINS 'T'",
    "NULL CONTAINS 'x'", "(a = '1') CONTAINS 'x'",
    "a CONTAINS 'x' CONTAINS 'y'", "a CONTAINS 'x' = TRUE", "(a CONTAINS 'x') = TRUE",
    "NOT a CONTAINS 'x'", "NOT (a CONTAINS 'x')", "a STARTSWITH x",
    "a ENDSWITH", "contains = 1", "between = 1", "nota = 1", "isnull = 1", "TRUEx = 1",
    "a And b Or Not c", "aNd", "select * from x",
    "a = 1 IS", "a = 1 NOT", "a = 1 IS NOT NULL", "a = '\\'", "a = '\n'", "a = 'x\x00y'", "\x00",
    "a = '😀'", "😀 = 1", "a = 'é'", "a = '٣'",
    "c = 3 AND b = 2 AND a = 1", "TAGS IN ('TagA') AND KEYS = 'k' AND c BETWEEN 1 AND 5",
    *("(" * depth + "a = '1'" + ")" * depth for depth in (1, 10, 100)),
    " OR ".join(f"a = '{number}'" for number in range(200)), " AND ".join(["a <> 'x'"] * 200),
    " AND ".join(f"p{number} IS NULL" for number in range(30)),
)  # fmt: skip

EXPRESSIONS = tuple(
    dict.fromkeys(
        (*COMPARED, *TURNED, *SEARCHED, *BOUNDED, *LISTED, *NULLS, *LOGIC, *SIGNS, *WRITTEN),
    )
)
"""All of them, each once."""
