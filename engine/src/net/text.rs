//! Text of a header as it stands on the wire, and the values that go into one.

use std::borrow::Cow;

/// A string of a header, borrowed from the frame. In a JSON header it may still hold escapes.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    raw: &'a str,
    escaped: bool,
}

impl<'a> Text<'a> {
    pub const fn plain(raw: &'a str) -> Self {
        Self { raw, escaped: false }
    }

    /// What stands between the quotes of a JSON string; its escapes were checked by the parser.
    pub(crate) const fn json(raw: &'a str, escaped: bool) -> Self {
        Self { raw, escaped }
    }

    /// The text without a copy, if it holds no escapes. Names and numbers never do.
    #[inline]
    pub fn borrowed(self) -> Option<&'a str> {
        (!self.escaped).then_some(self.raw)
    }

    pub fn to_str(self) -> Cow<'a, str> {
        if !self.escaped {
            return Cow::Borrowed(self.raw);
        }
        let mut out = String::with_capacity(self.raw.len());
        unescape(self.raw, &mut out);
        Cow::Owned(out)
    }

    /// Append the text itself, escapes resolved.
    pub fn append_to(self, out: &mut String) {
        if self.escaped {
            unescape(self.raw, out);
        } else {
            out.push_str(self.raw);
        }
    }

    #[inline]
    pub fn is_empty(self) -> bool {
        self.raw.is_empty()
    }

    #[inline]
    pub fn is(self, text: &str) -> bool {
        if self.escaped { self.to_str() == text } else { self.raw == text }
    }

    /// The text as a number, the way Java's parsers take it: digits with at most a sign.
    #[inline]
    pub fn int(self) -> Option<i64> {
        if self.escaped { self.to_str().parse().ok() } else { self.raw.parse().ok() }
    }

    /// Java's reading: `true` in any case, everything else is false.
    #[inline]
    pub fn bool(self) -> bool {
        self.to_str().eq_ignore_ascii_case("true")
    }
}

/// One entry of `extFields`.
#[derive(Clone, Copy, Debug)]
pub struct Field<'a> {
    pub key: Text<'a>,
    pub value: Text<'a>,
}

/// The value of a field to be written.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Text(&'a str),
    Int(i64),
    Bool(bool),
}

impl<'a> From<&'a str> for Value<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Int(number)
    }
}

impl From<bool> for Value<'_> {
    fn from(word: bool) -> Self {
        Self::Bool(word)
    }
}

/// Resolve escapes that the parser found well formed. A lone surrogate becomes the replacement character,
/// as Java writes it in UTF-8 too (there as `?`).
fn unescape(raw: &str, out: &mut String) {
    let mut rest = raw;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let kind = rest.as_bytes()[at + 1];
        rest = &rest[at + 2..];
        match kind {
            b'u' => rest = unicode(rest, out),
            b'n' => out.push('\n'),
            b't' => out.push('\t'),
            b'r' => out.push('\r'),
            b'b' => out.push('\u{8}'),
            b'f' => out.push('\u{c}'),
            other => out.push(char::from(other)),
        }
    }
    out.push_str(rest);
}

/// Take the four digits after `\u`, and those of a second half if this is the first one of a pair.
fn unicode<'a>(rest: &'a str, out: &mut String) -> &'a str {
    let (unit, mut rest) = hex_unit(rest);
    let mut point = u32::from(unit);
    if (0xD800..0xDC00).contains(&unit)
        && let Some(second) = rest.strip_prefix("\\u")
    {
        let (low, after) = hex_unit(second);
        if (0xDC00..0xE000).contains(&low) {
            point = 0x1_0000 + ((point - 0xD800) << 10) + (u32::from(low) - 0xDC00);
            rest = after;
        }
    }
    out.push(char::from_u32(point).unwrap_or(char::REPLACEMENT_CHARACTER));
    rest
}

fn hex_unit(rest: &str) -> (u16, &str) {
    let (digits, after) = rest.split_at(4);
    (u16::from_str_radix(digits, 16).unwrap_or(0xFFFD), after)
}
