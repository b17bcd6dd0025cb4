//! Any bytes are a checkpoint, and saving one does not change what it says.

#![no_main]

use std::cell::RefCell;
use std::fs;

use libfuzzer_sys::fuzz_target;
use tailfin_engine::log::checkpoint::{CHECKPOINT_BYTES, Checkpoint};
use tailfin_engine::log::notes::Notes;
use tempfile::TempDir;

thread_local!(static DIR: RefCell<TempDir> = RefCell::new(tempfile::tempdir().unwrap()));

fuzz_target!(|bytes: &[u8]| {
    let path = DIR.with_borrow(|dir| dir.path().join("checkpoint"));
    // Half of the inputs get the right size, since no other is read at all.
    let mut page = bytes.to_vec();
    if bytes.first().is_none_or(|first| first % 2 == 0) {
        page.resize(CHECKPOINT_BYTES, 0);
    }
    fs::write(&path, page).unwrap();
    let checkpoint = Checkpoint::load(&path, &Notes::default()).unwrap();
    let values = checkpoint.values();
    assert!(checkpoint.min_timestamp() >= 0 && checkpoint.min_timestamp_with_index() >= 0);
    checkpoint.save().unwrap();
    assert_eq!(Checkpoint::load(&path, &Notes::default()).unwrap().values(), values);
});
