//! The hot path: requests that come per message, answered on the sockets' threads and never in Python.
//!
//! - `serve` is where requests come in, and news of the store; `path` holds what all parts share
//! - sending: `send` (`send_header`, `choice`, `waiting`) → the store → `sent`
//! - pulling: `pull` (`pull_header`, `judging`) → the store, or `park` until a message arrives
//! - `position`: offsets of groups and queues
//! - what Python told: `rulebook`, `options`; what it may ask: `offsets`, `counters`

mod alarm;
mod choice;
mod codes;
pub mod counters;
mod judging;
mod keys;
pub mod offsets;
pub mod options;
mod park;
pub mod path;
mod position;
mod pull;
pub mod pull_header;
pub mod rulebook;
mod send;
pub mod send_header;
pub mod sent;
mod serve;
mod verdict;
pub mod waiting;
