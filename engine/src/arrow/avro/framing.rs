//! What stands before a datum.

use super::bad::Bad;

/// How bodies begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// With the datum itself.
    Plain,
    /// With Avro's own marker and the fingerprint of the writer's schema.
    SingleObject,
    /// With a zero byte and the number that a schema registry gave the writer's schema.
    Confluent,
}

impl Framing {
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "plain" => Some(Self::Plain),
            "single-object" => Some(Self::SingleObject),
            "confluent" => Some(Self::Confluent),
            _ => None,
        }
    }
}

const SINGLE_OBJECT: [u8; 2] = [0xC3, 0x01];
const CONFLUENT: u8 = 0;
const FINGERPRINT_BYTES: usize = 8;
const SCHEMA_ID_BYTES: usize = 4;

/// The beginning of each body of one schema.
#[derive(Debug)]
pub struct Frame {
    framing: Framing,
    fingerprint: u64,
}

impl Frame {
    pub fn new(framing: Framing, fingerprint: u64) -> Self {
        Self { framing, fingerprint }
    }

    /// The datum of a body.
    pub fn datum<'a>(&self, body: &'a [u8]) -> Result<&'a [u8], Bad> {
        match self.framing {
            Framing::Plain => Ok(body),
            Framing::SingleObject => self.single_object(body),
            // Nobody is asked which schema the number stands for.
            Framing::Confluent => body
                .strip_prefix(&[CONFLUENT])
                .and_then(|rest| rest.get(SCHEMA_ID_BYTES..))
                .ok_or(Bad::new("it does not begin with 0 and the four bytes of a schema's number")),
        }
    }

    fn single_object<'a>(&self, body: &'a [u8]) -> Result<&'a [u8], Bad> {
        let (fingerprint, datum) = body
            .strip_prefix(&SINGLE_OBJECT)
            .and_then(<[u8]>::split_first_chunk::<FINGERPRINT_BYTES>)
            .ok_or(Bad::new("it does not begin with C3 01 and the eight bytes of a schema's fingerprint"))?;
        let written = u64::from_le_bytes(*fingerprint);
        if written == self.fingerprint {
            return Ok(datum);
        }
        let ours = self.fingerprint;
        Err(Bad::new(format!(
            "it was written with a schema of fingerprint {written:016x}; the given one has {ours:016x}"
        )))
    }
}
