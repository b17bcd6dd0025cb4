//! The log store.

pub mod mapping;
pub mod notes;
