//! A connection as other threads see it.

use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU64, Ordering};

use hashbrown::HashSet;
use parking_lot::Mutex;

use super::mailbox::Mailbox;

/// Threads a server may have: the low byte of a connection's number is its thread.
pub const THREADS_MAX: usize = 256;

static SERIAL: AtomicU64 = AtomicU64::new(1);
static OPAQUE: AtomicI32 = AtomicI32::new(0);

/// Who is at the other end, and the way to the thread that owns the socket.
pub struct Peer {
    connection: u64,
    remote: SocketAddr,
    local: SocketAddr,
    mailbox: Arc<Mailbox>,
    /// Our own requests that the client has yet to answer; `None` once the connection is closed.
    calls: Mutex<Option<HashSet<i32>>>,
}

impl Peer {
    pub fn new(connection: u64, remote: SocketAddr, local: SocketAddr, mailbox: Arc<Mailbox>) -> Self {
        Self { connection, remote, local, mailbox, calls: Mutex::new(Some(HashSet::new())) }
    }

    /// A number for a new connection, unique for the life of the process.
    pub fn next_connection(thread: usize) -> u64 {
        debug_assert!(thread < THREADS_MAX);
        SERIAL.fetch_add(1, Ordering::Relaxed) * THREADS_MAX as u64 + thread as u64
    }

    pub fn connection(&self) -> u64 {
        self.connection
    }

    /// The client's address; behind a PROXY header that of the real one.
    pub fn remote(&self) -> SocketAddr {
        self.remote
    }

    /// The address the client dialled.
    pub fn local(&self) -> SocketAddr {
        self.local
    }

    pub fn is_open(&self) -> bool {
        self.calls.lock().is_some()
    }

    pub(super) fn mailbox(&self) -> &Arc<Mailbox> {
        &self.mailbox
    }

    /// Note a request of ours and return its opaque; `None` when the connection is gone.
    pub(super) fn begin_call(&self, oneway: bool) -> Option<i32> {
        let mut calls = self.calls.lock();
        let waiting = calls.as_mut()?;
        let opaque = OPAQUE.fetch_add(1, Ordering::Relaxed);
        if !oneway {
            waiting.insert(opaque);
        }
        Some(opaque)
    }

    /// Whether this response is to a request of ours; it is no longer waited for.
    pub(super) fn end_call(&self, opaque: i32) -> bool {
        self.calls.lock().as_mut().is_some_and(|waiting| waiting.remove(&opaque))
    }

    /// Mark the connection as gone and return the requests that stay without a response.
    pub(super) fn close(&self) -> Vec<i32> {
        self.calls.lock().take().into_iter().flatten().collect()
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "connection {} from {}", self.connection, self.remote)
    }
}
