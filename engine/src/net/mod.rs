//! The remoting server: sockets, frames and headers, and the way to those who answer.
//!
//! - bytes: `frame` → `header` (`json`, `binary`, `text`); the way back: `encode` → `outgoing`
//! - threads: `server` → `worker` → `connection` → `probe`, `transport` (`tls`)
//! - answering: `hot` on the socket's thread; `inbox` for Python, by `kind`
//! - other threads reach a socket through its `peer` and its thread's `mailbox`

pub(crate) mod bell;
pub mod binary;
pub mod config;
mod connection;
pub mod encode;
pub mod frame;
pub mod header;
mod held;
pub mod hot;
pub mod inbox;
pub mod json;
pub mod kind;
mod mailbox;
pub mod outgoing;
pub mod peer;
mod probe;
mod room;
pub mod server;
mod shared;
#[cfg(test)]
mod tests;
pub mod text;
pub(crate) mod tls;
pub(crate) mod transport;
mod waiting;
mod word;
mod worker;
