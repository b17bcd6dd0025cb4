//! The stored message.
