//! Tailfin's engine. Python decides, the engine moves bytes.
//!
//! - `arrow`: messages as the columns of a table
//! - `client`: the connections of a client, what it sends and what it pulls
//! - `delay`: messages that wait for their time, by level and by timer
//! - `filter`: SQL92 over messages' properties
//! - `message`: the stored-message layout, properties, batches, ids and hashes
//! - `load`: the load generator
//! - `log`: mapped files, append, queues, index, flush, dispatch, recovery
//! - `net`: sockets, frames, headers, TLS, and the way to those who answer
//! - `py`: the only files that know Python

pub mod arrow;
pub mod client;
pub mod delay;
pub mod error;
pub mod filter;
pub mod hot;
pub mod load;
pub mod log;
pub mod message;
pub mod net;
#[cfg(feature = "python")]
mod py;
