//! Where things lie inside an index file, and what index files are called.

use crate::error::{Error, Result};

pub const HEADER_BYTES: usize = 8 + 8 + 8 + 8 + 4 + 4; // begin and end time, begin and end offset, two counts
pub const SLOT_BYTES: usize = 4; // number of the newest entry of the chain
pub const ENTRY_BYTES: usize = 4 + 8 + 4 + 4; // key hash, log offset, seconds, previous entry of the chain
const _: () = assert!(HEADER_BYTES == 40 && ENTRY_BYTES == 20);

/// Java's defaults for [`Layout`].
pub const SLOTS_DEFAULT: u32 = 5_000_000;
pub const ENTRIES_DEFAULT: u32 = 20_000_000;

/// The shape of one index file: header, slots, entries. Entry 0 is never used: 0 means "none".
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub slots: u32,
    pub entries: u32,
}

impl Layout {
    pub fn new(slots: u32, entries: u32) -> Result<Self> {
        let limit = i32::MAX as u32;
        if !(1..=limit).contains(&slots) || !(2..=limit).contains(&entries) {
            return Err(Error::Config(format!(
                "an index file needs 1 to {limit} slots and 2 to {limit} entries, not {slots} and {entries}"
            )));
        }
        Ok(Self { slots, entries })
    }

    /// Size of the file.
    pub fn bytes(self) -> usize {
        self.entry_at(self.entries)
    }

    /// Where the entries begin, which is where the slots end.
    pub fn entries_at(self) -> usize {
        HEADER_BYTES + self.slots as usize * SLOT_BYTES
    }

    /// The slot of a key hash; a negative hash, which only a damaged file has, gets one too.
    pub fn slot_at(self, key_hash: i32) -> usize {
        HEADER_BYTES + (key_hash as u32 % self.slots) as usize * SLOT_BYTES
    }

    pub fn entry_at(self, number: u32) -> usize {
        self.entries_at() + number as usize * ENTRY_BYTES
    }
}

/// The name of an index file made at `now_ms`: the local time as `yyyyMMddHHmmssSSS`.
///
/// Files are read in the order of their names, so the name is one more than `last` when the clock did not
/// move on since (same millisecond, end of summer time, a corrected clock).
pub fn name_at(now_ms: i64, last: Option<&str>) -> String {
    let name = local_time(now_ms);
    match last {
        Some(last) if name.as_str() <= last => name_after(last),
        _ => name,
    }
}

/// The next name in order.
pub fn name_after(name: &str) -> String {
    format!("{:017}", name.parse::<u64>().unwrap_or(0).saturating_add(1))
}

/// Whether Java would take the name for an index file: a number of 64 bits.
pub fn is_name(name: &str) -> bool {
    name.bytes().all(|byte| byte.is_ascii_digit()) && name.parse::<i64>().is_ok()
}

fn local_time(now_ms: i64) -> String {
    let seconds: libc::time_t = now_ms.div_euclid(1000);
    // SAFETY: both pointers are valid; a `tm` of zeros is a valid value.
    let time = unsafe {
        let mut time: libc::tm = std::mem::zeroed();
        libc::localtime_r(&raw const seconds, &raw mut time);
        time
    };
    format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}{:03}",
        time.tm_year + 1900,
        time.tm_mon + 1,
        time.tm_mday,
        time.tm_hour,
        time.tm_min,
        time.tm_sec,
        now_ms.rem_euclid(1000)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: IX-01, IX-02, N-11
    #[test]
    fn a_default_file_has_420_000_040_bytes() {
        let layout = Layout::new(SLOTS_DEFAULT, ENTRIES_DEFAULT).unwrap();
        assert_eq!(layout.bytes(), 420_000_040);
        assert_eq!(Layout::new(10, 20).unwrap().bytes(), 480);
    }

    #[test]
    fn a_shape_that_cannot_work_is_refused() {
        for (slots, entries) in [(0, 20), (10, 1), (u32::MAX, 20), (10, 1 << 31)] {
            assert!(matches!(Layout::new(slots, entries), Err(Error::Config(_))));
        }
    }

    #[test]
    fn names_are_local_times_that_only_grow() {
        let name = name_at(1_700_000_000_123, None);
        assert!(name.len() == 17 && name.starts_with("202311") && name.ends_with("123"), "{name}");
        assert_eq!(name_at(1_700_000_000_123, Some("20200101000000000")), name);
        assert_eq!(name_at(1_700_000_000_123, Some(&name)), name_after(&name));
        assert_eq!(name_at(1_700_000_000_123, Some("20990101000000000")), "20990101000000001");
    }

    #[test]
    fn only_numbers_are_names() {
        assert!(is_name("20231114221320123"));
        for name in ["", "+1", "-1", "abc", "20231114221320123.tmp", "99999999999999999999"] {
            assert!(!is_name(name), "{name}");
        }
    }
}
