//! The header of a frame, read no further than needed, in both encodings.

use std::sync::LazyLock;

use memchr::memmem::{self, Finder};

const JSON: u8 = 0;
const BINARY: u8 = 1;
/// Length, encoding and header length.
pub const PREFIX_BYTES: usize = 8;
/// Up to the length of the remark.
const BINARY_FIXED_BYTES: usize = 2 + 1 + 2 + 4 + 4 + 4;
const RESPONSE: i32 = 1;

// Made once: making one costs more than a search through a header.
static CODE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"code\":"));
static OPAQUE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"opaque\":"));
static FLAG: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"flag\":"));
static REMARK: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new("\"remark\":\""));

/// A complete frame: what stands behind its length field.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub code: i32,
    pub opaque: i32,
    pub flag: i32,
    pub binary: bool,
    header: &'a [u8],
    pub body: &'a [u8],
}

impl<'a> Frame<'a> {
    /// Read a frame without its length field.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, &'static str> {
        let (kind, rest) = bytes.split_first_chunk::<4>().ok_or("a frame without a header")?;
        let length = u32::from_be_bytes([0, kind[1], kind[2], kind[3]]) as usize;
        let (header, body) = rest.split_at_checked(length).ok_or("a header longer than its frame")?;
        match kind[0] {
            JSON => Self::of_json(header, body).ok_or("a JSON header without code or opaque"),
            BINARY => Self::of_binary(header, body).ok_or("a binary header that is cut"),
            _ => Err("a header of an unknown encoding"),
        }
    }

    /// A name in quotes followed by a colon is a key: inside of a text its quotes would be escaped.
    fn of_json(header: &'a [u8], body: &'a [u8]) -> Option<Self> {
        let code = number(after(header, &CODE)?)?;
        let opaque = number(after(header, &OPAQUE)?)?;
        let flag = after(header, &FLAG).and_then(number).unwrap_or(0);
        Some(Self {
            code: code as i32,
            opaque: opaque as i32,
            flag: flag as i32,
            binary: false,
            header,
            body,
        })
    }

    fn of_binary(header: &'a [u8], body: &'a [u8]) -> Option<Self> {
        let fixed = header.first_chunk::<BINARY_FIXED_BYTES>()?;
        Some(Self {
            code: i32::from(i16::from_be_bytes([fixed[0], fixed[1]])),
            opaque: i32::from_be_bytes([fixed[5], fixed[6], fixed[7], fixed[8]]),
            flag: i32::from_be_bytes([fixed[9], fixed[10], fixed[11], fixed[12]]),
            binary: true,
            header,
            body,
        })
    }

    pub fn is_response(&self) -> bool {
        self.flag & RESPONSE != 0
    }

    /// A number among the `extFields`.
    pub fn number(&self, name: &str) -> Option<i64> {
        number(self.field(name)?)
    }

    /// From a field's value to the end of the header.
    fn field(&self, name: &str) -> Option<&'a [u8]> {
        if self.binary {
            return self.binary_field(name.as_bytes());
        }
        let at = memmem::find_iter(self.header, name.as_bytes()).find_map(|at| {
            let rest = &self.header[at + name.len()..];
            (at > 0 && self.header[at - 1] == b'"').then(|| rest.strip_prefix(b"\":"))?
        })?;
        Some(at.strip_prefix(b"\"").unwrap_or(at))
    }

    fn binary_field(&self, name: &[u8]) -> Option<&'a [u8]> {
        let (_, rest) = self.binary_remark()?;
        let (_, mut rest) = rest.split_first_chunk::<4>()?;
        while let Some((length, after)) = rest.split_first_chunk::<2>() {
            let (key, after) = after.split_at_checked(u16::from_be_bytes(*length) as usize)?;
            let (length, after) = after.split_first_chunk::<4>()?;
            let (value, after) = after.split_at_checked(u32::from_be_bytes(*length) as usize)?;
            if key == name {
                return Some(value);
            }
            rest = after;
        }
        None
    }

    fn binary_remark(&self) -> Option<(&'a [u8], &'a [u8])> {
        let (fixed, rest) = self.header.split_at_checked(BINARY_FIXED_BYTES)?;
        let length = u32::from_be_bytes(*fixed.last_chunk::<4>()?) as usize;
        rest.split_at_checked(length)
    }

    /// The remark, for people.
    pub fn remark(&self) -> String {
        if self.binary {
            let remark = self.binary_remark().map_or(&[][..], |(remark, _)| remark);
            return String::from_utf8_lossy(remark).into_owned();
        }
        let Some(text) = after(self.header, &REMARK) else { return String::new() };
        let end = text
            .iter()
            .zip(std::iter::once(&b' ').chain(text))
            .position(|(&byte, &before)| byte == b'"' && before != b'\\');
        String::from_utf8_lossy(&text[..end.unwrap_or(text.len())]).into_owned()
    }
}

fn after<'a>(text: &'a [u8], mark: &Finder<'_>) -> Option<&'a [u8]> {
    mark.find(text).map(|at| &text[at + mark.needle().len()..])
}

/// The whole number that `text` begins with.
fn number(text: &[u8]) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let mut value: Option<i64> = None;
    for digit in digits.iter().take_while(|byte| byte.is_ascii_digit()) {
        value = Some(value.unwrap_or(0).checked_mul(10)?.checked_add(i64::from(digit - b'0'))?);
    }
    value.map(|value| if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::draft::Request;

    fn response(binary: bool) -> Vec<u8> {
        let fields = [("nextBeginOffset", "4711"), ("minOffset", "0"), ("maxOffset", "9000")];
        Request { code: 19, opaque: 77, flag: 1, remark: "say \\\"no\\\"", fields: &fields }
            .encode(binary, b"body")
            .frame
    }

    #[test]
    fn both_encodings_are_read() {
        for binary in [false, true] {
            let bytes = response(binary);
            let frame = Frame::parse(&bytes[4..]).unwrap();
            assert_eq!((frame.code, frame.opaque, frame.binary), (19, 77, binary));
            assert!(frame.is_response());
            assert_eq!(frame.number("nextBeginOffset"), Some(4711));
            assert_eq!(frame.number("maxOffset"), Some(9000));
            assert_eq!(frame.number("Offset"), None);
            assert_eq!(frame.body, b"body");
            assert_eq!(frame.remark(), "say \\\"no\\\"");
        }
    }

    #[test]
    fn a_frame_that_lies_is_refused() {
        assert!(Frame::parse(b"\0\0").is_err());
        assert!(Frame::parse(b"\0\0\0\x09{}").is_err());
        assert!(Frame::parse(b"\0\0\0\x02{}").is_err());
        assert!(Frame::parse(b"\x01\0\0\x02{}").is_err());
        assert!(Frame::parse(b"\x02\0\0\x02{}").is_err());
        for binary in [false, true] {
            let bytes = response(binary);
            for cut in 4..bytes.len() {
                // Any outcome but a panic: what is cut off may be the body alone.
                let _ = Frame::parse(&bytes[4..cut]).map(|frame| (frame.number("maxOffset"), frame.remark()));
            }
        }
    }
}
