//! The log store.

pub mod checkpoint;
pub mod mapping;
pub mod markers;
pub mod notes;
pub mod offline;
