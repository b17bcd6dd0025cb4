//! The tag filter: hashes decide in the queue, the tags themselves in the message.

use crate::message::ids::tags_code;
use crate::message::layout::property;
use crate::message::{Record, properties};

/// A tag expression like `TagA || TagB`.
#[derive(Clone, Debug)]
pub struct TagFilter {
    tags: Vec<(i64, Box<[u8]>)>,
}

impl TagFilter {
    /// Parse an expression; `None` when it lets everything through.
    pub fn parse(expression: &str) -> Option<Self> {
        let tags: Vec<(i64, Box<[u8]>)> = expression
            .split("||")
            .map(str::trim)
            .filter(|tag| !tag.is_empty())
            .map(|tag| (tags_code(tag.as_bytes()), tag.as_bytes().into()))
            .collect();
        let all = tags.is_empty() || tags.iter().any(|(_, tag)| **tag == *b"*");
        (!all).then_some(Self { tags })
    }

    /// By the code in the queue: false means no, true means look at the message.
    pub fn may_match(&self, code: i64) -> bool {
        self.tags.iter().any(|&(wanted, _)| wanted == code)
    }

    pub fn matches(&self, record: &Record<'_>) -> bool {
        let tags = properties::find(record.properties(), property::TAGS);
        tags.is_some_and(|tags| self.tags.iter().any(|(_, wanted)| **wanted == *tags))
    }
}
