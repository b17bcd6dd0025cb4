//! Write buffers between appends and files (`transientStorePoolEnable`).

use super::*;
use crate::log::commit_log::CommitLog;
use crate::log::config::TransientPoolConfig;
use crate::log::queue::{QueueConfig, QueueTable};
use crate::log::segment::file_name;

const FILE: u64 = 64 * 1024;
const HOUR: Duration = Duration::from_hours(1);

/// Nothing is committed or flushed by itself, unless a file is full.
fn by_hand(config: &mut StoreConfig) {
    config.transient_pool = Some(TransientPoolConfig {
        buffers: 5,
        fail_fast: false,
        commit_interval: HOUR,
        commit_least_pages: 1 << 40,
        commit_thorough_interval: HOUR,
    });
    config.flush_interval = HOUR;
    config.flush_thorough_interval = HOUR;
}

fn first_file(dir: &TempDir) -> Vec<u8> {
    fs::read(dir.path().join("commitlog").join(file_name(0))).unwrap()
}

// shows: AL-16, MF-04, MF-05, MF-08, MF-12, CL-35, X-08
#[test]
fn a_message_goes_to_the_buffer_then_to_the_file_then_to_the_disk() {
    let dir = directory();
    let store = open_with(dir.path(), by_hand);
    let placed = put(&store, "T", b"x");
    assert_eq!(store.log.written(), placed.size);
    assert!(first_file(&dir).iter().all(|&byte| byte == 0), "not in the file");
    assert_eq!((store.log.readable(), store.log.flushed()), (0, 0), "not to be read");
    assert!(store.record_at(0).unwrap().is_none());

    assert!(store.log.commit(0).unwrap());
    assert_ne!(first_file(&dir)[..4], [0; 4]);
    assert_eq!((store.log.readable(), store.log.flushed()), (placed.size, 0));
    store.dispatcher.signal.raise();
    assert_eq!(bodies(&store, "T"), [b"x"], "read through the map");

    store.log.flush(0).unwrap();
    assert_eq!(store.log.flushed(), placed.size);
}

// shows: MF-10, MF-16
#[test]
fn a_flush_takes_what_is_committed_and_no_more() {
    let dir = directory();
    let store = open_with(dir.path(), by_hand);
    let first = put(&store, "T", b"x");
    store.log.commit(0).unwrap();
    put(&store, "T", b"y");
    store.log.flush(0).unwrap();
    assert_eq!(store.log.flushed(), first.size);
}

// shows: MF-07, MF-25, X-10
#[test]
fn a_commit_needs_its_pages_or_any_byte_when_none_are_asked_for() {
    let dir = directory();
    let store = open_with(dir.path(), by_hand);
    assert!(!store.log.commit(0).unwrap(), "nothing there");
    put(&store, "T", &[1; 2 * 4096 - 92]);
    assert_eq!(store.log.written(), 2 * 4096);
    assert!(!store.log.commit(3).unwrap());
    assert!(store.log.commit(2).unwrap(), "exactly as many are enough");
    assert!(!store.log.commit(0).unwrap(), "nothing new");
    put(&store, "T", b"x");
    assert!(!store.log.commit(1).unwrap());
    assert!(store.log.commit(0).unwrap());
}

// shows: MF-06
#[test]
fn without_the_pool_there_is_nothing_to_commit() {
    let dir = directory();
    let store = open(dir.path());
    let placed = put(&store, "T", b"x");
    assert!(!store.log.commit(0).unwrap());
    assert_eq!(store.log.readable(), placed.size);
}

// shows: MF-07, MF-09
#[test]
fn the_buffer_of_a_full_file_goes_back_and_is_used_again() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        by_hand(config);
        let pool = config.transient_pool.as_mut().unwrap();
        (pool.buffers, pool.fail_fast) = (2, true);
    });
    // Ten files with two buffers: full files are committed whatever the least pages are.
    let mut count = 0;
    while store.log.segments().len() < 10 {
        match store.put(&draft("T", &count.to_string().repeat(200).into_bytes()), true) {
            Ok(_) => count += 1,
            Err(refusal) => {
                assert_eq!(refusal.status, PutStatus::CreateMappedFileFailed);
                thread::yield_now();
            }
        }
    }
    store.log.commit(0).unwrap();
    store.dispatcher.signal.raise();
    let expected: Vec<_> = (0..count).map(|n| n.to_string().repeat(200).into_bytes()).collect();
    assert_eq!(bodies(&store, "T"), expected);
    store.close().unwrap();
    assert_eq!(bodies(&open(dir.path()), "T"), expected);
}

// shows: AL-03, AL-04
#[test]
fn without_a_buffer_left_an_append_fails_fast_or_goes_to_the_map() {
    for fail_fast in [true, false] {
        let dir = directory();
        let store = open_with(dir.path(), |config| {
            by_hand(config);
            let pool = config.transient_pool.as_mut().unwrap();
            (pool.buffers, pool.fail_fast) = (1, fail_fast);
        });
        // Nobody commits, so that the only buffer stays with the first file.
        let committing = store.log.pool.as_ref().unwrap().committing.lock();
        put(&store, "T", &vec![0; 60_000]);
        let second = store.put(&draft("T", &vec![1; 60_000]), true);
        if fail_fast {
            let refused = second.unwrap_err();
            assert_eq!(refused.status, PutStatus::CreateMappedFileFailed);
            assert!(refused.reason.contains("no buffer left"), "{}", refused.reason);
        } else {
            second.unwrap();
            assert!(has_note(&notes(&store), Level::Warning, "straight to the map"));
        }
        drop(committing);
        store.log.commit(0).unwrap();
        put(&store, "T", &vec![2; 60_000]);
        store.log.commit(0).unwrap();
        store.dispatcher.signal.raise();
        assert_eq!(bodies(&store, "T").len(), if fail_fast { 2 } else { 3 });
    }
}

// shows: FL-13, FL-14, FL-15, FL-04
#[test]
fn the_commit_thread_commits_pages_at_once_and_single_bytes_after_the_thorough_interval() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        by_hand(config);
        let pool = config.transient_pool.as_mut().unwrap();
        pool.commit_least_pages = 4;
        pool.commit_interval = Duration::from_millis(10);
        // A commit that moved data wakes a flusher that does not work by the clock.
        config.flush_timed = false;
        config.flush_least_pages = 0;
    });
    put(&store, "T", b"small");
    thread::sleep(Duration::from_millis(150));
    assert_eq!(store.log.readable(), 0);
    put(&store, "T", &vec![1; 5 * 4096]);
    eventually("a commit", || store.log.readable() == store.log.written());
    eventually("a flush", || store.log.flushed() == store.log.written());
    drop(store);

    let dir = directory();
    let store = open_with(dir.path(), |config| {
        by_hand(config);
        let pool = config.transient_pool.as_mut().unwrap();
        pool.commit_interval = Duration::from_millis(10);
        pool.commit_thorough_interval = Duration::from_millis(50);
    });
    put(&store, "T", b"small");
    eventually("a thorough commit", || store.log.readable() == store.log.written());
}

#[test]
fn while_commits_fail_no_message_is_acknowledged() {
    let dir = directory();
    let store = open_with(dir.path(), by_hand);
    put(&store, "T", b"0");
    let segment = store.log.segments()[0].clone();
    segment.seal();
    store.flush().unwrap_err();
    store.flush().unwrap_err();
    let refused = refusal(&store, &draft("T", b"x"));
    assert_eq!(refused.status, PutStatus::ServiceNotAvailable);
    assert!(refused.reason.contains("transient store pool"), "{}", refused.reason);
    let lines = notes(&store);
    assert_eq!(lines.iter().filter(|(level, _)| *level == Level::Error).count(), 1, "{lines:?}");

    segment.reopen(0).unwrap();
    store.flush().unwrap();
    assert!(has_note(&notes(&store), Level::Info, "commits work again"));
    put(&store, "T", b"1");
    store.flush().unwrap();
    assert_eq!(bodies(&store, "T"), numbered(2));
}

#[test]
fn a_file_that_is_closed_has_space_for_all_that_a_commit_will_write() {
    let dir = directory();
    let mut config = StoreConfig::small(dir.path());
    by_hand(&mut config);
    config.log_file_bytes = 8 << 20;
    // Without a store nobody prepares space ahead.
    let log = CommitLog::load(Arc::new(config), Arc::default()).unwrap();
    log.resume(0, 0).unwrap();
    let queues = QueueTable::open(dir.path(), QueueConfig::default(), Arc::default()).unwrap();
    for body in [vec![1; 100], vec![2; (8 << 20) - 200]] {
        let message = draft("T", &body);
        let prepared = message.prepare(samples::usual(&message)).unwrap();
        log.lock().append_to(&queues, (b"T", 0), &[prepared]).unwrap();
    }
    let segments = log.segments();
    assert_eq!(segments.len(), 2);
    assert!(segments[0].is_allocated(segments[0].size()));
}

#[test]
fn space_is_prepared_ahead_of_buffers_too() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        by_hand(config);
        config.log_file_bytes = 8 << 20;
    });
    put(&store, "T", b"x");
    let first = &store.log.segments()[0];
    eventually("space for the whole file", || first.is_allocated(first.size()));
}

// shows: FL-20
#[test]
fn a_close_commits_and_flushes_what_the_buffers_hold() {
    let dir = directory();
    let store = open_with(dir.path(), by_hand);
    put_numbered(&store, "T", 50);
    assert_eq!(store.log.readable(), 0);
    store.close().unwrap();
    assert_eq!(store.log.flushed(), store.log.written());
    assert!(!dir.path().join("abort").exists());
    assert_eq!(bodies(&open(dir.path()), "T"), numbered(50));
}

// shows: AL-14, AL-17, N-12
#[test]
fn each_buffer_is_as_large_as_a_file_and_locked_into_memory() {
    let locked_kib = || {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmLck:")).unwrap().to_owned();
        line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap()
    };
    let dir = directory();
    let store = open_with(dir.path(), by_hand);
    let refused = has_note(&notes(&store), Level::Warning, "not locked into memory");
    assert!(refused || locked_kib() >= 5 * FILE / 1024, "{} KiB", locked_kib());
    let pool = store.log.pool.as_ref().unwrap();
    let buffers: Vec<_> = std::iter::from_fn(|| pool.lend()).collect();
    assert_eq!(buffers.iter().map(|buffer| buffer.len() as u64).collect::<Vec<_>>(), [FILE; 5]);
    for buffer in buffers {
        pool.give_back(buffer);
    }
}
