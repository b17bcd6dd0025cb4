//! How other threads reach the thread that owns a socket.

use std::io;
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Instant;

use mio::Waker;
use parking_lot::Mutex;

use super::outgoing::Outgoing;

/// What a socket thread can be told.
pub enum Mail {
    /// Accept from this one.
    Listen(TcpListener),
    /// Take over a new connection.
    Adopt(mio::net::TcpStream),
    Send(u64, Outgoing),
    /// With the reason.
    Close(u64, &'static str),
    /// Python caught up: read again from whom we stopped.
    Resume,
    /// Take no more requests; leave when all are answered, at this time at the latest.
    Stop(Instant),
}

pub struct Mailbox {
    mails: Mutex<Vec<Mail>>,
    waker: Waker,
    /// A wake-up is under way and will see everything put before it.
    waking: AtomicBool,
    /// Requests of this thread's sockets that somebody has yet to answer.
    unanswered: AtomicUsize,
    connections: AtomicUsize,
}

impl Mailbox {
    pub fn new(waker: Waker) -> Self {
        Self {
            mails: Mutex::new(Vec::new()),
            waker,
            waking: AtomicBool::new(false),
            unanswered: AtomicUsize::new(0),
            connections: AtomicUsize::new(0),
        }
    }

    pub fn put(&self, mail: Mail) {
        self.mails.lock().push(mail);
        if !self.waking.swap(true, Ordering::AcqRel) {
            // It can only fail for want of kernel memory; the thread looks by itself once a second.
            let _: io::Result<()> = self.waker.wake();
        }
    }

    /// Everything that was put, in order; `mails` lends its memory.
    pub fn take(&self, mails: &mut Vec<Mail>) {
        debug_assert!(mails.is_empty());
        // First the flag, then the mails: what comes between the two wakes the thread once more, in vain.
        self.waking.store(false, Ordering::Release);
        std::mem::swap(&mut *self.mails.lock(), mails);
    }

    pub fn expect_answer(&self) {
        self.unanswered.fetch_add(1, Ordering::Relaxed);
    }

    pub fn answered(&self) {
        self.unanswered.fetch_sub(1, Ordering::Release);
    }

    pub fn unanswered(&self) -> usize {
        self.unanswered.load(Ordering::Acquire)
    }

    /// Connections of this thread, those on their way to it included.
    pub fn connections(&self) -> &AtomicUsize {
        &self.connections
    }
}
