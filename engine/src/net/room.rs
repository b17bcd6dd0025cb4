//! Memory for frames that are not complete: a budget for all connections of a server.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Nobody.
const NONE: u64 = 0;

#[derive(Debug)]
pub struct Room {
    limit: usize,
    used: AtomicUsize,
    /// The one connection that may go over the limit: if all were to wait, no frame would ever be complete.
    beyond: AtomicU64,
}

impl Room {
    pub fn new(limit: usize) -> Self {
        Self { limit, used: AtomicUsize::new(0), beyond: AtomicU64::new(NONE) }
    }

    pub fn is_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.limit
    }

    /// Whether a connection that was refused may try once more.
    pub fn may_have_some(&self) -> bool {
        !self.is_full() || self.beyond.load(Ordering::Relaxed) == NONE
    }

    /// Take memory for a connection; false when there is none left and another one is already beyond the limit.
    pub fn take(&self, connection: u64, bytes: usize) -> bool {
        if self.used.fetch_add(bytes, Ordering::Relaxed) + bytes <= self.limit || self.goes_beyond(connection)
        {
            return true;
        }
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        false
    }

    fn goes_beyond(&self, connection: u64) -> bool {
        match self.beyond.compare_exchange(NONE, connection, Ordering::Relaxed, Ordering::Relaxed) {
            Ok(_) => true,
            Err(holder) => holder == connection,
        }
    }

    /// Count memory that is in use already, or no longer.
    pub fn adjust(&self, before: usize, now: usize) {
        if now > before {
            self.used.fetch_add(now - before, Ordering::Relaxed);
        } else {
            self.used.fetch_sub(before - now, Ordering::Relaxed);
        }
    }

    /// A connection's frame is complete, or the connection is gone.
    pub fn come_back(&self, connection: u64) {
        // Whoever else is beyond the limit stays there.
        let _ = self.beyond.compare_exchange(connection, NONE, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Who is beyond the limit.
    pub fn beyond(&self) -> u64 {
        self.beyond.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_connection_may_go_beyond_the_limit() {
        let room = Room::new(100);
        assert!(room.take(1, 60));
        assert!(room.take(2, 60), "somebody must come to an end");
        assert!(!room.take(3, 60));
        assert!(!room.may_have_some());
        assert!(room.take(2, 500), "and may take what it needs for that");
        assert!(!room.take(1, 1));
        room.adjust(560, 0);
        room.come_back(2);
        assert!(room.may_have_some());
        assert!(room.take(3, 40));
        assert_eq!(room.used.load(Ordering::Relaxed), 100);
        room.come_back(1);
        assert!(room.take(1, 1));
        assert_eq!(room.beyond(), 1);
    }
}
