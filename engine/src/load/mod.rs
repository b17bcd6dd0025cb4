//! The load generator: drives a broker over its own wire protocol and counts what comes back.
//!
//! Generator and server often share a machine, so what costs the generator is missing at the server:
//! requests are copies of a template with a few digits patched, answers are read no further than needed, and
//! one thread serves many connections, all requests of one round with one write each.

mod connection;
mod create;
mod draft;
mod drive;
mod end_to_end;
mod header;
mod limit;
mod offsets;
mod options;
mod pace;
mod poll;
mod pull;
mod run;
mod send;
mod shelf;
mod tally;
mod template;

pub use limit::LimitServer;
pub use options::{Mode, Options};
pub use run::{Phase, Progress, Report, run};
pub use tally::{Refused, Tally};

/// Why a run could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error("cannot connect to {address}: {source}")]
    Connect { address: String, source: std::io::Error },
    #[error("lost the connection to {address}: {source}")]
    Lost { address: String, source: std::io::Error },
    #[error("{address} gave no answer for {seconds} s")]
    Silent { address: String, seconds: u64 },
    #[error("{address} sent something that is no RocketMQ frame: {what}")]
    NotRocketMq { address: String, what: &'static str },
    #[error("{what} was refused with code {code}: {remark}")]
    Refused { what: &'static str, code: i32, remark: String },
    #[error("{0}")]
    Nothing(String),
    #[error("{action}: {source}")]
    Io { action: &'static str, source: std::io::Error },
    #[error("{0}")]
    Options(String),
}

pub type Result<T> = std::result::Result<T, LoadError>;

#[cfg(test)]
mod tests;
