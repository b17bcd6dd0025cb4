//! What a reader is told. Python owns the defaults.

use std::time::Duration;

use super::gathering::Gathering;
use crate::client::received::Tags;

#[derive(Clone, Debug)]
pub struct ReaderConfig {
    pub group: String,
    pub topic: String,
    pub broker: String,
    pub queue_id: i32,
    pub filter: Filter,
    /// Messages and bytes of one pull.
    pub batch: i32,
    pub batch_bytes: Option<i32>,
    /// How long the broker may hold a pull for which there is nothing; zero: not at all.
    pub suspend: Duration,
    /// When an answer is given up.
    pub timeout: Duration,
    /// Messages and bytes that may be here, from their arrival to their release.
    pub limit: Amount,
    pub is_lite: bool,
    /// Where it ends: nothing from here on is pulled.
    pub until: i64,
    /// Have messages gathered into columns; otherwise they are taken one by one.
    pub gathering: Option<Gathering>,
}

/// What the reader wants of its queue.
#[derive(Clone, Debug)]
pub struct Filter {
    pub expression: String,
    /// `TAG` or `SQL92`.
    pub kind: String,
    pub version: i64,
    /// Whether pulls carry the expression; otherwise the broker has it from the group's heartbeats.
    pub is_sent: bool,
    pub tags: Tags,
}

/// So many messages, of so many bytes together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount {
    pub messages: usize,
    pub bytes: usize,
}
