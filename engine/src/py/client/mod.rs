//! The client's half of the seam.

pub mod courier;
pub mod reader;
pub mod received;
