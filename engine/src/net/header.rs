//! What a header says, in either encoding.

use super::text::{Field, Text};

pub const FLAG_RESPONSE: i32 = 1;
pub const FLAG_ONEWAY: i32 = 2;

/// Fields of one header; real ones have about 20. Without a bound a header of 16 MiB would take ten times that.
pub const FIELDS_MAX: usize = 4096;

/// The version we say we are: RocketMQ's ordinal of 5.3.3. Clients ask it what the broker can do.
pub const VERSION: i32 = 479;

/// How a header is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    Json,
    Binary,
}

/// The peer's language, by RocketMQ's number for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Language(u8);

const LANGUAGES: [&str; 14] = [
    "JAVA", "CPP", "DOTNET", "PYTHON", "DELPHI", "ERLANG", "RUBY", "OTHER", "HTTP", "GO", "PHP", "OMS",
    "RUST", "NODE_JS",
];

impl Language {
    pub const PYTHON: Self = Self(3);
    pub const OTHER: Self = Self(7);

    pub fn named(name: &str) -> Self {
        LANGUAGES.iter().position(|each| *each == name).map_or(Self::OTHER, |number| Self(number as u8))
    }

    pub fn numbered(number: u8) -> Self {
        if usize::from(number) < LANGUAGES.len() { Self(number) } else { Self::OTHER }
    }

    pub fn name(self) -> &'static str {
        LANGUAGES[usize::from(self.0)]
    }

    pub fn number(self) -> u8 {
        self.0
    }
}

/// A decoded header; text and fields are borrowed from the frame.
#[derive(Clone, Copy, Debug)]
pub struct Header<'a> {
    pub code: i32,
    pub opaque: i32,
    pub flag: i32,
    pub version: i32,
    pub language: Language,
    pub remark: Option<Text<'a>>,
    pub fields: &'a [Field<'a>],
}

impl Default for Header<'_> {
    fn default() -> Self {
        Self { code: 0, opaque: 0, flag: 0, version: 0, language: Language::OTHER, remark: None, fields: &[] }
    }
}
