//! What all threads of one server have in common.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};

use super::config::ServerConfig;
use super::hot::Hot;
use super::inbox::Inbox;
use super::mailbox::Mailbox;
use super::peer::Peer;
use super::room::Room;

pub struct Shared {
    pub config: ServerConfig,
    pub inbox: Inbox,
    pub room: Arc<Room>,
    pub hot: Option<Arc<dyn Hot>>,
    pub tls: RwLock<Option<Arc<rustls::ServerConfig>>>,
    /// One for each thread.
    pub mailboxes: Vec<Arc<Mailbox>>,
    /// Connections that said something, by their numbers.
    pub peers: Mutex<HashMap<u64, Arc<Peer>>>,
    pub counters: Counters,
}

/// Totals since start.
#[derive(Debug, Default)]
pub struct Counters {
    pub opened: AtomicU64,
    pub closed_idle: AtomicU64,
    pub frames_in: AtomicU64,
    pub frames_out: AtomicU64,
    pub bytes_in: AtomicU64,
    pub bytes_out: AtomicU64,
    /// Connections closed because of what their bytes said.
    pub refused: AtomicU64,
    /// How often a connection was not read for a while.
    pub paused: AtomicU64,
    /// Connections closed because serving them failed in a way nobody thought of.
    pub panics: AtomicU64,
}

impl Counters {
    pub fn add(counter: &AtomicU64, count: usize) {
        counter.fetch_add(count as u64, Ordering::Relaxed);
    }

    pub fn named(&self) -> [(&'static str, u64); 9] {
        let of = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        [
            ("connectionsOpened", of(&self.opened)),
            ("connectionsIdleClosed", of(&self.closed_idle)),
            ("framesIn", of(&self.frames_in)),
            ("framesOut", of(&self.frames_out)),
            ("bytesIn", of(&self.bytes_in)),
            ("bytesOut", of(&self.bytes_out)),
            ("framesRefused", of(&self.refused)),
            ("readsPaused", of(&self.paused)),
            ("panics", of(&self.panics)),
        ]
    }
}
