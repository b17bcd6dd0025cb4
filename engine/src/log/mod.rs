//! The log store.
//!
//! - `store` opens, runs and closes everything; `config` is what it is told
//! - writing: `put`, `put_many`, `put_together` → `append` → `commit_log` → `segment` → `mapping`; `pool` holds write buffers
//! - durability: `flush` for the log, `keeper` for what is derived, `checkpoint`, `markers`
//! - following: `dispatch` → `derived` → `queue`, `index`; `arrivals` wakes readers, `watch` tells others
//! - reading: `read` → `view`, `filter`, `mend`; letting go: `expire`
//! - starting: `recover`, `rebuild`, `orderly`; without a store: `offline`, `offline_columns`

pub mod append;
mod arrivals;
pub mod checkpoint;
pub mod clock;
pub mod commit_log;
pub mod config;
pub mod derived;
pub mod dispatch;
mod expire;
pub mod filter;
pub mod flags;
pub mod flush;
pub(crate) mod fork;
pub mod index;
pub mod keeper;
pub mod lookup;
pub mod mapping;
pub mod markers;
mod mend;
pub mod notes;
pub mod offline;
pub mod offline_columns;
mod orderly;
mod pool;
mod prefetch;
mod pressure;
pub mod put;
pub mod put_many;
pub mod put_together;
pub mod queue;
pub mod read;
mod rebuild;
pub mod recover;
pub mod segment;
mod signal;
pub mod stats;
pub mod store;
#[cfg(test)]
pub(crate) mod tests;
pub mod view;
mod waiters;
pub mod watch;
