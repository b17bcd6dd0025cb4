//! Letting go of old files. When is Python's choice; here is how.

use super::*;
use crate::log::flags::Flag;
use crate::log::read::GetStatus;
use crate::log::segment::file_name;

const FILE: u64 = 64 * 1024;

/// A store whose log has `files` files, all on disk, with keys in every message.
fn filled(dir: &TempDir, files: usize) -> (Store, i64) {
    let store = open(dir.path());
    let mut count = 0;
    while store.log.segments().len() < files {
        let properties = text(&[("KEYS", &format!("k{count}"))]);
        store.put(&Draft { properties: &properties, ..draft("T", &[7; 500]) }, true).unwrap();
        count += 1;
    }
    settle(&store);
    store.flush().unwrap();
    (store, count)
}

// shows: CN-08, CN-11, ST-21
#[test]
fn the_oldest_file_goes_for_all_topics_and_consumed_or_not() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "Old", b"never read");
    put(&store, "Old", b"never read");
    fill_files(&store, "New", 3);
    put(&store, "Old", b"late");
    settle(&store);
    store.flush().unwrap();
    assert_eq!(bodies(&store, "Old").len(), 3);
    let gone = store.delete_first_log_file(false).unwrap().unwrap();
    assert_eq!(gone.file_name().unwrap().to_str(), Some("00000000000000000000"));
    assert!(!gone.exists());
    store.delete_expired_queue_files().unwrap();
    assert_eq!(bodies(&store, "Old"), [b"late"]);
    assert_eq!(store.log.min_offset(), FILE);
}

// shows: CN-11
#[test]
fn the_last_file_is_never_deleted() {
    let dir = directory();
    let (store, _) = filled(&dir, 3);
    while store.delete_first_log_file(true).unwrap().is_some() {}
    assert_eq!(store.log.segments().len(), 1);
    put(&store, "T", b"goes on");
    store.delete_expired_queue_files().unwrap();
    assert!(bodies(&store, "T").last().is_some_and(|body| body == b"goes on"));
}

// shows: CN-10, MF-11, MF-14, MF-15
#[test]
fn a_file_that_a_reader_holds_stays_until_it_is_forced_and_the_reader_reads_on() {
    let dir = directory();
    let (store, _) = filled(&dir, 3);
    let held = store.read(&request("T", 0, 0)).unwrap();
    assert_eq!(store.delete_first_log_file(false).unwrap(), None);
    assert!(dir.path().join("commitlog").join(file_name(0)).exists());
    let gone = store.delete_first_log_file(true).unwrap().unwrap();
    assert!(!gone.exists());
    for (n, slice) in slices(&held).iter().enumerate() {
        let record = slice.record().unwrap();
        assert_eq!((record.queue_offset(), record.body()), (n as i64, &[7; 500][..]));
    }
    assert!(store.record_at(0).unwrap().is_none(), "nobody else finds it");
    drop(held);
    assert!(store.delete_first_log_file(false).unwrap().is_some(), "the next one is held by nobody");
}

// shows: CN-01, CQ-07
#[test]
fn queue_and_index_files_follow_the_log() {
    let dir = directory();
    let (store, count) = filled(&dir, 8);
    let (queue_dir, index_dir) = (dir.path().join("consumequeue/T/0"), dir.path().join("index"));
    store.keeper.keep(true).unwrap();
    let (queues_before, index_before) = (names(&queue_dir).len(), names(&index_dir).len());
    assert!(index_before > 1);
    assert_eq!(store.delete_expired_queue_files().unwrap(), 0, "nothing to follow yet");
    for _ in 0..5 {
        store.delete_first_log_file(false).unwrap().unwrap();
    }
    let deleted = store.delete_expired_queue_files().unwrap();
    let queue = store.derived.queues.get(b"T", 0).unwrap();
    let min = queue.min_offset();
    let first = queue.unit_at(min).unwrap().unwrap();
    assert!(first.physical_offset.cast_unsigned() >= store.log.min_offset());
    assert!(
        min > 0 && first.physical_offset.cast_unsigned() < store.log.min_offset() + 1000,
        "not a message too many"
    );
    assert_eq!(names(&queue_dir).len(), queues_before - min as usize / 64);
    assert_eq!(deleted, queues_before - names(&queue_dir).len() + index_before - names(&index_dir).len());
    assert!(names(&index_dir).len() < index_before);
    let found =
        |n: i64| store.query(b"T", Indexed::Key(format!("k{n}").as_bytes()), 0, i64::MAX, 9).unwrap().len();
    assert_eq!((found(0), found(min), found(count - 1)), (0, 1, 1));
    assert_eq!(read(&store, "T", 0).status, GetStatus::OffsetTooSmall);
    assert_eq!(bodies(&store, "T").len() as i64, count - min);
}

#[test]
fn a_file_that_is_not_on_disk_or_not_dispatched_stays() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.flush_interval = Duration::from_hours(1));
    store.dispatcher.set_confirm_limit(Some(0));
    while store.log.segments().len() < 3 {
        put(&store, "T", &[7; 1024]);
    }
    store.flush().unwrap();
    assert_eq!(store.delete_first_log_file(true).unwrap(), None);
    store.dispatcher.set_confirm_limit(None);
    settle(&store);
    assert!(store.delete_first_log_file(true).unwrap().is_some());
}

#[test]
fn a_cleaned_store_opens_again_with_its_minimum() {
    let dir = directory();
    let (store, count) = filled(&dir, 4);
    store.delete_first_log_file(false).unwrap().unwrap();
    store.delete_expired_queue_files().unwrap();
    let min = store.derived.queues.get(b"T", 0).unwrap().min_offset();
    let copy = killed(dir.path());
    store.close().unwrap();
    drop(store);
    for root in [dir.path(), copy.path()] {
        let store = open(root);
        let queue = store.derived.queues.get(b"T", 0).unwrap();
        assert_eq!((queue.min_offset(), queue.max_offset()), (min, count));
        assert_eq!(bodies(&store, "T").len() as i64, count - min);
    }
}

#[test]
fn appends_and_reads_go_on_while_files_go() {
    let dir = directory();
    let store = open(dir.path());
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                // Not faster than files are let go: each unflushed one holds a descriptor.
                if store.log.segments().len() < 10 {
                    put(&store, "T", &[7; 1024]);
                } else {
                    thread::yield_now();
                }
            }
        });
        scope.spawn(|| {
            let mut offset = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                let found = store.read(&request("T", 0, offset)).unwrap();
                for (n, slice) in slices(&found).iter().enumerate() {
                    let record = slice.record().unwrap();
                    assert!(record.body_is_intact() && record.queue_offset() >= offset + n as i64);
                }
                offset = found.next_offset;
            }
        });
        let mut deleted = 0;
        let deadline = Instant::now() + PATIENCE;
        while deleted < 20 && Instant::now() < deadline {
            store.flush().unwrap();
            deleted += usize::from(store.delete_first_log_file(true).unwrap().is_some());
            store.delete_expired_queue_files().unwrap();
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(deleted, 20);
    });
}

#[test]
fn no_topic_is_deleted_while_dispatch_stands_and_nobody_waits_for_it() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "T", 3);
    settle(&store);
    store.dispatcher.set_confirm_limit(Some(store.log.written()));
    let unreadable = put(&store, "T", b"3");
    let segment = store.log.segment_of(unreadable.physical_offset).unwrap();
    segment.overwrite(unreadable.physical_offset - segment.start() + 4, b"XXXX").unwrap();
    store.dispatcher.set_confirm_limit(None);
    eventually("dispatch stands", || store.flags.bits() & Flag::QueueError as u32 != 0);
    let refused = store.delete_topic(b"T").unwrap_err().to_string();
    assert!(refused.contains("try again") && refused.contains("offset"), "{refused}");
    assert_eq!(store.derived.queues.get(b"T", 0).unwrap().max_offset(), 3);
    assert!(store.log.writer.try_lock().is_some(), "writers go on");
}

#[test]
fn a_log_file_that_somebody_removed_counts_as_expired_and_hinders_nothing() {
    let dir = directory();
    let (store, _) = filled(&dir, 4);
    fs::remove_file(dir.path().join("commitlog").join(file_name(0))).unwrap();
    assert_eq!(store.log.segments()[0].modified().unwrap(), 0);
    for start in [FILE, 2 * FILE] {
        assert!(store.delete_first_log_file(false).unwrap().is_some());
        assert_eq!(store.log.min_offset(), start);
    }
}

#[test]
fn what_is_said_of_a_full_disk_holds_until_it_is_taken_back() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        config.queue_flush_interval = Duration::from_millis(1);
        config.queue_flush_thorough_interval = Duration::from_millis(1);
    });
    put(&store, "T", b"x");
    settle(&store);
    let queues = dir.path().join("consumequeue");
    eventually("the queue is written out", || queues.join("T/0").exists());
    let refused = || store.flags.bits() & Flag::QueuesNotKept as u32 != 0;
    // No directory can be made in its place.
    let blocked = queues.join("U");
    fs::write(&blocked, "").unwrap();
    put(&store, "U", b"x");
    eventually("the keeper fails", refused);
    store.flags.raise(Flag::LogicDiskFull);
    fs::remove_file(&blocked).unwrap();
    eventually("the keeper works", || !refused());
    assert_eq!(store.flags.bits(), Flag::LogicDiskFull as u32);
}

#[test]
fn a_queue_whose_messages_have_all_expired_keeps_its_place_after_a_kill() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "Quiet", 3);
    fill_files(&store, "Busy", 3);
    store.flush().unwrap();
    store.delete_first_log_file(false).unwrap().unwrap();
    let copy = killed(dir.path());
    let store = open(copy.path());
    assert_eq!(put(&store, "Quiet", b"3").queue_offset, 3);
    assert_eq!(bodies(&store, "Quiet"), [b"3"]);
}
