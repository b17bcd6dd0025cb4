//! What the broker's settings say about hot requests. Python owns the keys, their defaults and their meaning.

use std::time::Duration;

use super::rulebook::perm;
use crate::message::layout::property;
use crate::message::properties;

#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub struct HotOptions {
    pub cluster: String,
    /// The address clients know the broker by; for remarks.
    pub address: String,
    pub broker_id: i64,
    pub region: String,
    pub trace_on: bool,
    pub permission: i32,
    /// Before this time (milliseconds since the epoch) no send is taken.
    pub accept_sends_from: i64,
    pub lite_pull: bool,
    pub long_polling: bool,
    pub short_polling: Duration,
    pub slave_read: bool,
    /// Whether filters other than by tags are served.
    pub property_filter: bool,
    /// Whether retried messages are judged by the filter of the topic they came from.
    pub filter_retries: bool,
    pub reject_transactions: bool,
}

impl HotOptions {
    pub fn is_writable(&self) -> bool {
        self.permission & perm::WRITE != 0
    }

    pub fn is_readable(&self) -> bool {
        self.permission & perm::READ != 0
    }

    /// The properties that a broker adds to each message, as stored text.
    pub fn added_properties(&self) -> String {
        let mut text = Vec::new();
        let trace: &[u8] = if self.trace_on { b"true" } else { b"false" };
        properties::push(&mut text, property::MSG_REGION, self.region.as_bytes());
        properties::push(&mut text, property::TRACE_ON, trace);
        properties::push(&mut text, property::CLUSTER, self.cluster.as_bytes());
        String::from_utf8(text).unwrap_or_default() // made of text
    }
}

#[cfg(test)]
impl HotOptions {
    pub fn usual() -> Self {
        Self {
            cluster: "DefaultCluster".into(),
            address: "127.0.0.1".into(),
            broker_id: 0,
            region: "DefaultRegion".into(),
            trace_on: true,
            permission: perm::READ | perm::WRITE,
            accept_sends_from: 0,
            lite_pull: true,
            long_polling: true,
            short_polling: Duration::from_secs(1),
            slave_read: false,
            property_filter: true,
            filter_retries: false,
            reject_transactions: false,
        }
    }
}
