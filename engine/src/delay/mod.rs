//! Messages that wait in a topic of the broker's until their time has come, and then go on to their own.
//!
//! - `onward`: a waiting message as it goes on
//! - `delivered`: what went on before a crash, found again in the log
//! - `levels`: delay levels, one queue each
//! - `timer`: messages timed to any moment

pub mod delivered;
pub mod levels;
pub mod onward;
#[cfg(test)]
mod tests;
pub mod timer;

pub const SCHEDULE_TOPIC: &[u8] = b"SCHEDULE_TOPIC_XXXX";
pub const TIMER_TOPIC: &[u8] = b"rmq_sys_wheel_timer";
