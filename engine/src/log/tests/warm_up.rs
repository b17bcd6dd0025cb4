//! Files touched and locked ahead of use (`warmMapedFileEnable`).

use std::os::unix::fs::MetadataExt;

use super::*;
use crate::log::segment::file_name;

const FILE: u64 = 256 * 1024;

fn warm(config: &mut StoreConfig) {
    config.log_file_bytes = FILE;
    config.warm_up = true;
}

/// KiB of a file's mapping that are locked; `None` when it is not mapped.
fn locked_kib(path: &Path) -> Option<u64> {
    let maps = fs::read_to_string("/proc/self/smaps").unwrap();
    let mut lines = maps.lines().skip_while(|line| !line.ends_with(path.to_str().unwrap()));
    lines.next()?;
    let line = lines.find(|line| line.starts_with("Locked:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

// shows: AL-12, AL-13
#[test]
fn a_warm_file_has_all_its_space_before_it_is_used() {
    let dir = directory();
    let store = open_with(dir.path(), warm);
    put(&store, "T", b"x");
    for n in 0..3 {
        let path = dir.path().join("commitlog").join(file_name(n * FILE));
        eventually("a warm file", || fs::metadata(&path).is_ok_and(|about| about.blocks() * 512 >= FILE));
    }
    assert_eq!(bodies(&store, "T"), [b"x"]);
}

// shows: CL-10
#[test]
fn a_file_that_was_rolled_from_is_unlocked() {
    let dir = directory();
    let store = open_with(dir.path(), warm);
    let path = |n: u64| dir.path().join("commitlog").join(file_name(n * FILE));
    put(&store, "T", b"x");
    if has_note(&notes(&store), Level::Warning, "without locking memory") {
        eprintln!("this system does not allow memory to be locked");
        return;
    }
    assert_eq!(locked_kib(&path(0)), Some(FILE / 1024));
    fill_files(&store, "T", 2);
    assert_eq!(locked_kib(&path(0)), Some(0), "the full one");
    assert_eq!(locked_kib(&path(1)), Some(FILE / 1024), "the one in use");
}

// shows: AL-11
#[test]
fn a_file_that_takes_long_to_make_is_told() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        warm(config);
        config.log_file_bytes = 64 << 20;
        config.flush_mode = crate::log::config::FlushMode::Sync;
        config.warm_up_flush_pages = 1024;
    });
    let began = Instant::now();
    put(&store, "T", b"x");
    let took = began.elapsed();
    let told = has_note(&notes(&store), Level::Info, "making log file 00000000000000000000 took");
    assert!(told || took < Duration::from_millis(20), "{took:?}");
}
