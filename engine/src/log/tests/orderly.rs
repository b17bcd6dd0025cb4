//! Starts that find the log as an orderly stop left it, and those that do not.

use super::*;
use crate::log::config::ORDERLY_STOP;
use crate::log::segment::file_name;

const FILE: u64 = 64 * 1024;
const AS_LEFT: &str = "the log is as an orderly stop left it";
const WALKED: &str = "recovered after an orderly stop: checked";

/// What is changed, and how.
type Change<'a> = (&'a str, &'a dyn Fn(&Path));

fn open_noting(root: &Path) -> Store {
    open_with(root, |config| config.note_orderly_from_bytes = 0)
}

/// A closed store of four files and a bit, and its directory.
fn closed() -> (TempDir, usize) {
    let dir = directory();
    let store = open_noting(dir.path());
    put_with(&store, "T", &[("KEYS", "first")]);
    let count = 1 + fill_files(&store, "T", 5);
    put(&store, "Other", b"one");
    settle(&store);
    store.close().unwrap();
    (dir, count)
}

fn change_byte(path: &Path, position: usize) {
    let mut bytes = fs::read(path).unwrap();
    bytes[position] ^= 1;
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_log_that_is_as_it_was_left_is_not_walked_and_goes_on() {
    let (dir, count) = closed();
    let store = open_noting(dir.path());
    let said = notes(&store);
    assert!(has_note(&said, Level::Info, AS_LEFT) && !has_note(&said, Level::Info, WALKED), "{said:?}");
    assert!(!dir.path().join(ORDERLY_STOP).exists(), "it is true of one start only");
    assert_eq!(bodies(&store, "T").len(), count);
    assert_eq!(put(&store, "T", b"next").queue_offset, count as i64);
    assert_eq!(put(&store, "Other", b"two").queue_offset, 1);
    let copy = killed(dir.path());
    store.close().unwrap();
    for root in [dir.path(), copy.path()] {
        let store = open_noting(root);
        assert_eq!(bodies(&store, "T").len(), count + 1);
        assert_eq!(bodies(&store, "Other"), [b"one", b"two"]);
    }
}

#[test]
fn whatever_changed_since_the_stop_leads_to_a_walk() {
    let log = |root: &Path, file: u64| root.join("commitlog").join(file_name(file * FILE));
    let changes: [Change<'_>; 8] = [
        ("a byte of the first file that a walk checks", &|root| change_byte(&log(root, 2), 600)),
        ("a byte of the last file", &|root| change_byte(&log(root, 4), 600)),
        ("the same bytes written again", &|root| {
            let bytes = fs::read(log(root, 3)).unwrap();
            fs::write(log(root, 3), bytes).unwrap();
        }),
        ("a file put back from a copy", &|root| {
            let bytes = fs::read(log(root, 3)).unwrap();
            fs::remove_file(log(root, 3)).unwrap();
            fs::write(log(root, 3), bytes).unwrap();
        }),
        ("a queue that is gone", &|root| fs::remove_dir_all(root.join("consumequeue/Other")).unwrap()),
        ("an index that is gone", &|root| fs::remove_dir_all(root.join("index")).unwrap()),
        ("a damaged note", &|root| change_byte(&root.join(ORDERLY_STOP), 6)),
        ("an empty note", &|root| fs::write(root.join(ORDERLY_STOP), "").unwrap()),
    ];
    for (what, change) in changes {
        let (dir, count) = closed();
        change(dir.path());
        let store = open_noting(dir.path());
        let said = notes(&store);
        assert!(
            has_note(&said, Level::Info, WALKED) && !has_note(&said, Level::Info, AS_LEFT),
            "{what}: {said:?}"
        );
        assert_eq!(store.derived.queues.get(b"T", 0).unwrap().max_offset(), count as i64, "{what}");
        assert_eq!(bodies(&store, "Other"), [b"one"], "{what}");
    }
}

#[test]
fn a_copied_directory_is_walked() {
    let (dir, count) = closed();
    let copy = killed(dir.path());
    let store = open_noting(copy.path());
    assert!(has_note(&notes(&store), Level::Info, WALKED));
    assert_eq!(bodies(&store, "T").len(), count);
}

#[test]
fn who_asks_for_checksums_of_whole_records_gets_a_walk() {
    let (dir, _) = closed();
    let store = open_with(dir.path(), |config| config.verify_property_crc = true);
    assert!(!has_note(&notes(&store), Level::Info, AS_LEFT));
}

#[test]
fn a_short_log_leaves_no_note() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "T", b"one");
    settle(&store);
    store.close().unwrap();
    assert!(!dir.path().join(ORDERLY_STOP).exists());
}

#[test]
fn a_note_that_cannot_be_written_does_not_spoil_the_stop() {
    let dir = directory();
    let store = open_noting(dir.path());
    put(&store, "T", b"one");
    settle(&store);
    fs::create_dir(dir.path().join(ORDERLY_STOP)).unwrap();
    store.close().unwrap();
    assert!(has_note(&notes(&store), Level::Warning, "the next start walks the end of the log"));
    assert!(!dir.path().join("abort").exists());
}
