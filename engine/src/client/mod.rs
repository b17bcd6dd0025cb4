//! The client: what is sent and pulled per message, without Python in between.
//!
//! - `courier`: connections to servers on a thread of its own; everything below stands on it

pub mod courier;
