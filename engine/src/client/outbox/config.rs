//! What an outbox is told. Python owns the defaults.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use crate::message::Compression;

#[derive(Clone, Debug)]
pub struct OutboxConfig {
    pub group: String,
    /// How long a message may wait for others; zero: only for those that are there already.
    pub linger: Duration,
    /// A batch is sent when it has so many bytes or messages.
    pub batch_bytes: usize,
    pub batch_count: usize,
    /// Bytes of everything that is not answered.
    pub room_bytes: usize,
    pub compression: Option<Compression>,
    pub compression_level: u32,
    /// A body of so many bytes is compressed, and travels alone.
    pub compress_over: usize,
    pub max_message_size: usize,
    /// For each try of what is posted.
    pub timeout: Duration,
    pub default_topic: String,
    pub default_queues: i64,
    pub unit_mode: bool,
    /// The namespace, for messages of one.
    pub instance_id: String,
    /// The address that message ids begin with.
    pub client_ip: IpAddr,
}

/// A queue and where it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub address: Arc<str>,
    pub broker: Arc<str>,
    pub queue_id: i32,
}
