//! The client's half of the seam.

pub mod courier;
pub mod message;
pub mod outbox;
pub mod promise;
pub mod reader;
pub mod receipt;
pub mod received;
pub mod rows;
