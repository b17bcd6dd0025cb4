//! What refuses a put before it reaches the log.

use super::*;
use crate::log::flags::Flag;
use crate::message::layout::sys_flag;

// shows: ST-08
#[test]
fn a_closed_store_is_not_available() {
    let dir = directory();
    let store = open(dir.path());
    store.close().unwrap();
    assert_eq!(status(&store, &draft("T", b"x")), PutStatus::ServiceNotAvailable);
}

// shows: ST-09
#[test]
fn a_slave_takes_no_puts_and_says_so_once_in_fifty_thousand() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.is_slave = true);
    notes(&store);
    for _ in 0..50_001 {
        assert_eq!(status(&store, &draft("T", b"x")), PutStatus::ServiceNotAvailable);
    }
    let lines = notes(&store);
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(has_note(&lines, Level::Warning, "slave"));
    assert_eq!(store.log.written(), 0);
}

// shows: ST-10
#[test]
fn a_store_that_is_not_writable_says_its_flags_once_until_it_was_writable_again() {
    let dir = directory();
    let store = open(dir.path());
    notes(&store);
    for round in 0..2 {
        store.flags.raise(Flag::DiskFull);
        for _ in 0..100 {
            assert_eq!(status(&store, &draft("T", b"x")), PutStatus::ServiceNotAvailable);
        }
        let mut lines = notes(&store);
        lines.retain(|(level, _)| *level == Level::Warning); // what takes its time says so, too
        assert_eq!(lines.len(), 1, "round {round}: {lines:?}");
        assert!(has_note(&lines, Level::Warning, "flags 16"));
        store.flags.clear(Flag::DiskFull);
        put(&store, "T", b"x");
    }
}

#[test]
fn every_flag_but_not_readable_keeps_puts_out() {
    let dir = directory();
    let store = open(dir.path());
    let kept_out = [
        Flag::NotWritable,
        Flag::QueueError,
        Flag::IndexError,
        Flag::DiskFull,
        Flag::Fenced,
        Flag::LogicDiskFull,
        Flag::QueuesNotKept,
    ];
    for flag in kept_out {
        store.flags.raise(flag);
        assert_eq!(status(&store, &draft("T", b"x")), PutStatus::ServiceNotAvailable, "{flag:?}");
        store.flags.clear(flag);
    }
    store.flags.raise(Flag::NotReadable);
    put(&store, "T", b"x");
}

// shows: ST-11
#[test]
fn a_topic_of_more_than_127_bytes_is_illegal_unless_it_is_for_retries() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, &"t".repeat(127), b"x");
    for topic in ["t".repeat(128), format!("%RETRY%{}", "t".repeat(249)), String::new()] {
        assert_eq!(status(&store, &draft(&topic, b"x")), PutStatus::MessageIllegal, "{topic}");
    }
    put(&store, &format!("%RETRY%{}", "t".repeat(248)), b"x");
}

// shows: ST-12, X-04
#[test]
fn properties_of_more_than_32767_bytes_are_refused_by_their_own_status() {
    let dir = directory();
    let store = open(dir.path());
    let largest = text(&[("k", &"v".repeat(32_767 - 3))]);
    assert_eq!(largest.len(), 32_767);
    let placed = store.put(&Draft { properties: &largest, ..draft("T", b"x") }, true).unwrap();
    let stored = {
        settle(&store);
        store.record_at(placed.physical_offset).unwrap().unwrap()
    };
    assert_eq!(stored.record().unwrap().properties(), largest);
    let larger = text(&[("k", &"v".repeat(32_768 - 3))]);
    let refused = status(&store, &Draft { properties: &larger, ..draft("T", b"x") });
    assert_eq!(refused, PutStatus::PropertiesSizeExceeded);
}

// shows: ST-13, ST-14
#[test]
fn a_lock_held_too_long_is_a_busy_page_cache_and_an_idle_one_is_not() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.page_cache_busy = Duration::from_millis(50));
    put(&store, "T", b"x");
    thread::sleep(Duration::from_millis(100));
    assert!(!store.is_page_cache_busy(), "an idle lock");
    let lock = store.log.lock();
    eventually("the lock is old", || store.is_page_cache_busy());
    assert_eq!(status(&store, &draft("T", b"x")), PutStatus::OsPageCacheBusy);
    // A clock that was set: as if the lock had been taken in 1970.
    store.log.locked_since.store(1, std::sync::atomic::Ordering::Relaxed);
    assert!(!store.is_page_cache_busy());
    drop(lock);
    put(&store, "T", b"x");
}

// shows: CL-05
#[test]
fn the_lock_counts_as_free_after_every_append_also_a_failed_one() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.page_cache_busy = Duration::ZERO);
    put(&store, "T", b"x");
    assert_eq!(store.log.lock_held_ms(), 0);
    assert_eq!(
        status(&store, &draft("T", &vec![0; 70_000])),
        PutStatus::MessageIllegal,
        "larger than a file"
    );
    assert_eq!(store.log.lock_held_ms(), 0);
    thread::sleep(Duration::from_millis(30));
    put(&store, "T", b"x");
    let lock = store.log.lock();
    eventually("an age", || store.log.lock_held_ms() > 0);
    drop(lock);
}

// shows: ST-15, CL-09, U-25, SS-01
#[test]
fn slow_puts_and_slow_locks_are_told() {
    let dir = directory();
    let store = open(dir.path());
    let lock = store.log.lock();
    thread::scope(|scope| {
        scope.spawn(|| put(&store, "T", b"four"));
        thread::sleep(Duration::from_millis(650));
        drop(lock);
    });
    let lines = notes(&store);
    assert!(has_note(&lines, Level::Warning, "a put of 4 bytes took"), "{lines:?}");
    assert!(lines.iter().any(|(_, line)| line.starts_with("[NOTIFYME]")), "{lines:?}");
    assert!(store.stats.slowest_put_ms() >= 500);
}

// shows: ST-16, SS-01
#[test]
fn puts_are_counted_by_topic_and_refusals_by_status() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.message_bytes_max = 10);
    let counts = |topic: &str| store.derived.queues.get(topic.as_bytes(), 0).map(|queue| queue.put_counts());
    let first = put(&store, "A", b"12345");
    let second = put(&store, "A", b"123");
    put(&store, "B", b"");
    assert_eq!(counts("A"), Some((2, first.size + second.size)));
    assert_eq!(counts("B"), Some((1, 92)));
    for _ in 0..3 {
        refusal(&store, &draft("A", b"too large a body"));
    }
    assert_eq!(store.stats.refusals().collect::<Vec<_>>(), [(PutStatus::MessageIllegal, 3)]);
    assert_eq!(counts("A"), Some((2, first.size + second.size)), "refused puts do not count");
    assert_eq!(store.stats.puts(), 6);
}

// shows: CL-11
#[test]
fn a_batch_counts_all_its_messages() {
    let dir = directory();
    let store = open(dir.path());
    let placed = store.put_batch(&[draft("T", b"1"), draft("T", b"2"), draft("T", b"3")], true).unwrap();
    assert_eq!(store.derived.queues.get(b"T", 0).unwrap().put_counts(), (3, placed.size));
}

// shows: CL-08
#[test]
fn what_the_append_finds_too_large_is_illegal() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        config.message_bytes_max = 100;
        config.append_property_crc = true;
    });
    assert_eq!(status(&store, &draft("T", &[0; 101])), PutStatus::MessageIllegal);
    // Passes the gate and is too long with the checksum that the append adds.
    let properties = text(&[("k", &"v".repeat(32_760 - 3))]);
    let refused = status(&store, &Draft { properties: &properties, ..draft("T", b"x") });
    assert_eq!(refused, PutStatus::MessageIllegal);
    assert_eq!(store.log.written(), 0);
}

// shows: CL-20, X-05
#[test]
fn the_limit_in_force_is_max_message_size_on_the_body() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.log_file_bytes = 16 << 20);
    let largest = vec![1; 4 << 20];
    let properties = text(&[("k", &"v".repeat(32_767 - 3))]);
    let placed = store.put(&Draft { properties: &properties, ..draft("T", &largest) }, true).unwrap();
    assert!(placed.size > 4 << 20, "the whole record may be larger");
    assert_eq!(status(&store, &draft("T", &vec![1; (4 << 20) + 1])), PutStatus::MessageIllegal);
}

// shows: CL-33
#[test]
fn the_largest_body_can_be_changed_while_the_store_runs() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.message_bytes_max = 10);
    assert_eq!(status(&store, &draft("T", &[0; 11])), PutStatus::MessageIllegal);
    store.set_message_bytes_max(11);
    put(&store, "T", &[0; 11]);
    store.set_message_bytes_max(5);
    assert_eq!(status(&store, &draft("T", &[0; 6])), PutStatus::MessageIllegal);
}

// shows: CL-30
#[test]
fn a_batch_holds_neither_transactional_nor_delayed_messages() {
    let dir = directory();
    let store = open(dir.path());
    let plain = draft("T", b"x");
    let delayed = text(&[("DELAY", "3")]);
    let half = Draft { sys_flag: sys_flag::TRANSACTION_PREPARED, ..plain };
    let late = Draft { properties: &delayed, ..plain };
    for bad in [half, late] {
        let refused = store.put_batch(&[plain, bad], true).unwrap_err();
        assert_eq!(refused.status, PutStatus::MessageIllegal);
        put(&store, "U", b"alone they may");
        store.put(&bad, true).unwrap();
    }
    let none = text(&[("DELAY", "0")]);
    store.put_batch(&[plain, Draft { properties: &none, ..plain }], true).unwrap();
}

// shows: X-24
#[test]
fn a_message_larger_than_a_file_is_illegal_and_the_store_goes_on() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "T", b"before");
    let written = store.log.written();
    let largest = 64 * 1024 - 8 - 92;
    assert_eq!(status(&store, &draft("T", &vec![1; largest + 1])), PutStatus::MessageIllegal);
    assert_eq!(store.log.written(), written, "no file was closed for it");
    put(&store, "T", &vec![1; largest]);
    put(&store, "T", b"after");
    assert_eq!(bodies(&store, "T").len(), 3);
}
