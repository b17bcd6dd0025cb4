//! When bytes reach the disk, and who waits for it.

use super::*;
use crate::log::config::FlushMode;

const HOUR: Duration = Duration::from_hours(1);

/// Nothing is flushed by itself.
fn by_hand(config: &mut StoreConfig) {
    config.flush_interval = HOUR;
    config.flush_thorough_interval = HOUR;
    config.flush_least_pages = 1 << 40;
}

fn sync(config: &mut StoreConfig) {
    config.flush_mode = FlushMode::Sync;
}

// shows: FL-01, FL-02, X-13
#[test]
fn with_sync_flush_an_acknowledged_message_is_on_disk() {
    let dir = directory();
    let store = open_with(dir.path(), sync);
    for n in 0..20 {
        let placed = put(&store, "T", &[n; 100]);
        assert!(store.log.flushed() >= placed.physical_offset + placed.size);
    }
    assert!(store.flusher.syncs() >= 20, "a single writer has each of its messages synced");
}

// shows: FL-02, CL-12
#[test]
fn a_flush_that_does_not_come_in_time_changes_the_status_but_not_the_log() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        sync(config);
        by_hand(config);
        config.sync_flush_timeout = Duration::from_millis(50);
    });
    put(&store, "T", b"0");
    let busy = (store.flusher.leading.lock(), store.log.flushing.lock());
    let refused = refusal(&store, &draft("T", b"1"));
    assert_eq!(refused.status, PutStatus::FlushDiskTimeout);
    let placed = refused.placed.unwrap();
    assert_eq!(placed.queue_offset, 1);
    assert!(store.record_at(placed.physical_offset).unwrap().is_none(), "not on disk, so not to be read yet");
    drop(busy);
    put(&store, "T", b"2");
    assert_eq!(bodies(&store, "T"), numbered(3));
}

// shows: FL-03
#[test]
fn a_message_that_does_not_wait_is_acknowledged_before_the_disk_and_flushed_soon() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        sync(config);
        by_hand(config);
    });
    let busy = (store.flusher.leading.lock(), store.log.flushing.lock());
    let placed = store.put(&draft("T", b"x"), false).unwrap();
    assert_eq!(store.log.flushed(), 0);
    drop(busy);
    eventually("a flush", || store.log.flushed() >= placed.physical_offset + placed.size);
}

// shows: FL-06, N-16
#[test]
fn writers_that_wait_together_are_answered_by_one_sync() {
    const WRITERS: usize = 64;
    const EACH: usize = 20;
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        sync(config);
        config.log_file_bytes = 16 << 20;
    });
    thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| put_numbered(&store, "T", EACH));
        }
    });
    let (appends, syncs) = ((WRITERS * EACH) as u64, store.flusher.syncs());
    assert!(syncs < appends / 2, "{syncs} syncs for {appends} appends");
    assert_eq!(bodies(&store, "T").len(), WRITERS * EACH);
}

// shows: FL-08
#[test]
fn a_wait_for_the_disk_reaches_over_the_end_of_a_file() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        sync(config);
        by_hand(config);
    });
    // Not waited for, so that the next message finds two files to be synced.
    store.put(&draft("T", &vec![1; 60_000]), false).unwrap();
    let placed = put(&store, "T", &[2; 10_000]);
    assert_eq!(placed.physical_offset, 64 * 1024);
    assert_eq!(store.log.flushed(), placed.physical_offset + placed.size);
}

// shows: FL-04, FL-16
#[test]
fn with_async_flush_few_pages_wait_and_enough_of_them_do_not() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        config.flush_interval = Duration::from_millis(5);
        config.flush_least_pages = 4;
        config.flush_thorough_interval = HOUR;
    });
    put(&store, "T", b"small");
    thread::sleep(Duration::from_millis(200));
    assert_eq!(store.log.flushed(), 0, "acknowledged without the disk");
    put(&store, "T", &vec![1; 5 * 4096]);
    eventually("a flush", || store.log.flushed() == store.log.written());
}

// shows: FL-18
#[test]
fn past_the_thorough_interval_any_byte_is_flushed() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        config.flush_interval = Duration::from_millis(5);
        config.flush_least_pages = 1_000_000;
        config.flush_thorough_interval = Duration::from_millis(20);
    });
    put(&store, "T", b"small");
    eventually("a flush", || store.log.flushed() == store.log.written());
}

// shows: FL-17
#[test]
fn an_append_wakes_the_flusher_unless_it_works_by_the_clock() {
    for timed in [false, true] {
        let dir = directory();
        let store = open_with(dir.path(), |config| {
            by_hand(config);
            config.flush_least_pages = 1;
            config.flush_timed = timed;
        });
        thread::sleep(Duration::from_millis(200)); // the flusher has begun its first wait
        put(&store, "T", &[1; 8192]);
        if timed {
            thread::sleep(Duration::from_millis(200));
            assert_eq!(store.log.flushed(), 0);
        } else {
            eventually("a flush", || store.log.flushed() > 0);
        }
    }
}

// shows: MF-24, FL-19, FL-09
#[test]
fn a_flush_says_whether_it_moved_and_moves_the_checkpoint() {
    let dir = directory();
    let store = open_with(dir.path(), by_hand);
    let placed = put(&store, "T", b"x");
    assert_eq!(store.log.flush(1).unwrap(), None, "less than a page");
    assert_eq!(store.log.flush(0).unwrap(), Some(placed.store_timestamp));
    assert_eq!(store.log.flush(0).unwrap(), None, "nothing new");
    let later = put(&store, "T", b"y");
    assert!(store.checkpoint.values().log_timestamp < later.store_timestamp.max(1));
    assert_eq!(store.flush().unwrap(), store.log.written());
    assert_eq!(store.checkpoint.values().log_timestamp, later.store_timestamp);
}

// shows: MF-24
#[test]
fn pages_are_counted_by_their_borders() {
    let dir = directory();
    let store = open_with(dir.path(), by_hand);
    let overhead = 92;
    put(&store, "T", &[1; 4095 - 92]);
    assert_eq!(store.log.written(), 4095);
    assert_eq!(store.log.flush(1).unwrap(), None);
    put(&store, "T", &[]);
    assert_eq!(store.log.written(), 4095 + overhead);
    assert!(store.log.flush(2).unwrap().is_none());
    assert!(store.log.flush(1).unwrap().is_some(), "one border was crossed");
}

// shows: FL-10, FL-20
#[test]
fn a_close_puts_everything_on_disk() {
    let dir = directory();
    let store = open_with(dir.path(), by_hand);
    fill_files(&store, "T", 3);
    assert!(store.log.flushed() < store.log.written());
    store.close().unwrap();
    assert_eq!(store.log.flushed(), store.log.written());
    let values = store.checkpoint.values();
    assert_eq!(values.log_timestamp, store.log.last_timestamp());
    assert_eq!(values.queue_timestamp, store.log.last_timestamp());
}

// shows: FL-21, CQ-05
#[test]
fn queues_are_written_by_their_own_interval() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        config.queue_flush_interval = Duration::from_millis(1);
        config.queue_flush_least_pages = 0;
    });
    let placed = put(&store, "T", b"x");
    let file = dir.path().join("consumequeue/T/0/00000000000000000000");
    eventually("the unit", || {
        fs::read(&file).is_ok_and(|bytes| bytes.get(8..12) == Some(&(placed.size as u32).to_be_bytes()[..]))
    });
}

#[test]
fn a_queue_with_little_to_write_waits_for_a_thorough_round() {
    let dir = directory();
    let store = open_with(dir.path(), by_hand);
    put(&store, "T", b"x");
    settle(&store);
    let file = dir.path().join("consumequeue/T/0/00000000000000000000");
    store.keeper.keep(false).unwrap();
    assert!(!file.exists(), "one unit is less than two pages");
    store.keeper.keep(true).unwrap();
    assert!(file.exists());
}

// shows: CK-02
#[test]
fn the_checkpoint_follows_log_queues_and_index() {
    let dir = directory();
    let store = open(dir.path());
    let placed = put_with(&store, "T", &[("KEYS", "k")]);
    settle(&store);
    store.flush().unwrap();
    store.keeper.keep(true).unwrap();
    let bytes = fs::read(dir.path().join("checkpoint")).unwrap();
    let field = |n: usize| i64::from_be_bytes(bytes[n * 8..][..8].try_into().unwrap());
    assert_eq!([0, 1, 2].map(field), [placed.store_timestamp; 3]);
}
