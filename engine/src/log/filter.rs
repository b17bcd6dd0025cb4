//! Filters of a read: first by the hash of tags in the queue, then by the message itself.

use std::fmt;

use crate::filter::SqlFilter;
use crate::message::ids::tags_code;
use crate::message::layout::property;
use crate::message::properties;

/// Lets some messages through.
pub trait MessageFilter: fmt::Debug + Sync {
    /// By the code in the queue: false means no, true means look at the message.
    fn may_match(&self, code: i64) -> bool;

    /// By the properties text of the message.
    fn matches(&self, properties: &[u8]) -> bool;
}

impl MessageFilter for SqlFilter {
    fn may_match(&self, _: i64) -> bool {
        true
    }

    fn matches(&self, properties: &[u8]) -> bool {
        SqlFilter::matches(self, properties)
    }
}

/// What a tag expression like `TagA || TagB` lets through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TagFilter {
    codes: Box<[i64]>,
    /// Empty when only the hashes count.
    tags: Box<[Box<[u8]>]>,
}

impl TagFilter {
    /// Parse an expression; `None` when it lets everything through.
    pub fn parse(expression: &str) -> Option<Self> {
        let tags = wanted(expression)?;
        let codes = tags.iter().map(|tag| tags_code(tag.as_bytes())).collect();
        Some(Self { codes, tags: tags.iter().map(|tag| tag.as_bytes().into()).collect() })
    }

    /// As `parse`, but as a broker filters: by hash alone, and the consumer looks at the tags again.
    pub fn parse_codes(expression: &str) -> Option<Self> {
        let codes = wanted(expression)?.iter().map(|tag| tags_code(tag.as_bytes())).collect();
        Some(Self { codes, tags: Box::default() })
    }

    /// Let messages with these hashes of tags through; `None` for no hash, which means all messages.
    pub fn of_codes(codes: impl IntoIterator<Item = i64>) -> Option<Self> {
        let codes: Box<[i64]> = codes.into_iter().collect();
        (!codes.is_empty()).then(|| Self { codes, tags: Box::default() })
    }
}

impl MessageFilter for TagFilter {
    fn may_match(&self, code: i64) -> bool {
        self.codes.contains(&code)
    }

    fn matches(&self, properties: &[u8]) -> bool {
        if self.tags.is_empty() {
            return true;
        }
        let tags = properties::find(properties, property::TAGS);
        tags.is_some_and(|tags| self.tags.iter().any(|wanted| **wanted == *tags))
    }
}

fn wanted(expression: &str) -> Option<Vec<&str>> {
    let tags: Vec<&str> = expression.split("||").map(str::trim).filter(|tag| !tag.is_empty()).collect();
    (!tags.is_empty() && !tags.contains(&"*")).then_some(tags)
}
