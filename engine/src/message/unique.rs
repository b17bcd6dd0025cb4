//! Unique message keys, for messages that come without one.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::IpAddr;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use crate::log::clock::coarse_now_ms;

const PREFIX_BYTES_MAX: usize = 16 + 2 + 4;
const KEY_TEXT_MAX: usize = 2 * (PREFIX_BYTES_MAX + 4 + 2);

/// Makes keys of RocketMQ's form: address, process, a constant of the process, time, counter, all in hex.
///
/// The time is that since the month began: readers work out from it when a message was made.
#[derive(Debug)]
pub struct UniqueKeys {
    prefix: [u8; 2 * PREFIX_BYTES_MAX],
    prefix_len: usize,
    /// When the month began, and when it ends.
    month_ms: [AtomicI64; 2],
    counter: AtomicU32,
}

/// The part of a key in which those of one maker differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    since_ms: u32,
    count: u16,
}

/// The text of a key, without a place on the heap.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    text: [u8; KEY_TEXT_MAX],
    len: usize,
}

impl Key {
    pub fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.text[..self.len]
    }
}

impl UniqueKeys {
    pub fn new(host: IpAddr) -> Self {
        let mut bytes = Vec::with_capacity(PREFIX_BYTES_MAX);
        match host {
            IpAddr::V4(ip) => bytes.extend_from_slice(&ip.octets()),
            IpAddr::V6(ip) => bytes.extend_from_slice(&ip.octets()),
        }
        bytes.extend_from_slice(&(std::process::id() as u16).to_be_bytes());
        // Another one for each maker: several of a process have the rest in common.
        bytes.extend_from_slice(&(RandomState::new().build_hasher().finish() as u32).to_be_bytes());
        let mut prefix = [0; 2 * PREFIX_BYTES_MAX];
        for (digits, byte) in prefix.as_chunks_mut().0.iter_mut().zip(&bytes) {
            *digits = hex(*byte);
        }
        let month_ms = month_ms(coarse_now_ms()).map(AtomicI64::new);
        Self { prefix, prefix_len: 2 * bytes.len(), month_ms, counter: AtomicU32::new(0) }
    }

    /// What makes the next key differ from those before.
    #[inline]
    pub fn stamp(&self) -> Stamp {
        let now = coarse_now_ms();
        let [start, end] = &self.month_ms;
        if now >= end.load(Ordering::Relaxed) {
            for (field, value) in self.month_ms.iter().zip(month_ms(now)) {
                field.store(value, Ordering::Relaxed);
            }
        }
        let since_ms = (now - start.load(Ordering::Relaxed)).max(0) as u32;
        Stamp { since_ms, count: self.counter.fetch_add(1, Ordering::Relaxed) as u16 }
    }

    /// The key of a stamp.
    #[inline]
    pub fn key(&self, stamp: Stamp) -> Key {
        let mut key = Key { text: [0; KEY_TEXT_MAX], len: self.prefix_len + 12 };
        key.text[..2 * PREFIX_BYTES_MAX].copy_from_slice(&self.prefix);
        let since = stamp.since_ms.to_be_bytes().into_iter();
        let digits = key.text[self.prefix_len..].as_chunks_mut().0;
        for (digits, byte) in digits.iter_mut().zip(since.chain(stamp.count.to_be_bytes())) {
            *digits = hex(byte);
        }
        key
    }
}

#[inline]
fn hex(byte: u8) -> [u8; 2] {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    [HEX[usize::from(byte >> 4)], HEX[usize::from(byte & 0xF)]]
}

/// When the month of a time began and ends, by the local clock.
#[cold]
fn month_ms(now_ms: i64) -> [i64; 2] {
    let seconds: libc::time_t = now_ms / 1000;
    // SAFETY: an all-zero `tm` is a valid one, and both calls only read and write what they are given.
    unsafe {
        let mut parts: libc::tm = std::mem::zeroed();
        if libc::localtime_r(&raw const seconds, &raw mut parts).is_null() {
            return [now_ms, i64::MAX];
        }
        [0, 1].map(|months| {
            let mut first: libc::tm = std::mem::zeroed();
            (first.tm_year, first.tm_mon, first.tm_mday) = (parts.tm_year, parts.tm_mon + months, 1);
            first.tm_isdst = -1;
            libc::mktime(&raw mut first) * 1000
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_as_long_as_rocketmqs_and_differ() {
        for (host, len) in [("10.0.0.1", 32), ("fe80::1", 56)] {
            let keys = UniqueKeys::new(host.parse().unwrap());
            let (one, other) = (keys.key(keys.stamp()), keys.key(keys.stamp()));
            assert_eq!((one.as_str().len(), other.as_str().len()), (len, len));
            assert_ne!(one.as_str(), other.as_str());
            assert!(one.as_str().bytes().all(|byte| byte.is_ascii_digit() || (b'A'..=b'F').contains(&byte)));
        }
    }

    #[test]
    fn a_key_begins_with_address_and_process_and_ends_with_its_stamp() {
        let keys = UniqueKeys::new("127.0.0.1".parse().unwrap());
        let key = keys.key(Stamp { since_ms: 3, count: 4 });
        let pid = format!("7F000001{:04X}", std::process::id() as u16);
        assert!(key.as_str().starts_with(&pid), "{}", key.as_str());
        assert!(key.as_str().ends_with("000000030004"));
    }

    #[test]
    fn two_makers_of_a_process_differ() {
        let keys = || UniqueKeys::new("127.0.0.1".parse().unwrap());
        let stamp = Stamp { since_ms: 3, count: 4 };
        assert_ne!(keys().key(stamp).as_str(), keys().key(stamp).as_str());
    }

    #[test]
    fn a_time_lies_in_its_month() {
        for now in (0..40).map(|day| 1_794_000_000_000 + day * 86_400_000) {
            let [start, end] = month_ms(now);
            assert!((start..end).contains(&now));
            assert!((27 * 86_400_000..32 * 86_400_000).contains(&(end - start)));
            assert_eq!(month_ms(end)[0], end);
        }
    }
}
