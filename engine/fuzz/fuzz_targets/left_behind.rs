//! Whatever the last stop left in `abort` and in the note of an orderly one, an empty store opens and stays empty.

#![no_main]

use std::cell::RefCell;
use std::fs;
use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tailfin_engine::log::config::StoreConfig;
use tailfin_engine::log::markers::{AbortFile, LastStop};
use tailfin_engine::log::notes::Notes;
use tailfin_engine::log::store::Store;
use tempfile::TempDir;

thread_local!(static DIR: RefCell<TempDir> = RefCell::new(tempfile::tempdir().unwrap()));

fuzz_target!(|input: (Option<&[u8]>, bool, &[u8])| {
    let (abort, is_sealed, note) = input;
    let root = DIR.with_borrow(|dir| dir.path().join("store"));
    let _ = fs::remove_dir_all(&root);
    fs::create_dir_all(&root).unwrap();
    let config = StoreConfig { log_file_bytes: 1 << 16, index_enabled: false, ..StoreConfig::usual(&root) };
    let abort_file = AbortFile::at(&config.abort_path);
    if let Some(text) = abort {
        fs::write(&config.abort_path, text).unwrap();
        assert_ne!(abort_file.last_stop().unwrap(), LastStop::Orderly);
    }
    let mut note = note.to_vec();
    if is_sealed {
        note.splice(..0, *b"end 4096 ");
        let checksum = crc32fast::hash(&note);
        note.extend_from_slice(format!("checksum {checksum}\n").as_bytes());
    }
    fs::write(&config.orderly_stop_path, note).unwrap();
    let store = Store::open(config.clone(), Arc::new(Notes::default())).unwrap();
    assert!(!config.orderly_stop_path.exists());
    assert_eq!(store.log.written(), 0);
    store.close().unwrap();
    assert_eq!(abort_file.last_stop().unwrap(), LastStop::Orderly);
});
