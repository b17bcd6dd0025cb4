//! Bodies of Avro to columns: each body is one datum, and one that is none spoils no other.
//!
//! - `schema` compiles a schema to a plan, with its fingerprint; `json` reads the text it is written in
//! - `framing` is what stands before a datum
//! - `reader` reads the values of a datum; nothing that it says is believed before it is seen
//! - `column` collects them: a row of a bad body is taken back out

mod bad;
mod column;
mod decimal;
mod framing;
mod json;
mod reader;
mod schema;

use arrow_array::cast::AsArray;
use arrow_array::{Array, BinaryArray, StructArray};
use arrow_schema::DataType;

pub use bad::Bad;
pub use framing::Framing;

use column::Column;
use framing::Frame;
use reader::Reader;
use schema::{Kind, Schema};

/// A schema, ready to decode bodies.
#[derive(Debug)]
pub struct Decoder {
    record: Kind,
    frame: Frame,
}

impl Decoder {
    /// Compiles a schema, which is a record, from its JSON.
    pub fn new(schema: &str, framing: Framing) -> Result<Self, Bad> {
        let Schema { record, fingerprint } = Schema::parse(schema)?;
        Ok(Self { record, frame: Frame::new(framing, fingerprint) })
    }

    /// The struct that bodies are decoded to.
    pub fn data_type(&self) -> DataType {
        self.record.data_type()
    }

    /// A row for each body, null for a bad one; and which are bad, and why.
    pub fn decode(&self, bodies: &BinaryArray) -> (StructArray, Vec<(usize, Bad)>) {
        let mut rows = Column::new(&self.record);
        let mut bad = Vec::new();
        for row in 0..bodies.len() {
            if let Err(why) = self.push(&mut rows, bodies.value(row)) {
                rows.truncate(row);
                rows.push_null();
                bad.push((row, why));
            }
        }
        (rows.finish().as_struct().clone(), bad)
    }

    fn push(&self, rows: &mut Column, body: &[u8]) -> Result<(), Bad> {
        let mut datum = Reader::new(self.frame.datum(body)?);
        rows.push(&mut datum)?;
        datum.end()
    }
}

#[cfg(test)]
mod tests;
