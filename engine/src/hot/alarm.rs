//! Wakes one thread at the earliest of many times.

use std::time::Instant;

use parking_lot::{Condvar, Mutex};

#[derive(Debug, Default)]
pub struct Alarm {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    at: Option<Instant>,
    stopped: bool,
}

impl Alarm {
    /// Ring at this time at the latest.
    pub fn ring_by(&self, at: Instant) {
        let mut state = self.state.lock();
        if state.at.is_none_or(|before| at < before) {
            state.at = Some(at);
            self.changed.notify_one();
        }
    }

    /// End the wait for good.
    pub fn stop(&self) {
        self.state.lock().stopped = true;
        self.changed.notify_one();
    }

    /// Sleep until it rings; false once it was stopped.
    pub fn wait(&self) -> bool {
        let mut state = self.state.lock();
        loop {
            if state.stopped {
                return false;
            }
            match state.at {
                Some(at) if at <= Instant::now() => {
                    state.at = None;
                    return true;
                }
                Some(at) => _ = self.changed.wait_until(&mut state, at),
                None => self.changed.wait(&mut state),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn it_rings_at_the_earliest_time_and_then_forgets_it() {
        let alarm = Alarm::default();
        let now = Instant::now();
        alarm.ring_by(now + Duration::from_hours(1));
        alarm.ring_by(now + Duration::from_millis(5));
        alarm.ring_by(now + Duration::from_hours(2));
        assert!(alarm.wait());
        assert!(Instant::now() >= now + Duration::from_millis(5));
        assert_eq!(alarm.state.lock().at, None);
        alarm.stop();
        assert!(!alarm.wait());
    }
}
