//! The JSON header: one pass over the text, everything borrowed, any order of keys, unknown keys skipped.

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;

use super::frame::Malformed;
use super::header::{FIELDS_MAX, Header, Language};
use super::text::{Field, Text};
use super::word::{repeat, zero_bytes};

/// Deeper nesting than this is an attack: real headers have one level.
const DEPTH_MAX: usize = 16;
/// Fields for which room is made at first; a send has 14.
const FIELDS_EXPECTED: usize = 16;

type Parsed<T> = Result<T, Malformed>;
const BAD: Malformed = Malformed("the header is not a JSON object of a command");

/// Decode the header; field positions are kept in `bump`.
pub fn decode<'a>(bytes: &'a [u8], bump: &'a Bump) -> Parsed<Header<'a>> {
    let text = str::from_utf8(bytes).map_err(|_| Malformed("the header is not UTF-8"))?;
    let mut parser = Parser { text, at: 0 };
    let mut header = Header::default();
    parser.object(|parser, key| {
        match key.borrowed() {
            Some("code") => header.code = parser.int()?,
            Some("flag") => header.flag = parser.int()?,
            Some("opaque") => header.opaque = parser.int()?,
            Some("version") => header.version = parser.int()?,
            Some("language") => {
                header.language =
                    parser.scalar()?.and_then(Text::borrowed).map_or(Language::OTHER, Language::named);
            }
            Some("remark") => header.remark = parser.scalar()?,
            Some("extFields") => header.fields = parser.fields(bump)?,
            _ => parser.skip(0)?,
        }
        Ok(())
    })?;
    parser.space();
    if parser.at == text.len() { Ok(header) } else { Err(BAD) }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    /// Skip blanks, and the byte itself if it comes next.
    #[inline]
    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    #[inline]
    fn expect(&mut self, byte: u8) -> Parsed<()> {
        if self.eat(byte) { Ok(()) } else { Err(BAD) }
    }

    /// An object; `member` is called at each value.
    #[inline]
    fn object(&mut self, mut member: impl FnMut(&mut Self, Text<'a>) -> Parsed<()>) -> Parsed<()> {
        self.expect(b'{')?;
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            self.space();
            let key = self.string()?;
            self.expect(b':')?;
            self.space();
            member(self, key)?;
            if !self.eat(b',') {
                return self.expect(b'}');
            }
        }
    }

    /// A string, from its opening quote on.
    #[inline]
    fn string(&mut self) -> Parsed<Text<'a>> {
        if self.peek() != Some(b'"') {
            return Err(BAD);
        }
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut at = special(bytes, start);
        let mut escaped = false;
        while bytes.get(at) == Some(&b'\\') {
            escaped = true;
            at = special(bytes, at + escape_len(&bytes[at..])?);
        }
        if at >= bytes.len() {
            return Err(BAD);
        }
        self.at = at + 1;
        Ok(Text::json(&self.text[start..at], escaped))
    }

    /// A string, number or word as text; `None` for null.
    #[inline]
    fn scalar(&mut self) -> Parsed<Option<Text<'a>>> {
        match self.peek() {
            Some(b'"') => self.string().map(Some),
            Some(b'{' | b'[') | None => Err(BAD),
            Some(_) => {
                let word = self.word()?;
                Ok((word != "null").then_some(Text::plain(word)))
            }
        }
    }

    /// A number or one of the words `true`, `false`, `null`.
    fn word(&mut self) -> Parsed<&'a str> {
        let start = self.at;
        while let Some(b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'+' | b'-' | b'.') = self.peek() {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        match word.as_bytes().first() {
            Some(b'0'..=b'9' | b'-') => Ok(word),
            _ if matches!(word, "true" | "false" | "null") => Ok(word),
            _ => Err(BAD),
        }
    }

    /// A number, bare or quoted; null is the default, 0.
    #[inline]
    fn int(&mut self) -> Parsed<i32> {
        match self.scalar()? {
            None => Ok(0),
            Some(text) => text.int().and_then(|number| i32::try_from(number).ok()).ok_or(BAD),
        }
    }

    /// `extFields`: an object or null. An entry whose value is null does not count.
    fn fields(&mut self, bump: &'a Bump) -> Parsed<&'a [Field<'a>]> {
        if self.peek() != Some(b'{') {
            return if self.word()? == "null" { Ok(&[]) } else { Err(BAD) };
        }
        let mut fields = BumpVec::with_capacity_in(FIELDS_EXPECTED, bump);
        self.object(|parser, key| {
            let value = if let Some(b'{' | b'[') = parser.peek() {
                // Java keeps such a value as its JSON text.
                let start = parser.at;
                parser.skip(0)?;
                Some(Text::plain(&parser.text[start..parser.at]))
            } else {
                parser.scalar()?
            };
            if fields.len() == FIELDS_MAX {
                return Err(Malformed("the header has too many fields"));
            }
            if let Some(value) = value {
                fields.push(Field { key, value });
            }
            Ok(())
        })?;
        Ok(fields.into_bump_slice())
    }

    /// Step over any value.
    fn skip(&mut self, depth: usize) -> Parsed<()> {
        if depth > DEPTH_MAX {
            return Err(Malformed("the header is nested too deeply"));
        }
        match self.peek() {
            Some(b'{') => self.object(|parser, _| parser.skip(depth + 1)),
            Some(b'[') => {
                self.at += 1;
                if self.eat(b']') {
                    return Ok(());
                }
                loop {
                    self.space();
                    self.skip(depth + 1)?;
                    if !self.eat(b',') {
                        return self.expect(b']');
                    }
                }
            }
            _ => self.scalar().map(|_| ()),
        }
    }
}

/// Where the next quote or backslash stands, from `at` on; the end of the bytes if there is none.
///
/// Eight bytes at a time: header strings are too short for the set-up of a vector search.
#[inline]
fn special(bytes: &[u8], mut at: usize) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let word = u64::from_le_bytes(*chunk);
        let hits = zero_bytes(word ^ repeat(b'"')) | zero_bytes(word ^ repeat(b'\\'));
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < bytes.len() && !matches!(bytes[at], b'"' | b'\\') {
        at += 1;
    }
    at
}

/// Length of the escape at the front.
fn escape_len(bytes: &[u8]) -> Parsed<usize> {
    match bytes.get(1) {
        Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' | b'\'') => Ok(2),
        Some(b'u') if bytes.len() >= 6 && bytes[2..6].iter().all(u8::is_ascii_hexdigit) => Ok(6),
        _ => Err(BAD),
    }
}
