//! Any bytes are a timer's checkpoint or none, and storing one does not change what it says.

#![no_main]

use std::cell::RefCell;
use std::fs;

use libfuzzer_sys::fuzz_target;
use tailfin_engine::delay::timer::checkpoint::{Checkpoint, IMAGE_BYTES};
use tempfile::TempDir;

thread_local!(static DIR: RefCell<TempDir> = RefCell::new(tempfile::tempdir().unwrap()));

fuzz_target!(|bytes: &[u8]| {
    let path = DIR.with_borrow(|dir| dir.path().join("timercheck"));
    fs::write(&path, bytes).unwrap();
    let Some(read) = Checkpoint::load(&path).unwrap() else {
        assert!(bytes.iter().take(IMAGE_BYTES).all(|&byte| byte == 0));
        return;
    };
    assert!(read.queue_offset >= 0 && i64::try_from(read.log_position).is_ok());
    read.store(&path).unwrap();
    let from = Some(read.delivered_from.unwrap_or(0));
    let again = Checkpoint::load(&path).unwrap();
    let is_blank = read.image() == [0; IMAGE_BYTES];
    assert_eq!(again, (!is_blank).then_some(Checkpoint { delivered_from: from, ..read }));
});
