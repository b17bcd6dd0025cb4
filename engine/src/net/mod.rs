//! The remoting server: sockets, frames and headers, and the way to those who answer.
//!
//! - bytes: `frame` → `header` (`json`, `binary`, `text`); the way back: `encode` → `outgoing`
//! - answering: `hot` on the socket's thread; `inbox` for Python, by `kind`
//! - other threads reach a socket through its `peer` and its thread's `mailbox`

pub mod binary;
pub mod encode;
pub mod frame;
pub mod header;
pub mod hot;
pub mod inbox;
pub mod json;
pub mod kind;
pub mod mailbox;
pub mod outgoing;
pub mod peer;
pub mod text;
