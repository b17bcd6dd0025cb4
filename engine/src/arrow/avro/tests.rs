//! Bytes are written out by hand, from the specification; `tests/unit/spark` compares with another implementation.

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Int32Type, Int64Type, TimestampMicrosecondType};
use proptest::prelude::*;

use super::*;

fn record(fields: &str) -> String {
    format!(r#"{{"type": "record", "name": "R", "fields": [{fields}]}}"#)
}

/// A record of one field, `f`.
fn one(kind: &str) -> String {
    record(&format!(r#"{{"name": "f", "type": {kind}}}"#))
}

fn decoder(schema: &str) -> Decoder {
    Decoder::new(schema, Framing::Plain).unwrap_or_else(|bad| panic!("{schema}: {bad}"))
}

fn refused(schema: &str) -> String {
    Decoder::new(schema, Framing::Plain).expect_err(schema).to_string()
}

fn decoded(schema: &str, bodies: &[&[u8]]) -> (StructArray, Vec<(usize, String)>) {
    let (rows, bad) = decoder(schema).decode(&BinaryArray::from_vec(bodies.to_vec()));
    rows.to_data().validate_full().unwrap();
    assert_eq!(rows.len(), bodies.len());
    (rows, bad.into_iter().map(|(row, why)| (row, why.to_string())).collect())
}

/// Why the one body is bad.
fn reason(kind: &str, body: &[u8]) -> String {
    let (rows, bad) = decoded(&one(kind), &[body]);
    assert!(rows.is_null(0), "{body:?} is decoded");
    bad[0].1.clone()
}

#[test]
fn numbers_are_zigzag_varints_of_up_to_64_bits() {
    let bodies: [&[u8]; 6] =
        [&[0], &[1], &[2], &[0x7F], &[0x80, 1], &[0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1]];
    let (rows, bad) = decoded(&one(r#""long""#), &bodies);

    assert_eq!(bad, []);
    assert_eq!(rows.column(0).as_primitive::<Int64Type>().values(), &[0, -1, 1, -64, 64, i64::MIN]);
}

#[test]
fn numbers_that_are_too_long_or_too_large_are_bad() {
    let endless = [0xFF; 11];
    assert_eq!(reason(r#""long""#, &endless), "field f: a number has more than 64 bits");
    assert_eq!(reason(r#""long""#, &[0x80; 10]), "field f: a number has more than 64 bits");
    let two = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 2];
    assert_eq!(reason(r#""long""#, &two), "field f: a number has more than 64 bits");
    assert_eq!(
        reason(r#""int""#, &[0x80, 0x80, 0x80, 0x80, 0x10]),
        "field f: 2147483648 does not fit into 32 bits"
    );
    assert_eq!(reason(r#""long""#, &[0x80]), "field f: the body ends before it does");
}

#[test]
fn lengths_that_lie_are_bad() {
    assert_eq!(reason(r#""string""#, &[8, b'a']), "field f: its length is 4, and 1 bytes are left");
    assert_eq!(reason(r#""bytes""#, &[1]), "field f: its length is -1, and 0 bytes are left");
    let largest = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1];
    assert!(reason(r#""bytes""#, &largest).contains("its length is 9223372036854775807"));
    let fixed = r#"{"type": "fixed", "name": "F", "size": 4}"#;
    assert_eq!(reason(fixed, &[1, 2, 3]), "field f: the body ends before it does");
}

#[test]
fn values_out_of_their_range_are_bad() {
    assert_eq!(reason(r#""boolean""#, &[2]), "field f: a boolean is 0 or 1, not 2");
    assert_eq!(reason(r#""string""#, &[2, 0xFF]), "field f: its text is not UTF-8");
    assert_eq!(reason(r#"["null", "int"]"#, &[4]), "field f: there is no branch 2, only 2");
    assert_eq!(reason(r#"["int"]"#, &[2, 0]), "field f: there is no branch 1, only 1");
    let suit = r#"{"type": "enum", "name": "E", "symbols": ["A", "B"]}"#;
    assert_eq!(reason(suit, &[1]), "field f: there is no symbol -1, only 2");
    let time = r#"{"type": "int", "logicalType": "time-millis"}"#;
    assert_eq!(reason(time, &[1]), "field f: -1 is no time of a day");
    let millis = r#"{"type": "long", "logicalType": "timestamp-millis"}"#;
    let largest = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1];
    assert!(reason(millis, &largest).ends_with("ms are beyond all times"));
    let map = r#"{"type": "map", "values": "int"}"#;
    assert_eq!(reason(map, &[4, 2, b'a', 2, 2, b'a', 4, 0]), "field f: a map has a key twice");
}

#[test]
fn bytes_behind_the_datum_are_bad() {
    assert_eq!(reason(r#""int""#, &[2, 2, 2]), "2 bytes are left behind the datum");
}

#[test]
fn a_bad_body_spoils_no_other_and_leaves_nothing_behind() {
    let inner = r#"{"type": "record", "name": "I", "fields": [
        {"name": "t", "type": "string"}, {"name": "m", "type": {"type": "map", "values": ["null", "boolean"]}}]}"#;
    let schema = record(&format!(
        r#"{{"name": "a", "type": {{"type": "array", "items": {inner}}}}}, {{"name": "n", "type": "int"}}"#
    ));
    let good: &[u8] = &[2, 2, b'x', 2, 2, b'k', 2, 1, 0, 0, 14];
    let bodies: Vec<&[u8]> = (0..good.len()).map(|cut| &good[..cut]).chain([good]).collect();

    for (row, cut) in bodies.iter().enumerate() {
        let (rows, bad) = decoded(&schema, &[good, cut, good]);

        let is_whole = row == good.len();
        assert_eq!(bad.len(), usize::from(!is_whole), "{cut:?}");
        assert_eq!(rows.is_null(1), !is_whole);
        assert_eq!(rows.slice(0, 1), rows.slice(2, 1));
        let inner = rows.column(0).as_list::<i32>().value(2);
        assert_eq!(inner.as_struct().column(0).as_string::<i32>().value(0), "x");
    }
    let reason = &decoded(&schema, &[&good[..6]]).1[0].1;
    assert_eq!(reason, "field a.m: the body ends before it does");
}

#[test]
fn arrays_come_in_blocks_with_or_without_their_size() {
    let schema = one(r#"{"type": "array", "items": "int"}"#);
    let (rows, bad) = decoded(&schema, &[&[4, 2, 4, 0], &[3, 4, 2, 4, 2, 6, 0], &[0]]);

    assert_eq!(bad, []);
    let lists = rows.column(0).as_list::<i32>();
    let values = |row| lists.value(row).as_primitive::<Int32Type>().values().to_vec();
    assert_eq!([values(0), values(1), values(2)], [vec![1, 2], vec![1, 2, 3], vec![]]);
}

#[test]
fn blocks_of_more_items_than_bytes_are_bad_before_anything_is_made() {
    let array = r#"{"type": "array", "items": "int"}"#;
    assert_eq!(reason(array, &[6, 2, 2]), "field f: a block has 3 items, and 2 bytes are left");
    let most_negative = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0];
    assert!(reason(array, &most_negative).contains("a block has 9223372036854775808 items"));
}

#[test]
fn nulls_that_stand_for_many_columns_are_bounded() {
    let wide: Vec<_> = (0..1000).map(|n| format!(r#"{{"name": "c{n}", "type": "long"}}"#)).collect();
    let wide = format!(r#"["null", {{"type": "record", "name": "W", "fields": [{}]}}]"#, wide.join(","));
    let array = format!(r#"{{"type": "array", "items": {wide}}}"#);
    // 1000 nulls of 1000 columns.
    let mut body = vec![0xD0, 0x0F];
    body.extend([0; 1001]);

    assert_eq!(reason(&array, &body), "field f: it grows to many times its size");
    let (rows, bad) = decoded(&one(&wide), &[&[0], &[0]]);
    assert_eq!((bad, rows.column(0).null_count()), (vec![], 2));
}

#[test]
fn symbols_that_are_longer_than_their_numbers_are_bounded() {
    let schema = format!(r#"{{"type": "enum", "name": "E", "symbols": ["{}"]}}"#, "A".repeat(10_000));
    let array = format!(r#"{{"type": "array", "items": {schema}}}"#);
    let mut body = vec![0xD0, 0x0F];
    body.extend([0; 1001]);

    assert_eq!(reason(&array, &body), "field f: it grows to many times its size");
}

#[test]
fn logical_types_are_columns_of_their_own() {
    let schema = record(
        r#"{"name": "day", "type": {"type": "int", "logicalType": "date"}},
           {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
           {"name": "local", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
           {"name": "price", "type": {"type": "bytes", "logicalType": "decimal", "precision": 5, "scale": 2}},
           {"name": "id", "type": {"type": "string", "logicalType": "uuid"}}"#,
    );
    let (rows, bad) = decoded(&schema, &[&[2, 2, 2, 4, 0xFF, 0x85, 2, b'u']]);

    assert_eq!(bad, []);
    assert_eq!(rows.column(0).as_primitive::<Date32Type>().value(0), 1);
    assert_eq!(rows.column(1).as_primitive::<TimestampMicrosecondType>().value(0), 1000);
    assert_eq!(rows.column(1).as_primitive::<TimestampMicrosecondType>().timezone(), Some("UTC"));
    assert_eq!(rows.column(2).as_primitive::<TimestampMicrosecondType>().timezone(), None);
    assert_eq!(rows.column(3).as_primitive::<Decimal128Type>().value_as_string(0), "-1.23");
    assert_eq!(rows.column(4).as_string::<i32>().value(0), "u");
}

#[test]
fn decimals_have_the_digits_that_the_schema_allows() {
    let two = r#"{"type": "bytes", "logicalType": "decimal", "precision": 2}"#;
    let values = |bodies: &[&[u8]]| {
        let (rows, bad) = decoded(&one(two), bodies);
        assert_eq!(bad, []);
        rows.column(0).as_primitive::<Decimal128Type>().values().to_vec()
    };
    let long: Vec<u8> = [40].into_iter().chain([0xFF; 20]).collect();

    assert_eq!(values(&[&[2, 99], &[2, 0x9D], &[4, 0, 7], &long]), [99, -99, 7, -1]);
    for body in [&[2, 100][..], &[2, 0x9C], &[34, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]] {
        assert_eq!(reason(two, body), "field f: a decimal has more than 2 digits");
    }
    assert_eq!(reason(two, &[0]), "field f: a decimal has no bytes");
}

#[test]
fn logical_types_that_do_not_fit_are_left_out_of_account() {
    let kinds = [
        (r#"{"type": "string", "logicalType": "date"}"#, DataType::Utf8),
        (r#"{"type": "bytes", "logicalType": "decimal", "precision": 2, "scale": 3}"#, DataType::Binary),
        (r#"{"type": "bytes", "logicalType": "decimal"}"#, DataType::Binary),
        (
            r#"{"type": "fixed", "name": "F", "size": 1, "logicalType": "decimal", "precision": 3}"#,
            DataType::Binary,
        ),
        (
            r#"{"type": "fixed", "name": "F", "size": 2, "logicalType": "decimal", "precision": 4}"#,
            DataType::Decimal128(4, 0),
        ),
        (
            r#"{"type": "fixed", "name": "F", "size": 16, "logicalType": "decimal", "precision": 38}"#,
            DataType::Decimal128(38, 0),
        ),
        (r#"{"type": "int", "logicalType": "of-mine"}"#, DataType::Int32),
    ];
    for (kind, wanted) in kinds {
        let DataType::Struct(fields) = decoder(&one(kind)).data_type() else { panic!() };
        assert_eq!(fields[0].data_type(), &wanted, "{kind}");
    }
}

#[test]
fn names_are_resolved_in_their_namespaces() {
    let schema = r#"{"type": "record", "name": "a.R", "fields": [
        {"name": "x", "type": {"type": "fixed", "name": "F", "size": 1}},
        {"name": "y", "type": "a.F"},
        {"name": "z", "type": {"type": "record", "name": "S", "namespace": "b", "fields": [
            {"name": "g", "type": {"type": "fixed", "name": "F", "size": 2}}, {"name": "h", "type": "F"}]}},
        {"name": "last", "type": "F"}]}"#;
    let (rows, bad) = decoded(schema, &[&[1, 2, 3, 4, 5, 6, 7]]);

    assert_eq!(bad, []);
    assert_eq!(rows.column(2).as_struct().column(1).as_binary::<i32>().value(0), [5, 6]);
    assert_eq!(rows.column(3).as_binary::<i32>().value(0), [7]);
}

#[test]
fn schemas_that_are_no_columns_are_refused_with_what_is_wrong() {
    let cases = [
        (r#""int""#.to_owned(), "it is no record"),
        (
            r#"["null", {"type": "record", "name": "R", "fields": [{"name": "f", "type": "int"}]}]"#
                .to_owned(),
            "it is no record",
        ),
        (record(""), "record R has no fields"),
        (one(r#""null""#), "field f: null alone is no column"),
        (one(r#"["int", "string"]"#), "field f: a union of several types is no column"),
        (one(r#"["null", "int", "string"]"#), "field f: a union of several types is no column"),
        (one(r#"["null", "null"]"#), "field f: null alone is no column"),
        (one("[]"), "field f: a union of several types is no column"),
        (one(r#"["null", ["int"]]"#), "field f: a union may not hold a union"),
        (one(r#"["null", "R"]"#), "field f: R contains itself"),
        (one(r#"{"type": "array", "items": "R"}"#), "field f: R contains itself"),
        (one(r#""X""#), "field f: there is no type X"),
        (
            one(r#"{"type": "fixed", "name": "F", "size": 0}"#),
            "field f: fixed F needs a \"size\" of 1 or more",
        ),
        (
            one(r#"{"type": "enum", "name": "E", "symbols": []}"#),
            "field f: enum E needs a list of \"symbols\"",
        ),
        (one(r#"{"type": "enum", "name": "E", "symbols": ["a b"]}"#), "each a name"),
        (one(r#"{"type": "array"}"#), "field f: the array has no \"items\""),
        (one(r#"{"type": "fixed", "name": "int", "size": 1}"#), "\"int\" is no name for a type"),
        (one(r#"{"type": "fixed", "name": "R", "size": 1}"#), "there are two types R"),
        (
            one(r#"{"type": "long", "logicalType": "timestamp-nanos"}"#),
            "field f: Spark's timestamps have no nanoseconds",
        ),
        (
            one(r#"{"type": "bytes", "logicalType": "decimal", "precision": 39}"#),
            "field f: Spark's decimals have up to 38",
        ),
        (one("7"), "field f: 7 is no type of Avro"),
        (one("{}"), "field f: a type is missing"),
        (record(r#"{"name": "f"}"#), "field f: it has no type"),
        (record(r#"{"type": "int"}"#), "a field has no name"),
        (record(r#"{"name": "a-b", "type": "int"}"#), "\"a-b\" is no name for a field"),
        (
            record(r#"{"name": "f", "type": "int"}, {"name": "f", "type": "int"}"#),
            "record R has two fields f",
        ),
        ("id bigint".to_owned(), "it is no JSON: a value is expected at character 1"),
        (r#"{"type": "record""#.to_owned(), "it is no JSON: '}' is expected at character 18"),
        ("[".repeat(1000), "its JSON is nested more than 128 levels deep"),
    ];
    for (schema, says) in cases {
        let found = refused(&schema);
        assert!(found.contains(says), "{schema}: {found}");
    }
}

#[test]
fn names_that_stand_for_ever_more_columns_are_refused() {
    let mut fields = vec![r#"{"name": "r0", "type": {"type": "record", "name": "R0", "fields": [{"name": "f", "type": "int"}]}}"#.to_owned()];
    for level in 1..20 {
        let below = format!(r#""R{}""#, level - 1);
        fields.push(format!(
            r#"{{"name": "r{level}", "type": {{"type": "record", "name": "R{level}", "fields": [
                {{"name": "a", "type": {below}}}, {{"name": "b", "type": {below}}}]}}}}"#
        ));
    }
    assert!(refused(&record(&fields.join(","))).contains("it has more than 4096 columns"));

    let deep =
        (0..25).fold(r#""int""#.to_owned(), |items, _| format!(r#"{{"type": "array", "items": {items}}}"#));
    assert!(refused(&one(&deep)).contains("it is nested more than 24 levels deep"));
}

#[test]
fn single_objects_begin_with_the_fingerprint_of_the_canonical_form() {
    let schema = r#"{"fields": [{"type": {"type": "string"}, "doc": "all", "name": "foobar"}],
        "name": "Example", "type": "record"}"#;
    let decoder = Decoder::new(schema, Framing::SingleObject).unwrap();
    let reasons = |body: &[u8]| {
        let (_, bad) = decoder.decode(&BinaryArray::from_vec(vec![body]));
        bad.first().map(|(_, why)| why.to_string())
    };
    // Of {"name":"Example","type":"record","fields":[{"name":"foobar","type":"string"}]}, by other implementations.
    let body = [0xC3, 0x01, 0xB7, 0x5D, 0x6F, 0x7D, 0xA2, 0x38, 0xCF, 0x70, 2, b'a'];

    assert_eq!(reasons(&body), None);
    assert!(
        reasons(&[0xC3, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 2, b'a'])
            .unwrap()
            .contains("fingerprint 0000000000000000")
    );
    assert!(reasons(&[2, b'a']).unwrap().contains("it does not begin with C3 01"));
}

#[test]
fn a_registry_s_frame_is_taken_off() {
    let decoder = Decoder::new(&one(r#""int""#), Framing::Confluent).unwrap();
    let bodies: Vec<&[u8]> = vec![&[0, 0, 0, 0, 7, 2], &[1, 0, 0, 0, 7, 2], &[0, 0, 0, 0]];
    let (rows, bad) = decoder.decode(&BinaryArray::from_vec(bodies));

    assert_eq!(rows.column(0).as_primitive::<Int32Type>().value(0), 1);
    assert_eq!(bad.iter().map(|each| each.0).collect::<Vec<_>>(), [1, 2]);
}

const EVERYTHING: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "a", "type": ["null", {"type": "array", "items": ["null", {"type": "record", "name": "I", "fields": [
        {"name": "b", "type": "boolean"}, {"name": "t", "type": ["string", "null"]},
        {"name": "m", "type": {"type": "map", "values": {"type": "map", "values": "bytes"}}}]}]}]},
    {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
    {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "f", "type": ["null", {"type": "fixed", "name": "F", "size": 3}]},
    {"name": "x", "type": "double"}]}"#;

proptest! {
    #[test]
    fn any_bytes_are_rows_or_reasons(bodies in prop::collection::vec(prop::collection::vec(prop_oneof![0..8_u8, any::<u8>()], 0..40), 0..8)) {
        let bodies: Vec<&[u8]> = bodies.iter().map(Vec::as_slice).collect();
        let (rows, bad) = decoded(EVERYTHING, &bodies);
        for row in 0..bodies.len() {
            prop_assert_eq!(rows.is_null(row), bad.iter().any(|each| each.0 == row));
        }
    }

    #[test]
    fn any_text_is_a_schema_or_refused(text in ".{0,40}", cut in 0..EVERYTHING.len(), put in "[\\[\\]{}\",:a1\\\\]{0,3}") {
        let _ = Decoder::new(&text, Framing::Plain);
        let _ = Decoder::new(&format!("{}{put}{}", &EVERYTHING[..cut], &EVERYTHING[cut..]), Framing::Plain);
    }
}
