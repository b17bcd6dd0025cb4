//! Extension files of any content open, and take and give units.

#![no_main]

use std::borrow::Cow;
use std::cell::RefCell;
use std::fs;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tailfin_engine::log::queue::FileCache;
use tailfin_engine::log::queue::ext::{ConsumeQueueExt, ExtUnit};
use tempfile::TempDir;

thread_local!(static DIR: RefCell<TempDir> = RefCell::new(tempfile::tempdir().unwrap()));

const FILE_BYTES: usize = 128;

fuzz_target!(|bytes: &[u8]| {
    let dir = DIR.with_borrow(|dir| dir.path().join("ext"));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir_all(&dir).unwrap();
    for (n, part) in bytes.chunks(FILE_BYTES).enumerate() {
        let mut part = part.to_vec();
        part.resize(FILE_BYTES, 0);
        fs::write(dir.join(format!("{:020}", n * FILE_BYTES)), part).unwrap();
    }
    let open = || {
        let files = Arc::new(FileCache::new(4));
        ConsumeQueueExt::open(dir.clone(), FILE_BYTES as u64, files, Arc::default()).unwrap()
    };
    let ext = open();
    for position in 0..bytes.len() as i64 {
        let _ = ext.get(i64::MIN + position).unwrap();
    }
    let _ = (ext.get(0).unwrap(), ext.get(i64::MAX).unwrap(), ext.get(i64::from(i32::MIN) - 1).unwrap());
    let bitmap = Cow::Borrowed(&bytes[..bytes.len().min(90)]);
    let unit = ExtUnit { tags_code: 7, store_time: 8, bitmap };
    let address = ext.put(&unit).unwrap().expect("room for it in an empty file");
    assert_eq!(ext.get(address).unwrap().as_ref(), Some(&unit));
    ext.write_out().unwrap();
    drop(ext);
    let again = open();
    assert_eq!(again.get(address).unwrap().as_ref(), Some(&unit));
    again.truncate_min(address).unwrap();
    again.truncate_max(address).unwrap();
    assert_eq!(again.get(address).unwrap().as_ref(), Some(&unit));
});
