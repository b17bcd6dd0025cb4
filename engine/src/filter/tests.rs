//! What expressions mean. The same questions and many more are put to the official artifact in `tests/interop`.

use proptest::prelude::*;

use super::*;

fn text(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in pairs {
        properties::push(&mut text, name.as_bytes(), value.as_bytes());
    }
    text
}

fn judged(expression: &str, pairs: &[(&str, &str)]) -> Result<Option<bool>, Unconvertible> {
    SqlFilter::compile(expression).unwrap_or_else(|bad| panic!("{expression}: {bad}")).evaluate(&text(pairs))
}

fn refused(expression: &str) -> BadExpression {
    SqlFilter::compile(expression).expect_err(expression)
}

const YES: Result<Option<bool>, Unconvertible> = Ok(Some(true));
const NO: Result<Option<bool>, Unconvertible> = Ok(Some(false));
const NULL: Result<Option<bool>, Unconvertible> = Ok(None);
const FAILS: Result<Option<bool>, Unconvertible> = Err(Unconvertible);

// shows: FI-02
#[test]
fn one_property_is_judged_by_each_form() {
    let values = [None, Some("2"), Some("x"), Some("abc"), Some("true")];
    let table = [
        ("a > 1", [NULL, YES, FAILS, FAILS, FAILS]),
        ("a <> 1", [NULL, YES, FAILS, FAILS, FAILS]),
        ("a IS NULL", [YES, NO, NO, NO, NO]),
        ("NOT (a = 'x')", [NULL, YES, NO, YES, YES]),
        ("a IN ('x','y')", [NULL, NO, YES, NO, NO]),
        ("a NOT IN ('x')", [NULL, YES, NO, YES, YES]),
        ("a BETWEEN 1 AND 3", [NULL, YES, FAILS, FAILS, FAILS]),
        ("a NOT BETWEEN 3 AND 1", [NULL, YES, FAILS, FAILS, FAILS]),
        ("a CONTAINS 'b'", [NO, NO, NO, YES, NO]),
        ("a NOT CONTAINS 'b'", [NO, YES, YES, NO, YES]),
        ("a STARTSWITH 'a'", [NO, NO, NO, YES, NO]),
        ("a NOT ENDSWITH 'c'", [NO, YES, YES, NO, YES]),
        ("a CONTAINS ''", [NO, NO, NO, NO, NO]),
        ("a = 1.5", [NULL, NO, FAILS, FAILS, FAILS]),
        ("a = TRUE", [NULL, NO, NO, NO, YES]),
        ("TRUE = a", [NO, FAILS, FAILS, FAILS, FAILS]),
        ("a", [NULL, NO, NO, NO, NO]),
        ("a >= 5 OR b = '1'", [NULL, NULL, FAILS, FAILS, FAILS]),
        ("b IS NULL OR a > 1", [YES, YES, YES, YES, YES]),
        ("a = b", [YES, NO, NO, NO, NO]),
        ("b = a", [YES, NULL, NULL, NULL, NULL]),
        ("-a = 1", [NULL, NULL, NULL, NULL, NULL]),
    ];
    for (expression, expected) in table {
        for (value, expected) in values.iter().zip(expected) {
            let pairs: Vec<_> = value.map(|value| ("a", value)).into_iter().collect();
            assert_eq!(judged(expression, &pairs), expected, "{expression} of {value:?}");
        }
    }
}

#[test]
fn numbers_keep_their_java_types() {
    assert_eq!(judged("a > 1", &[("a", "3000000000")]), FAILS, "an int is asked for");
    assert_eq!(judged("a > 3000000000", &[("a", "3000000001")]), YES);
    assert_eq!(judged("a > 1.5", &[("a", "3000000000")]), YES);
    assert_eq!(judged("a > b", &[("a", "1e3"), ("b", " 0x1p3 ")]), YES, "two texts are ordered as doubles");
    assert_eq!(judged("a = b", &[("a", "1.0"), ("b", "1")]), NO, "and are equal as texts");
    assert_eq!(judged("1 = 1.0 AND -1 < 1 AND 5 BETWEEN - -1 AND +9000000000", &[]), YES);
    assert_eq!(judged("'5' = 5 AND 5 = '5' AND 1 <> TRUE", &[]), YES);
}

#[test]
fn what_follows_the_first_whole_expression_is_not_read() {
    for (expression, unread) in
        [("a = '2' foo !", "foo !"), ("a LIKE 'x%'", "LIKE 'x%'"), ("a = 012", "12"), ("a > 1)", ")")]
    {
        assert_eq!(SqlFilter::compile(expression).unwrap().unread(), Some(unread));
    }
    assert_eq!(SqlFilter::compile("a > 1 /* all */ ").unwrap().unread(), None);
    assert_eq!(refused("a = 1 #").position, 7, "but the word after it must be one");
}

#[test]
fn a_refusal_says_where() {
    let table = [
        ("", 1, "a value should stand here, not the end"),
        ("1", 1, "neither true nor false"),
        ("a > 'b'", 5, "only numbers"),
        ("a = 'x' AND", 12, "not the end"),
        ("(a = 'x'", 9, "\")\" should stand here"),
        ("a == 1", 4, "not \"=\""),
        ("a != 1", 3, "'!' has no meaning"),
        ("a BETWEEN 3 AND 1", 11, "lower bound"),
        ("a IN ()", 7, "a text in single quotes"),
        ("not a in ('2')", 1, "only a property"),
        ("a = null", 5, "IS NULL"),
        ("TRUE = 1", 8, "no TRUE or FALSE"),
        ("a = 'x", 5, "closing quote"),
        ("a > 99999999999999999999", 5, "too large"),
        ("a = 0.0", 5, "too small"),
        ("a = 1e999", 5, "too large"),
        ("a IS 5", 6, "\"NULL\" should stand here"),
        ("a NOT 5", 7, "BETWEEN, IN"),
        ("ä = 1", 1, "'ä' has no meaning"),
        ("b AND a /* x", 9, "comment without an end"),
    ];
    for (expression, position, what) in table {
        let bad = refused(expression);
        assert_eq!(bad.position, position, "{expression}: {bad}");
        assert!(bad.what.contains(what), "{expression}: {bad}");
    }
}

#[test]
fn depth_is_limited_and_length_is_not() {
    let nested = |levels: usize| format!("{}a = '1'{}", "(".repeat(levels), ")".repeat(levels));
    assert!(SqlFilter::compile(&nested(200)).is_ok());
    for (deep, levels) in [("(", 100_000), ("- ", 100_000), ("NOT ", 100_000), ("+", 100_000)] {
        assert!(refused(&deep.repeat(levels)).what.contains("levels"));
    }
    for step in [" = TRUE", " IS NULL", " CONTAINS 'x'"] {
        assert!(refused(&format!("a = '1'{}", step.repeat(10_000))).what.contains("levels"));
    }
    let long = vec!["a = '1'"; 10_000].join(" OR ");
    assert_eq!(SqlFilter::compile(&long).unwrap().evaluate(&text(&[("a", "2")])), NO);
}

#[test]
fn the_later_of_two_values_counts_and_many_names_have_room() {
    assert_eq!(judged("a = 'y'", &[("a", "x"), ("a", "y")]), YES);
    let names: Vec<String> = (0..20).map(|index| format!("n{index}")).collect();
    let expression: Vec<String> = names.iter().map(|name| format!("{name} = '{name}'")).collect();
    let pairs: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), name.as_str())).collect();
    assert_eq!(judged(&expression.join(" AND "), &pairs), YES);
    assert_eq!(judged(&expression.join(" AND "), &pairs[1..]), NULL);
}

#[test]
fn bytes_that_are_no_text_are_judged_as_java_decodes_them() {
    let filter = SqlFilter::compile("a = '\u{fffd}'").unwrap();
    assert!(filter.matches(b"a\x01\xff\x02"));
}

proptest! {
    #[test]
    fn any_text_is_compiled_or_refused(expression in ".{0,60}", value in ".{0,8}") {
        if let Ok(filter) = SqlFilter::compile(&expression) {
            let _ = filter.evaluate(&text(&[("a", &value)]));
        }
    }

    #[test]
    fn any_words_are_compiled_or_refused(
        words in prop::collection::vec(prop::sample::select(vec![
            "a", "b", "1", "2L", "1.5", "'x'", "TRUE", "NULL", "=", "<>", ">", "<=", "(", ")", ",", "-", "+",
            "AND", "OR", "NOT", "IN", "IS", "BETWEEN", "CONTAINS", "STARTSWITH", "ENDSWITH",
        ]), 0..12),
        value in "[0-9a-z.]{1,4}",
    ) {
        if let Ok(filter) = SqlFilter::compile(&words.join(" ")) {
            let _ = filter.evaluate(&text(&[("a", &value)]));
        }
    }
}
