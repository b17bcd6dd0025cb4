//! What decodes as a unit of the timer log encodes back to the same bytes, and has a slot.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::delay::timer::unit::{UNIT_BYTES, Unit, magic};

/// The last field is written as zeros and not read.
const READ_BYTES: usize = UNIT_BYTES - 8;

fuzz_target!(|input: (bool, [u8; UNIT_BYTES])| {
    let (is_sized, mut bytes) = input;
    if is_sized {
        bytes[..4].copy_from_slice(&(UNIT_BYTES as u32).to_be_bytes());
        bytes[12..15].fill(0);
    }
    let Some(unit) = Unit::decode(&bytes) else { return };
    let again = unit.encode();
    assert_eq!(again[..READ_BYTES], bytes[..READ_BYTES]);
    assert_eq!(Unit::decode(&again), Some(unit));
    assert!(unit.magic & !magic::ALL == 0);
    assert_eq!(unit.time_ms() < unit.written_ms, unit.delay_ms < 0 && unit.written_ms > i64::MIN);
});
