//! A consume queue of any content opens, and then behaves like a queue.

#![no_main]

use std::cell::RefCell;
use std::fs;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tailfin_engine::log::queue::{Appended, QueueConfig, QueueTable, Unit};
use tempfile::TempDir;

thread_local!(static DIR: RefCell<TempDir> = RefCell::new(tempfile::tempdir().unwrap()));

const FILE_BYTES: usize = 20 * 8;

fuzz_target!(|bytes: &[u8]| {
    let root = DIR.with_borrow(|dir| dir.path().to_path_buf());
    let dir = root.join("T/0");
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    let (start, content) = bytes.split_at(bytes.len().min(1));
    let first = start.first().map_or(0, |start| usize::from(start % 4));
    for (n, part) in content.chunks(FILE_BYTES).enumerate() {
        let mut part = part.to_vec();
        part.resize(FILE_BYTES, 0);
        fs::write(dir.join(format!("{:020}", (first + n) * FILE_BYTES)), part).unwrap();
    }
    let config = QueueConfig { file_bytes: FILE_BYTES as u64, ..QueueConfig::default() };
    let table = QueueTable::open(&root, config.clone(), Arc::default()).unwrap();
    let Some(queue) = table.get(b"T", 0) else { return };
    let (min, max) = (queue.min_offset(), queue.max_offset());
    assert!(0 <= min && min <= max && max as usize <= (first + content.len().div_ceil(FILE_BYTES)) * 8);
    let mut units = Vec::new();
    queue.read(min, usize::MAX, &mut units).unwrap();
    assert_eq!(units.len() as i64, max - min);

    let limit = i64::from(start.first().copied().unwrap_or(0)) << 8;
    queue.truncate_physical(limit).unwrap();
    assert!(queue.max_offset() <= max);
    queue.correct_min(limit / 2).unwrap();
    queue.delete_expired_files(limit / 2).unwrap();
    assert!(queue.min_offset() <= queue.max_offset());
    let end = queue.max_offset();
    let unit = Unit { physical_offset: i64::MAX - 1000, size: 100, tags_code: 7 };
    assert_eq!(queue.append(end, unit).unwrap(), Appended::Written);
    queue.sync().unwrap();
    drop(queue);
    drop(table);
    let table = QueueTable::open(&root, config, Arc::default()).unwrap();
    let queue = table.get(b"T", 0).unwrap();
    assert_eq!((queue.max_offset(), queue.unit_at(end).unwrap()), (end + 1, Some(unit)));
});
