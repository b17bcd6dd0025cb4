//! Starts that find the log as an orderly stop left it, and those that do not.

use super::*;
use crate::log::config::ORDERLY_STOP;
use crate::log::segment::file_name;
use crate::message::samples::{encoded, stamp, usual};

const FILE: u64 = 64 * 1024;
const AS_LEFT: &str = "the log is as an orderly stop left it";
const WALKED: &str = "recovered after an orderly stop: checked";

/// What is changed, and how.
type Change<'a> = (&'a str, &'a dyn Fn(&Path));

/// A closed store of four files and a bit, and its directory.
fn closed() -> (TempDir, usize) {
    let dir = directory();
    let store = open(dir.path());
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
    let store = open(dir.path());
    let said = notes(&store);
    assert!(has_note(&said, Level::Info, AS_LEFT) && !has_note(&said, Level::Info, WALKED), "{said:?}");
    assert!(!dir.path().join(ORDERLY_STOP).exists(), "it is true of one start only");
    assert_eq!(bodies(&store, "T").len(), count);
    assert_eq!(put(&store, "T", b"next").queue_offset, count as i64);
    assert_eq!(put(&store, "Other", b"two").queue_offset, 1);
    let copy = killed(dir.path());
    store.close().unwrap();
    for root in [dir.path(), copy.path()] {
        let store = open(root);
        assert_eq!(bodies(&store, "T").len(), count + 1);
        assert_eq!(bodies(&store, "Other"), [b"one", b"two"]);
    }
}

#[test]
fn whatever_changed_since_the_stop_leads_to_a_walk() {
    let log = |root: &Path, file: u64| root.join("commitlog").join(file_name(file * FILE));
    let changes: [Change<'_>; 7] = [
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
        ("an index that is gone", &|root| fs::remove_dir_all(root.join("index")).unwrap()),
        ("a damaged note", &|root| change_byte(&root.join(ORDERLY_STOP), 6)),
        ("an empty note", &|root| fs::write(root.join(ORDERLY_STOP), "").unwrap()),
    ];
    for (what, change) in changes {
        let (dir, count) = closed();
        change(dir.path());
        let store = open(dir.path());
        let said = notes(&store);
        assert!(
            has_note(&said, Level::Info, WALKED) && !has_note(&said, Level::Info, AS_LEFT),
            "{what}: {said:?}"
        );
        assert_eq!(store.derived.queues.get(b"T", 0).unwrap().max_offset(), count as i64, "{what}");
        assert_eq!(bodies(&store, "Other"), [b"one"], "{what}");
    }
}

/// A queue whose messages are in files that a walk after an orderly stop does not read.
fn closed_with_a_quiet_queue() -> TempDir {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "Quiet", 15);
    fill_files(&store, "T", 6);
    store.close().unwrap();
    dir
}

#[test]
fn a_quiet_queue_that_is_gone_or_shorter_than_it_was_left_is_built_again() {
    let queue = |root: &Path| root.join("consumequeue/Quiet/0");
    let changes: [Change<'_>; 2] = [
        ("gone", &|root| fs::remove_dir_all(queue(root)).unwrap()),
        ("put back from an older copy", &|root| {
            let first = queue(root).join(file_name(0));
            let mut bytes = fs::read(&first).unwrap();
            bytes[5 * 20..].fill(0);
            fs::write(first, bytes).unwrap();
            for entry in fs::read_dir(queue(root)).unwrap().skip(1) {
                let path = entry.unwrap().path();
                if path.file_name().unwrap() != &*file_name(0) {
                    fs::remove_file(path).unwrap();
                }
            }
        }),
    ];
    for (what, change) in changes {
        let dir = closed_with_a_quiet_queue();
        change(dir.path());
        let store = open(dir.path());
        assert_eq!(bodies(&store, "Quiet"), numbered(15), "{what}");
        assert!(has_note(&notes(&store), Level::Warning, "queue Quiet-0 lacks messages"), "{what}");
        assert_eq!(put(&store, "Quiet", b"next").queue_offset, 15);
    }
}

#[test]
fn a_quiet_queue_that_is_gone_is_built_again_also_when_another_one_is_damaged() {
    let dir = closed_with_a_quiet_queue();
    let queues = dir.path().join("consumequeue");
    fs::remove_dir_all(queues.join("Quiet/0")).unwrap();
    let last = queues.join("T/0").join(names(&queues.join("T/0")).pop().unwrap());
    let mut bytes = fs::read(&last).unwrap();
    let end = bytes.iter().rposition(|&byte| byte != 0).unwrap();
    bytes[end / 20 * 20 + 7] ^= 1; // where the last message is
    fs::write(last, bytes).unwrap();
    let store = open(dir.path());
    assert_eq!(bodies(&store, "Quiet"), numbered(15));
    let said = notes(&store);
    assert!(has_note(&said, Level::Warning, "queue T-0 lacks messages"), "{said:?}");
    assert!(has_note(&said, Level::Info, WALKED), "{said:?}");
}

#[test]
fn a_queue_without_messages_or_an_index_that_is_switched_makes_no_difference() {
    let (dir, count) = closed();
    for index_enabled in [true, false, true, true] {
        let store = open_with(dir.path(), |config| {
            config.index_enabled = index_enabled;
        });
        let said = notes(&store);
        assert!(has_note(&said, Level::Info, AS_LEFT), "{said:?}");
        assert!(!said.iter().any(|(level, _)| *level == Level::Warning), "{said:?}");
        assert_eq!(bodies(&store, "T").len(), count);
        store.derived.queues.get_or_create(b"Asked for", 0).unwrap();
        store.close().unwrap();
    }
}

#[test]
fn an_index_put_back_from_an_older_copy_gets_what_it_lacks() {
    let dir = directory();
    let store = open(dir.path());
    put_with(&store, "T", &[("KEYS", "early")]);
    settle(&store);
    store.close().unwrap();
    let older = killed(dir.path());
    let store = open(dir.path());
    put_with(&store, "T", &[("KEYS", "late")]);
    fill_files(&store, "T", 6);
    store.close().unwrap();
    fs::remove_dir_all(dir.path().join("index")).unwrap();
    fs::rename(older.path().join("index"), dir.path().join("index")).unwrap();
    let store = open(dir.path());
    for key in ["early", "late"] {
        assert_eq!(
            store.query(b"T", Indexed::Key(key.as_bytes()), 0, i64::MAX, 64).unwrap().len(),
            1,
            "{key}"
        );
    }
}

#[test]
fn topics_that_were_deleted_before_the_stop_do_not_come_back() {
    let changes: [Change<'_>; 3] = [
        ("one queue", &|root| fs::remove_dir_all(root.join("consumequeue/Quiet")).unwrap()),
        ("all queues", &|root| fs::remove_dir_all(root.join("consumequeue")).unwrap()),
        ("the index and a queue", &|root| {
            fs::remove_dir_all(root.join("index")).unwrap();
            fs::remove_dir_all(root.join("consumequeue/Quiet")).unwrap();
        }),
    ];
    for (what, change) in changes {
        let dir = directory();
        let store = open(dir.path());
        put_numbered(&store, "Deleted", 10);
        put_numbered(&store, "Anew", 10);
        put_numbered(&store, "Quiet", 15);
        let count = fill_files(&store, "T", 6);
        put_numbered(&store, "Deleted", 10);
        settle(&store);
        for topic in [&b"Deleted"[..], b"Anew"] {
            assert!(store.delete_topic(topic).unwrap());
        }
        put_numbered(&store, "Anew", 2);
        settle(&store);
        store.close().unwrap();
        change(dir.path());
        let store = open(dir.path());
        assert_eq!(bodies(&store, "Deleted").len(), 0, "{what}");
        assert_eq!(bodies(&store, "Anew"), numbered(2), "{what}");
        assert_eq!(bodies(&store, "Quiet"), numbered(15), "{what}");
        assert_eq!(bodies(&store, "T").len(), count, "{what}");
        let copy = killed(dir.path());
        assert_eq!(bodies(&open(copy.path()), "Quiet"), numbered(15), "{what}");
    }
}

#[test]
fn what_was_not_confirmed_at_an_orderly_stop_is_read_after_the_next_start() {
    let dir = directory();
    let store = open(dir.path());
    let confirmed = put(&store, "T", b"confirmed");
    settle(&store);
    store.dispatcher.set_confirm_limit(Some(confirmed.physical_offset + confirmed.size));
    put(&store, "T", b"not yet");
    store.close().unwrap();
    let store = open(dir.path());
    assert_eq!(bodies(&store, "T"), [&b"confirmed"[..], b"not yet"]);
}

#[test]
fn a_copied_directory_is_walked() {
    let (dir, count) = closed();
    let copy = killed(dir.path());
    let store = open(copy.path());
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
fn a_topic_that_was_deleted_from_a_short_log_stays_away_over_many_starts() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "Deleted", 5);
    put_numbered(&store, "Kept", 5);
    settle(&store);
    assert!(store.delete_topic(b"Deleted").unwrap());
    store.close().unwrap();
    for round in 0..3 {
        let store = open(dir.path());
        assert_eq!(store.derived.queues.topics(), [Arc::from("Kept")], "start {round}");
        assert_eq!(bodies(&store, "Kept"), numbered(5));
        store.close().unwrap();
    }
}

#[test]
fn a_note_that_cannot_be_written_does_not_spoil_the_stop() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "T", b"one");
    settle(&store);
    fs::create_dir(dir.path().join(ORDERLY_STOP)).unwrap();
    store.close().unwrap();
    assert!(has_note(&notes(&store), Level::Warning, "the next start walks the end of the log"));
    assert!(!dir.path().join("abort").exists());
}

#[test]
fn what_another_writer_added_is_kept_where_a_write_through_a_map_leaves_no_mark() {
    let dir = tempfile::tempdir_in("/dev/shm").unwrap();
    let store = open(dir.path());
    let placed = put(&store, "T", b"ours");
    store.close().unwrap();
    drop(store);
    let end = (placed.physical_offset + placed.size) as usize;
    let path = dir.path().join("commitlog").join(file_name(0));
    let file = fs::OpenOptions::new().read(true).write(true).open(path).unwrap();
    // SAFETY: nobody else has the file.
    let mut map = unsafe { memmap2::MmapMut::map_mut(&file) }.unwrap();
    assert_eq!(map[end..end + 8], [0; 8], "read, so that the page is there before it is written");
    let theirs = draft("T", b"theirs");
    let record = encoded(&theirs, usual(&theirs), stamp(1, end as i64, placed.store_timestamp));
    map[end..end + record.len()].copy_from_slice(&record);
    drop(map);
    let store = open(dir.path());
    assert_eq!(bodies(&store, "T"), [&b"ours"[..], b"theirs"]);
}
