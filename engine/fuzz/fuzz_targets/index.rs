//! An index file of any content can be queried, written to and cut, and ends every walk.

#![no_main]

use std::cell::RefCell;
use std::fs;

use libfuzzer_sys::fuzz_target;
use tailfin_engine::log::index::{IndexRequest, IndexService, Layout};
use tailfin_engine::log::markers::LastStop;
use tailfin_engine::log::notes::Notes;
use tempfile::TempDir;

thread_local!(static DIR: RefCell<TempDir> = RefCell::new(tempfile::tempdir().unwrap()));

const NAMES: [&str; 2] = ["20260101000000000", "20260101000000001"];

fuzz_target!(|bytes: &[u8]| {
    let dir = DIR.with_borrow(|dir| dir.path().to_path_buf());
    for entry in fs::read_dir(&dir).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    let layout = Layout::new(10, 20).unwrap();
    let (flags, content) = bytes.split_at(bytes.len().min(2));
    let flag = |bit: u8| flags.first().is_some_and(|flags| flags & bit != 0);
    for (name, part) in NAMES.iter().zip(content.chunks(layout.bytes())) {
        let mut part = part.to_vec();
        if !flag(1) {
            part.resize(layout.bytes(), 0);
        }
        fs::write(dir.join(name), part).unwrap();
    }
    let last_stop = match (flag(2), flag(8)) {
        (true, _) => LastStop::Orderly,
        (false, true) => LastStop::Killed,
        (false, false) => LastStop::Crashed,
    };
    let Ok(index) = IndexService::open(&dir, layout, &Notes::default(), last_stop, 0) else { return };
    for hash in [0, 7, -7, i32::MIN, i32::MAX] {
        let found = index.query(hash, 0, i64::MAX, 64).unwrap();
        assert!(found.len() <= 64);
        index.query(hash, i64::MIN, i64::MIN + 1, usize::MAX).unwrap();
    }
    let request = IndexRequest { physical_offset: i64::MAX - 1, store_timestamp: 9, hashes: [1, 2, 3] };
    let mut writer = index.writer();
    let built = writer.build(request).and_then(|()| writer.settle());
    drop(writer);
    if built.is_ok() && flag(4) {
        assert!(index.end_physical_offset() <= i64::MAX);
    }
    let _ = index.truncate(i64::from(flags.last().copied().unwrap_or(0)) * 10);
    let _ = index.delete_expired(1000);
    index.query(7, 0, i64::MAX, 64).unwrap();
});
