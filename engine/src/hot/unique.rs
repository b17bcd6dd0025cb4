//! Unique message keys, for messages that came without one.

use std::net::{IpAddr, SocketAddr};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::log::clock::now_ms;

/// Makes keys of RocketMQ's form: address, process, a constant of the process, time, counter, all in hex.
#[derive(Debug)]
pub struct UniqueKeys {
    prefix: String,
    began_ms: i64,
    counter: AtomicU32,
}

impl UniqueKeys {
    pub fn new(host: &SocketAddr) -> Self {
        use std::fmt::Write;
        let mut prefix = String::new();
        let mut push = |bytes: &[u8]| bytes.iter().for_each(|byte| _ = write!(prefix, "{byte:02X}"));
        match host.ip() {
            IpAddr::V4(ip) => push(&ip.octets()),
            IpAddr::V6(ip) => push(&ip.octets()),
        }
        let began_ms = now_ms();
        push(&(std::process::id() as u16).to_be_bytes());
        push(&(began_ms as u32 ^ u32::from(host.port()).rotate_left(16)).to_be_bytes());
        Self { prefix, began_ms, counter: AtomicU32::new(0) }
    }

    /// Append the next key to `text`.
    pub fn push(&self, text: &mut String) {
        use std::fmt::Write;
        let since = (now_ms() - self.began_ms).max(0) as u32;
        let count = self.counter.fetch_add(1, Ordering::Relaxed) as u16;
        text.push_str(&self.prefix);
        let _ = write!(text, "{since:08X}{count:04X}"); // a String takes everything
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_long_as_rocketmqs_and_differ() {
        for (host, len) in [("10.0.0.1:10911", 32), ("[fe80::1]:10911", 56)] {
            let keys = UniqueKeys::new(&host.parse().unwrap());
            let (mut one, mut other) = (String::new(), String::new());
            keys.push(&mut one);
            keys.push(&mut other);
            assert_eq!((one.len(), other.len()), (len, len));
            assert_ne!(one, other);
            assert!(one.bytes().all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte)));
        }
    }
}
