//! The client: what is sent and pulled per message, without Python in between.
//!
//! - `courier`: connections to servers on a thread of its own; everything below stands on it
//! - `endings`: many transactions ended at once, `handles`: where their halves stand
//! - `outbox`: what is sent, at once or collected into batches
//! - `reader`: pulls a queue ahead of whoever takes its messages
//! - `received`: messages as they came, decoded when asked

pub mod courier;
pub mod endings;
pub mod handles;
pub mod outbox;
pub mod reader;
pub mod received;
