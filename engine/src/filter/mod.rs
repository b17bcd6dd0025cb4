//! SQL92 over a message's properties, compiled once and asked per message. What is accepted and what comes out
//! is RocketMQ's, with its oddities: the text after a whole expression is not read, a property is always a
//! string that takes the type of what it is compared with, and one that cannot fails the whole expression.

mod evaluate;
mod java_number;
mod parser;
mod token;
mod tree;

use crate::message::properties;
use evaluate::Slots;
use tree::Node;

/// An expression that is none, and the place where that showed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}, at position {position}")]
pub struct BadExpression {
    pub what: String,
    /// In characters, the first one being 1.
    pub position: usize,
}

/// A property's text is not what it was compared with, a number mostly. The message does not match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a property cannot be converted to the type that it is compared with")]
pub struct Unconvertible;

#[derive(Debug)]
pub struct SqlFilter {
    root: Node,
    /// The properties that the expression names; nodes have their places.
    names: Box<[Box<str>]>,
    unread: Option<Box<str>>,
}

impl SqlFilter {
    pub fn compile(expression: &str) -> Result<Self, BadExpression> {
        let parsed = parser::parse(expression)?;
        Ok(Self {
            root: parsed.root,
            names: parsed.names.iter().map(|name| (*name).into()).collect(),
            unread: (!parsed.unread.is_empty()).then(|| parsed.unread.into()),
        })
    }

    /// The rest of the text, which RocketMQ's parser does not look at either.
    pub fn unread(&self) -> Option<&str> {
        self.unread.as_deref()
    }

    /// Judge a message by its properties text; `None` is SQL's null.
    pub fn evaluate(&self, text: &[u8]) -> Result<Option<bool>, Unconvertible> {
        let mut slots = Slots::new(self.names.len());
        for (name, value) in properties::iter(text) {
            if let Some(slot) = self.names.iter().position(|wanted| wanted.as_bytes() == name) {
                slots.fill(slot, value);
            }
        }
        evaluate::truth(&self.root, &slots)
    }

    pub fn matches(&self, text: &[u8]) -> bool {
        self.evaluate(text) == Ok(Some(true))
    }
}

#[cfg(test)]
mod tests;
