//! The ROCKETMQ binary header. Every length is checked against what is there before it is believed.

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

use super::frame::Malformed;
use super::header::{FIELDS_MAX, Header, Language};
use super::text::{Field, Text};

const FIELDS_EXPECTED: usize = 16;
const SHORT: Malformed = Malformed("a length in the binary header goes beyond its end");

pub fn decode<'a>(bytes: &'a [u8], bump: &'a Bump) -> Result<Header<'a>, Malformed> {
    let mut reader = Reader(bytes);
    let mut header = Header {
        code: i32::from(reader.short()?),
        language: Language::numbered(reader.array::<1>()?[0]),
        version: i32::from(reader.short()?),
        opaque: reader.int()?,
        flag: reader.int()?,
        ..Header::default()
    };
    let remark = reader.text32()?;
    header.remark = (!remark.is_empty()).then_some(remark);
    let fields_len = reader.int()?;
    let mut fields = Reader(reader.bytes(fields_len)?);
    if !fields.0.is_empty() {
        let mut found = BumpVec::with_capacity_in(FIELDS_EXPECTED, bump);
        while !fields.0.is_empty() {
            let key_len = i32::from(fields.short()?);
            let (key, value) = (fields.text(key_len)?, fields.text32()?);
            if found.len() == FIELDS_MAX {
                return Err(Malformed("the header has too many fields"));
            }
            // An empty key or value is null to Java, and a null entry does not count.
            if !key.is_empty() && !value.is_empty() {
                found.push(Field { key, value });
            }
        }
        header.fields = found.into_bump_slice();
    }
    Ok(header)
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (front, rest) = self.0.split_first_chunk::<N>().ok_or(SHORT)?;
        self.0 = rest;
        Ok(*front)
    }

    #[inline]
    fn short(&mut self) -> Result<i16, Malformed> {
        self.array().map(i16::from_be_bytes)
    }

    #[inline]
    fn int(&mut self) -> Result<i32, Malformed> {
        self.array().map(i32::from_be_bytes)
    }

    #[inline]
    fn bytes(&mut self, len: i32) -> Result<&'a [u8], Malformed> {
        let len = usize::try_from(len).map_err(|_| SHORT)?;
        let (front, rest) = self.0.split_at_checked(len).ok_or(SHORT)?;
        self.0 = rest;
        Ok(front)
    }

    #[inline]
    fn text(&mut self, len: i32) -> Result<Text<'a>, Malformed> {
        let bytes = self.bytes(len)?;
        str::from_utf8(bytes).map(Text::plain).map_err(|_| Malformed("the header is not UTF-8"))
    }

    #[inline]
    fn text32(&mut self) -> Result<Text<'a>, Malformed> {
        let len = self.int()?;
        self.text(len)
    }
}
