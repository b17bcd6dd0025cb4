//! The hot path: requests that come per message, answered on the sockets' threads and never in Python.
//!
//! - what Python told: `rulebook`, `options`; what it may ask: `offsets`, `counters`

pub mod counters;
pub mod keys;
pub mod offsets;
pub mod options;
pub mod rulebook;
