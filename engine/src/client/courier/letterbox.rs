//! How other threads reach the courier's. It is woken only when it sleeps.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use mio::Waker;
use parking_lot::Mutex;

use super::request::{Errand, Waiter};

/// A request whose head is encoded.
pub struct Order {
    pub address: Arc<str>,
    pub opaque: i32,
    pub head: Vec<u8>,
    pub body: Arc<Vec<u8>>,
    pub deadline: Instant,
    pub oneway: bool,
    pub drains: bool,
    pub waiter: Arc<dyn Waiter>,
}

pub enum Letter {
    Send(Order),
    At(Instant, Arc<dyn Errand>),
    /// A name's addresses, for the connection of this number.
    Resolved(usize, io::Result<Vec<std::net::SocketAddr>>),
    /// Close the connection to this address, if there is one.
    Disconnect(Arc<str>),
    /// Take nothing more, and leave when all is answered, at this time at the latest.
    Stop(Instant),
}

#[derive(Default)]
struct Letters {
    each: Vec<Letter>,
    asleep: bool,
    /// The thread takes nothing more.
    closed: bool,
}

pub struct Letterbox {
    letters: Mutex<Letters>,
    waker: Waker,
}

impl Letterbox {
    pub fn new(waker: Waker) -> Self {
        Self { letters: Mutex::new(Letters::default()), waker }
    }

    /// Leave a letter; it comes back when nobody is there to read it.
    pub fn put(&self, letter: Letter) -> Result<(), Letter> {
        let mut letters = self.letters.lock();
        if letters.closed && matches!(letter, Letter::Send(_) | Letter::At(..)) {
            return Err(letter);
        }
        letters.each.push(letter);
        if std::mem::take(&mut letters.asleep) {
            drop(letters);
            // It can only fail for want of kernel memory; the thread looks by itself once a second.
            let _: io::Result<()> = self.waker.wake();
        }
        Ok(())
    }

    /// Everything that was put, in order; `letters` lends its memory.
    pub fn take(&self, letters: &mut Vec<Letter>) {
        std::mem::swap(&mut self.letters.lock().each, letters);
    }

    /// Before the thread sleeps: whether it may. From then on a letter wakes it.
    pub fn may_sleep(&self) -> bool {
        let mut letters = self.letters.lock();
        letters.asleep = letters.each.is_empty();
        letters.asleep
    }

    pub fn awake(&self) {
        self.letters.lock().asleep = false;
    }

    /// Take nothing more, while what is under way comes to its end.
    pub fn refuse(&self) {
        self.letters.lock().closed = true;
    }

    pub fn is_empty(&self) -> bool {
        self.letters.lock().each.is_empty()
    }
}
