//! A log of any content can be walked without a store: each walk ends, and says what it steps over.

#![no_main]

use std::cell::RefCell;
use std::fs;

use libfuzzer_sys::fuzz_target;
use tailfin_engine::log::offline::OfflineLog;
use tailfin_engine::message::Record;
use tempfile::TempDir;

thread_local!(static DIR: RefCell<TempDir> = RefCell::new(tempfile::tempdir().unwrap()));

const FILE_BYTES: usize = 512;

fuzz_target!(|bytes: &[u8]| {
    let dir = DIR.with_borrow(|dir| dir.path().to_path_buf());
    for entry in fs::read_dir(&dir).unwrap() {
        fs::remove_file(entry.unwrap().path()).unwrap();
    }
    for (n, part) in bytes.chunks(FILE_BYTES).enumerate() {
        fs::write(dir.join(format!("{:020}", n * FILE_BYTES)), part).unwrap();
    }
    let log = OfflineLog::open(&dir).unwrap();
    let (mut at, mut records, mut steps) = (log.min_offset(), 0, 0);
    loop {
        steps += 1;
        assert!(steps <= 2 * bytes.len() + 2, "the walk does not end");
        let scan = log.scan(at, 3).unwrap();
        for found in &scan.records {
            // SAFETY: nobody writes to the file.
            let record = Record::parse(unsafe { found.mapping.bytes(found.range.clone()) }).unwrap();
            assert!(record.body_is_intact());
            assert_eq!(record.physical_offset().cast_unsigned(), found.physical_offset);
            records += 1;
        }
        match (scan.damage, scan.records.is_empty()) {
            (Some(_), _) => match log.next_record(scan.next).unwrap() {
                Some(next) => {
                    assert!(next > scan.next && log.record_at(next).unwrap().is_some());
                    at = next;
                }
                None => break,
            },
            (None, true) => break,
            (None, false) => at = scan.next,
        }
    }
    assert!(records * 91 <= bytes.len());
});
