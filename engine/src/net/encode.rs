//! Writing frames, in either encoding.

use super::header::{Encoding, Language, VERSION};
use super::text::Value;
use super::word::{bytes_below, repeat, zero_bytes};

pub type Fields<'a> = &'a [(&'a str, Value<'a>)];

/// Everything of a frame before its body.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    pub encoding: Encoding,
    pub code: i32,
    pub opaque: i32,
    pub flag: i32,
    pub remark: Option<&'a str>,
    pub fields: Fields<'a>,
}

/// Append a frame up to its body, which the caller appends next.
pub fn head(out: &mut Vec<u8>, head: &Head<'_>, body_len: usize) {
    let start = out.len();
    out.extend_from_slice(&[0; 8]);
    let kind = match head.encoding {
        Encoding::Json => {
            json(out, head);
            0
        }
        Encoding::Binary => {
            binary(out, head);
            1_u32 << 24
        }
    };
    let header_len = out.len() - start - 8;
    let length = (4 + header_len + body_len) as u32;
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
    out[start + 4..start + 8].copy_from_slice(&(kind | header_len as u32).to_be_bytes());
}

/// The longest a header can get: its length has 24 bits.
pub const HEADER_BYTES_MAX: usize = (1 << 24) - 1;

/// Keys in the order in which Java writes them.
fn json(out: &mut Vec<u8>, head: &Head<'_>) {
    out.extend_from_slice(b"{\"code\":");
    number(out, i64::from(head.code));
    if !head.fields.is_empty() {
        out.extend_from_slice(b",\"extFields\":{");
        for (index, (key, value)) in head.fields.iter().enumerate() {
            out.extend_from_slice(if index == 0 { b"\"" } else { b",\"" });
            escape(out, key);
            out.extend_from_slice(b"\":\"");
            match value {
                Value::Text(text) => escape(out, text),
                other => plain(out, *other),
            }
            out.push(b'"');
        }
        out.push(b'}');
    }
    out.extend_from_slice(b",\"flag\":");
    number(out, i64::from(head.flag));
    out.extend_from_slice(b",\"language\":\"");
    out.extend_from_slice(Language::PYTHON.name().as_bytes());
    out.extend_from_slice(b"\",\"opaque\":");
    number(out, i64::from(head.opaque));
    if let Some(remark) = head.remark {
        out.extend_from_slice(b",\"remark\":\"");
        escape(out, remark);
        out.push(b'"');
    }
    out.extend_from_slice(b",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":");
    number(out, i64::from(VERSION));
    out.push(b'}');
}

/// The code keeps only 16 bits here, as in Java.
fn binary(out: &mut Vec<u8>, head: &Head<'_>) {
    out.extend_from_slice(&(head.code as i16).to_be_bytes());
    out.push(Language::PYTHON.number());
    out.extend_from_slice(&(VERSION as i16).to_be_bytes());
    out.extend_from_slice(&head.opaque.to_be_bytes());
    out.extend_from_slice(&head.flag.to_be_bytes());
    sized(out, |out| out.extend_from_slice(head.remark.unwrap_or_default().as_bytes()));
    sized(out, |out| {
        for (key, value) in head.fields {
            out.extend_from_slice(&(key.len() as u16).to_be_bytes());
            out.extend_from_slice(key.as_bytes());
            sized(out, |out| plain(out, *value));
        }
    });
}

/// Append a length in four bytes and then what `write` appends.
fn sized(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let len = (out.len() - at - 4) as u32;
    out[at..at + 4].copy_from_slice(&len.to_be_bytes());
}

fn plain(out: &mut Vec<u8>, value: Value<'_>) {
    match value {
        Value::Text(text) => out.extend_from_slice(text.as_bytes()),
        Value::Int(value) => number(out, value),
        Value::Bool(value) => out.extend_from_slice(if value { b"true" } else { b"false" }),
    }
}

fn number(out: &mut Vec<u8>, value: i64) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Append what stands between the quotes of a JSON string.
fn escape(out: &mut Vec<u8>, text: &str) {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let mut rest = text.as_bytes();
    if is_plain(rest) {
        out.extend_from_slice(rest);
        return;
    }
    while let Some(at) = rest.iter().position(|byte| needs_escape(*byte)) {
        out.extend_from_slice(&rest[..at]);
        match rest[at] {
            quoted @ (b'"' | b'\\') => out.extend_from_slice(&[b'\\', quoted]),
            control => {
                out.extend_from_slice(b"\\u00");
                out.extend_from_slice(&[HEX[usize::from(control >> 4)], HEX[usize::from(control & 15)]]);
            }
        }
        rest = &rest[at + 1..];
    }
    out.extend_from_slice(rest);
}

fn needs_escape(byte: u8) -> bool {
    byte < 0x20 || matches!(byte, b'"' | b'\\')
}

/// Whether nothing needs an escape, which is so for nearly every field.
fn is_plain(bytes: &[u8]) -> bool {
    let (words, rest) = bytes.as_chunks::<8>();
    let marked = words.iter().map(|chunk| {
        let word = u64::from_le_bytes(*chunk);
        bytes_below(word, 0x20) | zero_bytes(word ^ repeat(b'"')) | zero_bytes(word ^ repeat(b'\\'))
    });
    marked.fold(0, |all, each| all | each) == 0 && !rest.iter().any(|byte| needs_escape(*byte))
}
