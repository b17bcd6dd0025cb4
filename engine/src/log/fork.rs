//! Noticing a fork: a child has the parent's maps but none of its threads, and must keep its hands off.

use std::sync::Once;
use std::sync::atomic::{AtomicU32, Ordering};

static GENERATION: AtomicU32 = AtomicU32::new(0);
static WATCH: Once = Once::new();

extern "C" fn in_child() {
    GENERATION.fetch_add(1, Ordering::Relaxed);
}

/// A number that changes in every forked child.
pub fn generation() -> u32 {
    WATCH.call_once(|| {
        // SAFETY: the handler only touches an atomic.
        unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    });
    GENERATION.load(Ordering::Relaxed)
}
