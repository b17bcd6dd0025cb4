//! The log store.
