//! Frames: a length, then the header's length and encoding, the header, the body.

use bumpalo::Bump;

use super::header::{Encoding, FLAG_ONEWAY, FLAG_RESPONSE, Header};
use super::text::Text;
use super::{binary, json};

/// Bytes before the header: the frame's length, the header's length and encoding.
pub const PREFIX_BYTES: usize = 8;
const LENGTH_BYTES: usize = 4;

/// Why a connection is closed: what its bytes say cannot be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Malformed(pub &'static str);

/// One request or response, borrowed from the bytes that were read.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    pub header: Header<'a>,
    pub encoding: Encoding,
    /// Header and body as they came, for whoever keeps the frame.
    pub(super) raw: &'a [u8],
    pub body: &'a [u8],
}

impl<'a> Frame<'a> {
    pub fn is_response(&self) -> bool {
        self.header.flag & FLAG_RESPONSE != 0
    }

    pub fn is_oneway(&self) -> bool {
        self.header.flag & FLAG_ONEWAY != 0
    }

    /// Find a field by its name. Whoever needs many of them walks `header.fields` once instead.
    pub fn field(&self, name: &str) -> Option<Text<'a>> {
        // The last one wins, as in Java's map.
        self.header.fields.iter().rev().find(|field| field.key.is(name)).map(|field| field.value)
    }
}

/// Length of the frame at the front, its length field included; `None` while that is not there yet.
pub fn frame_len(bytes: &[u8], bytes_max: usize) -> Result<Option<usize>, Malformed> {
    let Some(prefix) = bytes.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = i32::from_be_bytes(*prefix);
    let Ok(length) = usize::try_from(length) else { return Err(Malformed("the frame's length is negative")) };
    if length + LENGTH_BYTES > bytes_max {
        return Err(Malformed("the frame is longer than frames may be"));
    }
    if length + LENGTH_BYTES < PREFIX_BYTES {
        return Err(Malformed("the frame is too short for a header"));
    }
    Ok(Some(length + LENGTH_BYTES))
}

/// Take the next frame off the front; `None` when it is not complete.
#[inline]
pub fn next_frame<'a>(
    bytes: &mut &'a [u8],
    bytes_max: usize,
    bump: &'a Bump,
) -> Result<Option<Frame<'a>>, Malformed> {
    let Some(len) = frame_len(bytes, bytes_max)? else { return Ok(None) };
    let Some((frame, rest)) = bytes.split_at_checked(len) else { return Ok(None) };
    *bytes = rest;
    let word = u32::from_be_bytes([frame[4], frame[5], frame[6], frame[7]]);
    let encoding = match word >> 24 {
        0 => Encoding::Json,
        1 => Encoding::Binary,
        _ => return Err(Malformed("the header's encoding is neither JSON nor ROCKETMQ")),
    };
    decode(encoding, (word & 0x00FF_FFFF) as usize, &frame[PREFIX_BYTES..], bump).map(Some)
}

/// Decode what follows the prefix: header and body.
pub fn decode<'a>(
    encoding: Encoding,
    header_len: usize,
    raw: &'a [u8],
    bump: &'a Bump,
) -> Result<Frame<'a>, Malformed> {
    let Some((header, body)) = raw.split_at_checked(header_len) else {
        return Err(Malformed("the header is longer than its frame"));
    };
    let header = match encoding {
        Encoding::Json => json::decode(header, bump)?,
        Encoding::Binary => binary::decode(header, bump)?,
    };
    Ok(Frame { header, encoding, raw, body })
}
