//! The stored message: its bytes, and the values computed from them.
//!
//! - `layout`: positions, magics, flags, limits and property names
//! - `record`: reads what stands at a log position; `expected`: a glance at what should stand there
//! - `draft`: writes a message that is about to be stored
//! - `content`, `compress`: bodies as their senders gave them
//! - `properties`, `batch`, `host`: the smaller layouts inside
//! - `ids`, `unique`, `crc`: message ids, hashes and checksums

pub mod batch;
pub mod compress;
pub mod content;
pub mod crc;
pub mod draft;
pub mod expected;
pub mod host;
pub mod ids;
pub mod layout;
pub mod properties;
pub mod record;
#[cfg(test)]
pub(crate) mod samples;
pub mod unique;

pub use batch::{BadBatch, BatchEntry};
pub use compress::{BadBody, Compression};
pub use content::Damage;
pub use draft::{Draft, Encoding, Prepared, Stamp, Unstorable};
pub use expected::{Expected, Glanced};
pub use ids::BadMessageId;
pub use layout::{TransactionType, Version};
pub use properties::DispatchProperties;
pub use record::{BadRecord, Found, PropertyCrc, Record, blank_head, look};
