//! The client's half of the seam.

pub mod courier;
