//! The JSON that a schema is written in.

use super::bad::Bad;
use crate::net::text::Text;

/// Real schemas have a few dozen levels at most.
const DEPTH_MAX: usize = 128;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// null, true, false or a number, as it is written.
    Word(String),
    Text(String),
    List(Vec<Self>),
    Object(Vec<(String, Self)>),
}

impl Value {
    pub fn parse(text: &str) -> Result<Self, Bad> {
        let mut parser = Parser { text, at: 0 };
        let value = parser.value(0)?;
        parser.space();
        if parser.at == text.len() { Ok(value) } else { Err(parser.bad("the end")) }
    }

    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => {
                members.iter().rev().find(|member| member.0 == key).map(|member| &member.1)
            }
            _ => None,
        }
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn list(&self) -> Option<&[Self]> {
        match self {
            Self::List(values) => Some(values),
            _ => None,
        }
    }

    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Word(word) => word.parse().ok(),
            _ => None,
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl Parser<'_> {
    fn bad(&self, wanted: &str) -> Bad {
        let character = self.text.get(..self.at).map_or(0, |read| read.chars().count()) + 1;
        Bad::new(format!("it is no JSON: {wanted} is expected at character {character}"))
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        self.space();
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn expect(&mut self, byte: u8) -> Result<(), Bad> {
        if self.eat(byte) { Ok(()) } else { Err(self.bad(&format!("{:?}", char::from(byte)))) }
    }

    fn value(&mut self, depth: usize) -> Result<Value, Bad> {
        if depth > DEPTH_MAX {
            return Err(Bad::new(format!("its JSON is nested more than {DEPTH_MAX} levels deep")));
        }
        self.space();
        match self.peek() {
            Some(b'"') => self.string().map(Value::Text),
            Some(b'{') => {
                let mut members = Vec::new();
                self.members(b'}', |parser| {
                    parser.space();
                    let key = parser.string()?;
                    parser.expect(b':')?;
                    members.push((key, parser.value(depth + 1)?));
                    Ok(())
                })?;
                Ok(Value::Object(members))
            }
            Some(b'[') => {
                let mut values = Vec::new();
                self.members(b']', |parser| {
                    values.push(parser.value(depth + 1)?);
                    Ok(())
                })?;
                Ok(Value::List(values))
            }
            _ => self.word(),
        }
    }

    /// What stands between brackets, separated by commas.
    fn members(
        &mut self,
        close: u8,
        mut member: impl FnMut(&mut Self) -> Result<(), Bad>,
    ) -> Result<(), Bad> {
        self.at += 1;
        if self.eat(close) {
            return Ok(());
        }
        loop {
            member(self)?;
            if !self.eat(b',') {
                return self.expect(close);
            }
        }
    }

    fn word(&mut self) -> Result<Value, Bad> {
        let start = self.at;
        while let Some(b'0'..=b'9' | b'a'..=b'z' | b'E' | b'+' | b'-' | b'.') = self.peek() {
            self.at += 1;
        }
        let word = &self.text[start..self.at];
        if matches!(word, "null" | "true" | "false") || word.parse::<f64>().is_ok_and(f64::is_finite) {
            return Ok(Value::Word(word.to_owned()));
        }
        self.at = start;
        Err(self.bad("a value"))
    }

    fn string(&mut self) -> Result<String, Bad> {
        if self.peek() != Some(b'"') {
            return Err(self.bad("a text"));
        }
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    self.escape()?;
                }
                Some(0x20..) => self.at += 1,
                _ => return Err(self.bad("the end of a text")),
            }
        }
        self.at += 1;
        Ok(Text::json(&self.text[start..self.at - 1], escaped).to_str().into_owned())
    }

    fn escape(&mut self) -> Result<(), Bad> {
        let rest = &self.text.as_bytes()[self.at + 1..];
        self.at += match rest.first() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => 2,
            Some(b'u') if rest.len() > 4 && rest[1..5].iter().all(u8::is_ascii_hexdigit) => 6,
            _ => return Err(self.bad("an escape")),
        };
        Ok(())
    }
}
