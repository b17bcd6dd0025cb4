//! Any text is compiled to a schema or refused, and any bytes are its rows or bad records, each with a reason.

#![no_main]

use arrow_array::{Array, BinaryArray};
use libfuzzer_sys::fuzz_target;
use tailfin_engine::arrow::avro::{Decoder, Framing};

const EVERYTHING: &str = r#"{"type": "record", "name": "R", "fields": [
    {"name": "a", "type": ["null", {"type": "array", "items": ["null", {"type": "record", "name": "I", "fields": [
        {"name": "b", "type": "boolean"}, {"name": "t", "type": ["string", "null"]},
        {"name": "m", "type": {"type": "map", "values": {"type": "map", "values": "bytes"}}}]}]}]},
    {"name": "e", "type": {"type": "enum", "name": "E", "symbols": ["A", "B"]}},
    {"name": "d", "type": {"type": "bytes", "logicalType": "decimal", "precision": 9, "scale": 2}},
    {"name": "f", "type": ["null", {"type": "fixed", "name": "F", "size": 3}]},
    {"name": "x", "type": "double"}]}"#;

fuzz_target!(|input: (&str, Vec<&[u8]>)| {
    let (schema, bodies) = input;
    for schema in [schema, EVERYTHING] {
        let Ok(decoder) = Decoder::new(schema, Framing::Plain) else { continue };
        let (rows, bad) = decoder.decode(&BinaryArray::from_vec(bodies.clone()));
        assert_eq!(rows.data_type(), &decoder.data_type());
        assert_eq!(rows.len(), bodies.len());
        assert_eq!(rows.null_count(), bad.len());
        assert!(bad.iter().all(|&(row, _)| rows.is_null(row)));
        rows.to_data().validate_full().unwrap();
    }
});
