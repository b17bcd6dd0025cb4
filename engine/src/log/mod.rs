//! The log store.

pub mod notes;
pub mod queue;
