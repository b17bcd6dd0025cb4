//! Telling someone outside the store what readers and writers wait for, without a thread waiting for each.

use std::fmt;
use std::sync::{Arc, Weak};

use parking_lot::RwLock;

/// Learns of flushes and arrivals. Called on the store's own threads, so it must be quick.
pub trait Watch: Send + Sync {
    /// The log is on disk up to `offset`; `u64::MAX` when a sync failed and nothing more will be.
    fn flushed(&self, offset: u64);

    /// How many wait for a flush.
    fn waiting_for_disk(&self) -> usize;

    /// Whether anyone waits for a message: while nobody does, single arrivals are not told.
    fn is_waiting(&self) -> bool;

    /// A message became consumable.
    fn arrived(&self, arrival: &Arrival<'_>);

    /// Some messages became consumable, and were told one by one if `each`.
    fn stretch_arrived(&self, each: bool);
}

/// A message that became consumable.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    pub topic: &'a [u8],
    pub queue_id: i32,
    pub queue_offset: i64,
    pub tags: Option<&'a [u8]>,
    pub properties: &'a [u8],
}

/// The one who watches a store, if anyone does. Not kept alive by being one.
#[derive(Default)]
pub struct Watcher(RwLock<Option<Weak<dyn Watch>>>);

impl Watcher {
    pub fn set(&self, watch: Weak<dyn Watch>) {
        *self.0.write() = Some(watch);
    }

    pub fn get(&self) -> Option<Arc<dyn Watch>> {
        self.0.read().as_ref()?.upgrade()
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Watcher")
    }
}
