//! A wheel of any content opens, and is looked through as slot by slot.

#![no_main]

use std::cell::RefCell;
use std::fs::{self, OpenOptions};
use std::os::unix::fs::FileExt;

use libfuzzer_sys::fuzz_target;
use tailfin_engine::delay::timer::unit::NO_POSITION;
use tailfin_engine::delay::timer::wheel::{SLOTS, Slot, WHEEL_BYTES, Wheel};
use tempfile::TempDir;

thread_local!(static DIR: RefCell<TempDir> = RefCell::new(tempfile::tempdir().unwrap()));

const PRECISION_MS: i64 = 1000;
const SLOT_BYTES: usize = 32;
/// The file begins and ends with slots that may hold something.
const USED: i64 = 40;
const SLOTS_IN_FILE: i64 = 2 * SLOTS;

fuzz_target!(|input: (bool, u8, Vec<(u8, bool, [u8; SLOT_BYTES])>, Vec<(u8, i64)>)| {
    let (is_cut, turn, slots, puts) = input;
    let path = DIR.with_borrow(|dir| dir.path().join("timerwheel"));
    if is_cut {
        fs::write(path.with_extension("cut"), vec![0; 1 + slots.len()]).unwrap();
        assert!(Wheel::open(&path.with_extension("cut"), PRECISION_MS).is_err());
    }
    let (mut wheel, _) = Wheel::open(&path, PRECISION_MS).unwrap();
    let file = OpenOptions::new().write(true).open(&path).unwrap();
    for at in [0, WHEEL_BYTES - USED as u64 * SLOT_BYTES as u64] {
        file.write_all_at(&[0; USED as usize * SLOT_BYTES], at).unwrap();
    }
    // From a little before the end of one turn to a little behind the beginning of the next.
    let first = (i64::from(turn) + 1) * SLOTS_IN_FILE - USED;
    let number = |at: u8| first + i64::from(at) % (2 * USED);
    for (at, is_told, mut slot) in slots {
        if is_told {
            slot[..8].copy_from_slice(&number(at).to_be_bytes());
        }
        let position = (number(at) % SLOTS_IN_FILE) as u64 * SLOT_BYTES as u64;
        file.write_all_at(&slot, position).unwrap();
    }
    for &(at, last) in &puts {
        wheel.put(number(at) * PRECISION_MS, Slot { first: last, last, count: 1 });
    }
    check(&wheel, first);
    wheel.write_out().unwrap();
    check(&wheel, first);
    for &(at, last) in puts.iter().rev().take(1) {
        assert_eq!(wheel.get(number(at) * PRECISION_MS).unwrap(), Slot { first: last, last, count: 1 });
    }
});

fn check(wheel: &Wheel, first: i64) {
    let end = first + 2 * USED;
    let used = |number: &i64| wheel.get(number * PRECISION_MS).unwrap().last != NO_POSITION;
    for from in [first, first + USED / 2, end] {
        let found = wheel.next_used(from * PRECISION_MS, end * PRECISION_MS).unwrap();
        assert_eq!(found, (from..end).find(used).map(|number| number * PRECISION_MS));
    }
}
