use std::fs;

use super::*;
use crate::delay::levels::{Levels, Order, Progress};
use crate::log::clock::now_ms;
use crate::log::queue::Unit;

const TOPIC: &str = "SCHEDULE_TOPIC_XXXX";
/// What level 1 is in the configuration of these stores.
const DELAY_MS: i64 = 1000;

fn wait(store: &Store, body: &str, home: &str) -> Placed {
    let pairs = [("DELAY", "1"), ("TAGS", "t"), ("REAL_TOPIC", home), ("REAL_QID", "2")];
    put(store, TOPIC, 0, body.as_bytes(), &pairs)
}

fn deliver(levels: &Levels, offset: i64, now: i64, count_max: usize) -> Progress {
    let order = Order { topic: TOPIC.as_bytes(), queue_id: 0, offset, now, delay_ms: DELAY_MS, count_max };
    levels.deliver(&order).unwrap()
}

// shows: DL-07
#[test]
fn only_the_head_that_is_due_goes_on_with_all_its_properties() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let levels = Levels::new(store.clone(), None).unwrap();
    let first = wait(&store, "a", "T").store_timestamp;
    assert_eq!(deliver(&levels, 0, first + DELAY_MS - 1, 10).due, Some(first + DELAY_MS));
    assert!(bodies(&store, "T", 2).is_empty());

    let progress = deliver(&levels, 0, first + DELAY_MS, 10);
    assert_eq!((progress.offset, progress.due), (1, None));
    let pairs = [("DELAY", "1"), ("TAGS", "t"), ("REAL_TOPIC", "T"), ("REAL_QID", "2")];
    let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    assert_eq!(found(&store, "T", 2), [("a".to_owned(), pairs)]);
    assert_eq!(progress.counts.keys().collect::<Vec<_>>(), ["T"]);
}

#[test]
fn a_time_further_off_than_the_level_allows_does_not_hold_a_message() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let levels = Levels::new(store.clone(), None).unwrap();
    wait(&store, "a", "T");
    // The clock was set back by an hour after the message was stored.
    assert_eq!(deliver(&levels, 0, now_ms() - 3_600_000, 10).offset, 1);
}

// shows: DL-08
#[test]
fn a_time_that_is_lost_is_computed_from_when_the_message_was_stored() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let levels = Levels::new(store.clone(), None).unwrap();
    let stored = wait(&store, "a", "T").store_timestamp;
    let queue = store.derived.queues.get(TOPIC.as_bytes(), 0).unwrap();
    // An address in an extension that is not there.
    let unit = Unit { tags_code: i64::MIN + 7, ..queue.unit_at(0).unwrap().unwrap() };
    queue.replace(0, unit).unwrap();
    assert_eq!(deliver(&levels, 0, stored + DELAY_MS - 1, 10).due, Some(stored + DELAY_MS));
    assert_eq!(deliver(&levels, 0, stored + DELAY_MS, 10).offset, 1);
}

#[test]
fn an_order_is_kept_over_batches_and_a_limit_ends_it() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let levels = Levels::new(store.clone(), None).unwrap();
    let sent: Vec<String> = (0..600).map(|n| n.to_string()).collect();
    for body in &sent {
        wait(&store, body, "T");
    }
    let later = now_ms() + DELAY_MS;
    let progress = deliver(&levels, 0, later, 300);
    assert_eq!((progress.offset, progress.due), (300, Some(later)));
    assert_eq!(deliver(&levels, progress.offset, later, 1000).offset, 600);
    assert_eq!(bodies(&store, "T", 2), sent);
}

#[test]
fn what_says_no_home_or_can_never_be_stored_does_not_hold_up_the_rest() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let levels = Levels::new(store.clone(), None).unwrap();
    put(&store, TOPIC, 0, b"homeless", &[("DELAY", "1")]);
    wait(&store, "half", "RMQ_SYS_TRANS_HALF_TOPIC");
    wait(&store, "nowhere", &"x".repeat(200));
    wait(&store, "good", "T");
    assert_eq!(deliver(&levels, 0, now_ms() + DELAY_MS, 10).offset, 4);
    assert_eq!(bodies(&store, "T", 2), ["good"]);
    let notes = store.notes.drain();
    assert!(notes.iter().any(|(_, text)| text.contains("does not say where it belongs")));
    assert!(notes.iter().any(|(_, text)| text.contains("can never be stored")));
}

#[test]
fn a_store_that_takes_no_writes_keeps_messages_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let levels = Levels::new(store.clone(), None).unwrap();
    wait(&store, "a", "T");
    store.flags.raise(crate::log::flags::Flag::DiskFull);
    let progress = deliver(&levels, 0, now_ms() + DELAY_MS, 10);
    assert_eq!(progress.offset, 0);
    assert!(progress.refusal.is_some());
    store.flags.clear(crate::log::flags::Flag::DiskFull);
    assert_eq!(deliver(&levels, 0, now_ms() + DELAY_MS, 10).offset, 1);
}

#[test]
fn a_disk_in_trouble_keeps_messages_waiting() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_with(dir.path(), |config| config.queue_ext_file_bytes = Some(4096));
    let levels = Levels::new(store.clone(), None).unwrap();
    wait(&store, "a", "T");
    let in_the_way = dir.path().join("consumequeue_ext/T");
    fs::create_dir_all(in_the_way.parent().unwrap()).unwrap();
    fs::write(&in_the_way, "").unwrap();
    let progress = deliver(&levels, 0, now_ms() + DELAY_MS, 10);
    assert!(progress.offset == 0 && progress.refusal.is_some());
    fs::remove_file(&in_the_way).unwrap();
    assert_eq!(deliver(&levels, 0, now_ms() + DELAY_MS, 10).offset, 1);
    assert_eq!(bodies(&store, "T", 2), ["a"]);
}

#[test]
fn a_message_that_was_stored_once_goes_on_however_small_messages_must_be_by_now() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let levels = Levels::new(store.clone(), None).unwrap();
    let body = "x".repeat(100);
    wait(&store, &body, "T");
    store.set_message_bytes_max(10);
    assert_eq!(deliver(&levels, 0, now_ms() + DELAY_MS, 10).offset, 1);
    assert_eq!(bodies(&store, "T", 2), [body]);
}

#[test]
fn messages_wait_while_there_are_too_many_light_queues_and_pass_over_impossible_ones() {
    let dir = tempfile::tempdir().unwrap();
    let store = open_with(dir.path(), |config| {
        (config.lmq, config.multi_dispatch, config.lmq_queues_max) = (true, true, 1);
    });
    let levels = Levels::new(store.clone(), None).unwrap();
    let wait_for = |names: &str| {
        let home = [("DELAY", "1"), ("REAL_TOPIC", "T"), ("REAL_QID", "2")];
        let pairs = [&home[..], &[("INNER_MULTI_DISPATCH", names)]].concat();
        put(&store, TOPIC, 0, names.as_bytes(), &pairs);
    };
    let impossible = format!(".,%LMQ%{},%LMQ%a", "x".repeat(255));
    wait_for(&impossible);
    wait_for("%LMQ%b");
    assert_eq!(deliver(&levels, 0, now_ms() + DELAY_MS, 1).offset, 1);
    let progress = deliver(&levels, 1, now_ms() + DELAY_MS, 1);
    assert!(progress.offset == 1 && progress.refusal.is_some());
    assert_eq!(bodies(&store, "T", 2), [impossible.as_str()]);
    assert_eq!(bodies(&store, "%LMQ%a", 0), [impossible.as_str()]);
    store.delete_topic(b"%LMQ%a").unwrap();
    assert_eq!(deliver(&levels, 1, now_ms() + DELAY_MS, 1).offset, 2);
    assert_eq!(bodies(&store, "%LMQ%b", 0), ["%LMQ%b"]);
}

#[test]
fn deliveries_that_the_progress_does_not_know_are_found_in_the_log_and_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let levels = Levels::new(store.clone(), None).unwrap();
    // Twice the same message: each delivery answers for one of them.
    for body in ["a", "a", "b", "c"] {
        wait(&store, body, "T");
    }
    let later = now_ms() + DELAY_MS;
    let written_down = store.log.written();
    assert_eq!(deliver(&levels, 0, later, 3).offset, 3);
    let after_a_crash = Levels::new(store.clone(), Some(written_down)).unwrap();
    assert_eq!(after_a_crash.delivered_before(), 3);
    assert_eq!(deliver(&after_a_crash, 0, later, 10).offset, 4);
    assert_eq!(after_a_crash.delivered_before(), 0);
    assert_eq!(bodies(&store, "T", 2), ["a", "a", "b", "c"]);
}
