//! Dispatch: from the log to queues, index and waiting readers.

use std::os::unix::fs::FileExt;

use super::*;
use crate::log::config::FlushMode;
use crate::log::queue::Unit;
use crate::log::segment::file_name;
use crate::message::layout::{STORE_TIMESTAMP_AT, sys_flag};

fn units(store: &Store, topic: &str, queue_id: i32) -> Vec<Unit> {
    settle(store);
    let queue = store.derived.queues.get(topic.as_bytes(), queue_id).unwrap();
    let mut units = Vec::new();
    queue.read(0, 1000, &mut units).unwrap();
    units
}

fn keys_found(store: &Store, topic: &str, key: &str) -> usize {
    settle(store);
    store.query(topic.as_bytes(), Indexed::Key(key.as_bytes()), 0, i64::MAX, 64).unwrap().len()
}

// shows: RD-13, X-15, CQ-01
#[test]
fn a_unit_holds_offset_whole_size_and_tag_of_its_message() {
    let dir = directory();
    let store = open(dir.path());
    let first = put_with(&store, "T", &[("TAGS", "TagA")]);
    let second = put(&store, "T", b"no tag");
    let expected = [(first, 2_598_919), (second, 0)].map(|(placed, tags_code)| Unit {
        physical_offset: placed.physical_offset.cast_signed(),
        size: placed.size as i32,
        tags_code,
    });
    assert_eq!(units(&store, "T", 0), expected);
}

// shows: CQ-11
#[test]
fn a_delayed_message_keeps_its_delivery_time_in_place_of_the_tag() {
    let dir = directory();
    let store = open(dir.path());
    let levels = [("1", 1_000), ("3", 10_000), ("99", 10_000)];
    let placed: Vec<_> = levels
        .iter()
        .map(|(level, _)| put_with(&store, "SCHEDULE_TOPIC_XXXX", &[("DELAY", level), ("TAGS", "TagA")]))
        .collect();
    for ((unit, placed), (_, delay)) in
        units(&store, "SCHEDULE_TOPIC_XXXX", 0).iter().zip(&placed).zip(levels)
    {
        assert_eq!(unit.tags_code, placed.store_timestamp + delay);
    }
    put_with(&store, "T", &[("DELAY", "1"), ("TAGS", "TagA")]);
    assert_eq!(units(&store, "T", 0)[0].tags_code, 2_598_919, "only in the schedule topic");
}

// shows: RD-01, N-08, X-03
#[test]
fn a_waiting_reader_is_woken_at_once() {
    let dir = directory();
    let store = open(dir.path());
    let began = Instant::now();
    for n in 0..50 {
        thread::scope(|scope| {
            let reader = scope.spawn(|| store.wait_for(b"T", 0, n, Instant::now() + PATIENCE));
            put(&store, "T", b"x");
            assert!(reader.join().unwrap());
        });
    }
    assert!(began.elapsed() < Duration::from_secs(5), "50 arrivals took {:?}", began.elapsed());
}

// shows: RD-09
#[test]
fn a_reader_waits_for_its_own_queue() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "Other", b"x");
    let soon = || Instant::now() + Duration::from_millis(50);
    assert!(!store.wait_for(b"T", 0, 0, soon()));
    put(&store, "T", b"x");
    assert!(store.wait_for(b"T", 0, 0, Instant::now() + PATIENCE), "offset 0 is there");
    assert!(!store.wait_for(b"T", 0, 1, soon()), "offset 1 is not");
}

// shows: RD-03, RD-04, RD-12
#[test]
fn nothing_past_the_confirm_offset_is_dispatched_not_even_half_a_record() {
    let dir = directory();
    let store = open(dir.path());
    store.dispatcher.set_confirm_limit(Some(0));
    let placed = put_numbered(&store, "T", 4);
    let count = || store.derived.queues.get(b"T", 0).map_or(0, |queue| queue.max_offset());
    thread::sleep(Duration::from_millis(20));
    assert_eq!((count(), store.dispatcher.behind()), (0, 0));
    for (limit, expected) in [
        (placed[1].physical_offset - 1, 0),
        (placed[1].physical_offset, 1),
        (placed[3].physical_offset + 50, 3),
    ] {
        store.dispatcher.set_confirm_limit(Some(limit));
        eventually("what is confirmed", || count() == expected);
        thread::sleep(Duration::from_millis(20));
        assert_eq!(count(), expected);
        assert!(store.flags.is_writable(), "half a record is no damage: {:?}", notes(&store));
    }
    assert_eq!(store.dispatcher.behind(), 50, "confirmed and not dispatched");
    store.dispatcher.set_confirm_limit(None);
    assert_eq!(bodies(&store, "T"), numbered(4));
    assert_eq!(store.dispatcher.behind(), 0);
}

// shows: RD-03
#[test]
fn with_sync_flush_readers_see_what_is_on_disk() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        config.flush_mode = FlushMode::Sync;
        config.flush_interval = Duration::from_hours(1);
        config.sync_flush_timeout = Duration::from_millis(1);
    });
    let busy = (store.flusher.leading.lock(), store.log.flushing.lock());
    refusal(&store, &draft("T", b"x"));
    assert_eq!((store.dispatcher.confirmed(), store.log.written()), (0, 93));
    drop(busy);
    store.flush().unwrap();
    assert_eq!(bodies(&store, "T").len(), 1);
}

// shows: RD-02
#[test]
fn dispatch_that_finds_its_place_deleted_goes_on_at_the_start_of_the_log() {
    let dir = directory();
    let store = open(dir.path());
    store.dispatcher.set_confirm_limit(Some(0));
    let mut placed = Vec::new();
    while store.log.segments().len() < 3 {
        placed.push(put(&store, "T", &[7; 1024]));
    }
    store.flush().unwrap();
    assert_eq!(store.delete_first_log_file(true).unwrap(), None, "not dispatched yet");
    store.log.delete_first(true).unwrap().unwrap();
    store.dispatcher.set_confirm_limit(None);
    settle(&store);
    assert!(has_note(&notes(&store), Level::Warning, "below the log's start"));
    let left = placed.iter().filter(|placed| placed.physical_offset >= store.log.min_offset()).count();
    assert_eq!(bodies(&store, "T").len(), left);
    let first = placed.len() - left;
    assert_eq!(store.derived.queues.get(b"T", 0).unwrap().min_offset(), first as i64);
}

// shows: RD-11
#[test]
fn a_close_works_off_what_waits_for_dispatch() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.log_file_bytes = 8 << 20);
    put_numbered(&store, "T", 20_000);
    store.close().unwrap();
    assert_eq!(store.dispatcher.behind(), 0);
    assert!(!dir.path().join("abort").exists());
    drop(store);
    let store = open_with(dir.path(), |config| config.log_file_bytes = 8 << 20);
    assert_eq!(store.derived.queues.get(b"T", 0).unwrap().max_offset(), 20_000);
}

// shows: RD-15
#[test]
fn without_the_index_nothing_is_indexed() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.index_enabled = false);
    put_with(&store, "T", &[("KEYS", "k")]);
    assert_eq!(keys_found(&store, "T", "k"), 0);
    assert!(!dir.path().join("index").exists());
}

// shows: IX-10, IX-11, U-28
#[test]
fn unique_key_and_every_word_of_the_keys_are_indexed_but_not_for_rollbacks() {
    let dir = directory();
    let store = open(dir.path());
    let properties = text(&[("UNIQ_KEY", "u1"), ("KEYS", "k1  k2")]);
    let plain = Draft { properties: &properties, ..draft("T", b"x") };
    store.put(&plain, true).unwrap();
    for key in ["u1", "k1", "k2"] {
        assert_eq!(keys_found(&store, "T", key), 1, "{key}");
    }
    for (topic, key) in [("T", "k1  k2"), ("T", ""), ("T", "k3"), ("U", "k1")] {
        assert_eq!(keys_found(&store, topic, key), 0, "{topic} {key:?}");
    }
    store.put(&Draft { sys_flag: sys_flag::TRANSACTION_ROLLBACK, ..plain }, true).unwrap();
    assert_eq!(keys_found(&store, "T", "k1"), 1);
    store.put(&Draft { sys_flag: sys_flag::TRANSACTION_PREPARED, ..plain }, true).unwrap();
    assert_eq!(keys_found(&store, "T", "k1"), 2);
}

// shows: IX-09
#[test]
fn a_full_index_file_is_followed_by_the_next_without_anyone_noticing() {
    let dir = directory();
    let store = open(dir.path());
    for n in 0..1000 {
        put_with(&store, "T", &[("KEYS", &format!("k{n}"))]);
    }
    settle(&store);
    assert_eq!(names(&dir.path().join("index")).len(), 3, "399 entries a file");
    assert!((0..1000).all(|n| keys_found(&store, "T", &format!("k{n}")) == 1));
}

// shows: IX-12
#[test]
fn an_index_that_cannot_be_written_holds_nobody_up_and_catches_up_later() {
    let dir = directory();
    let store = open(dir.path());
    let index = dir.path().join("index");
    fs::remove_dir(&index).unwrap();
    fs::write(&index, "in the way").unwrap();
    for n in 0..10 {
        put_with(&store, "T", &[("KEYS", &format!("k{n}"))]);
    }
    assert_eq!(bodies(&store, "T").len(), 10, "readers are served");
    assert!(store.flags.is_writable(), "and writers");
    let lines = notes(&store);
    assert_eq!(lines.iter().filter(|(level, _)| *level == Level::Error).count(), 1, "{lines:?}");
    assert_eq!(keys_found(&store, "T", "k0"), 0);
    fs::remove_file(&index).unwrap();
    fs::create_dir(&index).unwrap();
    eventually("the index", || keys_found(&store, "T", "k9") == 1);
    assert!((0..10).all(|n| keys_found(&store, "T", &format!("k{n}")) == 1));
    assert!(!store.dispatcher.index_stands());
}

// shows: IX-12
#[test]
fn what_was_never_indexed_is_indexed_by_the_next_start() {
    let dir = directory();
    let store = open(dir.path());
    let index = dir.path().join("index");
    fs::remove_dir(&index).unwrap();
    fs::write(&index, "in the way").unwrap();
    put_with(&store, "T", &[("KEYS", "k")]);
    settle(&store);
    store.keeper.keep(false).unwrap();
    let _ = store.close(); // the index cannot be synced either
    assert!(dir.path().join("abort").exists());
    drop(store);
    fs::remove_file(&index).unwrap();
    assert_eq!(keys_found(&open(dir.path()), "T", "k"), 1);
}

#[test]
fn a_damaged_store_time_costs_no_other_message_its_keys() {
    for impossible in [i64::MIN, -1, 0, i64::MAX] {
        let dir = directory();
        let store = open(dir.path());
        let keys: Vec<_> = (0..5).map(|number| format!("k{number}")).collect();
        let placed: Vec<_> = keys.iter().map(|key| put_with(&store, "T", &[("KEYS", key)])).collect();
        settle(&store);
        let copy = killed(dir.path());
        let log = fs::OpenOptions::new().write(true).open(copy.path().join("commitlog").join(file_name(0)));
        let time_at = placed[4].physical_offset + STORE_TIMESTAMP_AT as u64;
        log.unwrap().write_all_at(&impossible.to_be_bytes(), time_at).unwrap();
        let store = open(copy.path());
        for key in &keys[..4] {
            assert_eq!(keys_found(&store, "T", key), 1, "{key}, the last message at {impossible}");
        }
    }
}

fn multi(config: &mut StoreConfig) {
    config.lmq = true;
    config.multi_dispatch = true;
    config.lmq_queues_max = 3;
}

// shows: RD-16, RD-17
#[test]
fn a_message_goes_into_every_light_queue_it_names() {
    let dir = directory();
    let store = open_with(dir.path(), multi);
    let to = |names: &str| {
        let properties = text(&[("INNER_MULTI_DISPATCH", names), ("WAIT", "true")]);
        store.put(&Draft { queue_id: 5, properties: &properties, ..draft("T", b"x") }, true).unwrap()
    };
    to("%LMQ%a,%LMQ%b");
    to("%LMQ%b,plain");
    let placed = to("%LMQ%b");
    assert_eq!(units(&store, "T", 5).len(), 3);
    assert_eq!([units(&store, "%LMQ%a", 0).len(), units(&store, "%LMQ%b", 0).len()], [1, 3]);
    assert_eq!(units(&store, "plain", 5).len(), 1, "no light queue, so it has the message's queue id");
    assert_eq!(units(&store, "%LMQ%b", 0)[2].physical_offset, placed.physical_offset.cast_signed());
    let slice = store.record_at(placed.physical_offset).unwrap().unwrap();
    let record = slice.record().unwrap();
    assert_eq!(properties::find(record.properties(), b"INNER_MULTI_QUEUE_OFFSET"), Some(&b"2"[..]));
    assert_eq!(properties::find(record.properties(), b"WAIT"), Some(&b"true"[..]));
    assert_eq!(bodies(&store, "%LMQ%b"), [b"x", b"x", b"x"]);
    assert!(store.wait_for(b"%LMQ%b", 0, 2, Instant::now() + PATIENCE), "its readers are woken");
}

// shows: RD-16
#[test]
fn names_that_stand_for_no_queue_and_topics_without_light_queues_are_passed_over() {
    let dir = directory();
    let store = open_with(dir.path(), multi);
    put_with(&store, "T", &[("INNER_MULTI_DISPATCH", "%LMQ%a/b,,%LMQ%ok")]);
    put_with(&store, "%RETRY%T", &[("INNER_MULTI_DISPATCH", "%LMQ%retry")]);
    put_with(&store, "rmq_sys_T", &[("INNER_MULTI_DISPATCH", "%LMQ%system")]);
    settle(&store);
    let mut topics = store.derived.queues.topics();
    topics.sort();
    assert_eq!(topics, ["%LMQ%ok", "%RETRY%T", "T", "rmq_sys_T"].map(Arc::from));
    drop(store);
    let dir = directory();
    let store = open(dir.path());
    put_with(&store, "T", &[("INNER_MULTI_DISPATCH", "%LMQ%off")]);
    settle(&store);
    assert_eq!(store.derived.queues.topics(), [Arc::from("T")], "switched off");
}

#[test]
fn numbers_that_nobody_can_have_in_a_light_queue_keep_no_message_from_its_readers() {
    let dir = directory();
    // Without light queues the numbers that a message brings along are not replaced by right ones.
    let store = open(dir.path());
    store.dispatcher.set_confirm_limit(Some(0));
    let names = [("INNER_MULTI_DISPATCH", "%LMQ%a,%LMQ%b"), ("INNER_MULTI_QUEUE_OFFSET", "-1,0")];
    put_with(&store, "T", &names);
    put(&store, "T", b"next");
    let copy = killed(dir.path());
    let store = open_with(copy.path(), multi);
    assert_eq!(bodies(&store, "T"), [&b"body"[..], b"next"]);
    assert_eq!(bodies(&store, "%LMQ%b"), [b"body"], "nor from those of the queues named behind it");
    assert!(has_note(&notes(&store), Level::Error, "-1 cannot be an offset of a queue"));
}

#[test]
fn a_light_queue_that_is_deleted_before_a_message_is_written_begins_anew_with_it() {
    let dir = directory();
    let store = open_with(dir.path(), multi);
    let to_light = || put_with(&store, "T", &[("INNER_MULTI_DISPATCH", "%LMQ%a")]);
    to_light();
    settle(&store);
    let lock = store.log.lock();
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(to_light);
        }
        thread::sleep(Duration::from_millis(50)); // for both to stand before the lock
        store.derived.queues.remove_topic(b"%LMQ%a").unwrap();
        drop(lock);
    });
    to_light();
    assert_eq!(units(&store, "%LMQ%a", 0).len(), 3);
}

#[test]
fn a_light_queue_whose_number_is_taken_is_told_of() {
    let dir = directory();
    let store = open_with(dir.path(), multi);
    let to_light = || put_with(&store, "T", &[("INNER_MULTI_DISPATCH", "%LMQ%a")]);
    to_light();
    settle(&store);
    store.derived.queues.get(b"%LMQ%a", 0).unwrap().set_next(0);
    to_light();
    assert_eq!(units(&store, "%LMQ%a", 0).len(), 1);
    assert!(has_note(&notes(&store), Level::Error, "queue %LMQ%a-0: number 0 is taken"));
}

#[test]
fn numbers_that_a_client_wrote_are_followed_by_nobody() {
    for (lmq, multi_dispatch) in [(false, false), (false, true), (true, false), (true, true)] {
        let dir = directory();
        let store =
            open_with(dir.path(), |config| (config.lmq, config.multi_dispatch) = (lmq, multi_dispatch));
        put(&store, "V", b"first");
        put_with(&store, "T", &[("INNER_MULTI_DISPATCH", "V,%LMQ%a"), ("INNER_MULTI_QUEUE_OFFSET", "1,9")]);
        put(&store, "V", b"second");
        let named = if lmq && multi_dispatch { vec![&b"body"[..]] } else { vec![] };
        let expected = [&[&b"first"[..]], &named[..], &[&b"second"[..]]].concat();
        assert_eq!(bodies(&store, "V"), expected, "{lmq} {multi_dispatch}");
        assert_eq!(bodies(&store, "%LMQ%a"), named, "{lmq} {multi_dispatch}");
        assert_eq!(notes(&store).iter().filter(|(level, _)| *level == Level::Error).count(), 0);
    }
}

#[test]
fn a_queue_that_a_list_names_twice_or_that_is_the_messages_own_counts_one_message() {
    for names in ["%LMQ%a,%LMQ%a", "%LMQ%a,V,%LMQ%a", "V,V,%LMQ%a"] {
        let dir = directory();
        let store = open_with(dir.path(), multi);
        for number in 0..4 {
            let placed = put_with(&store, "V", &[("INNER_MULTI_DISPATCH", names)]);
            assert_eq!(placed.queue_offset, number, "{names}");
        }
        settle(&store);
        store.dispatcher.set_confirm_limit(Some(store.log.written()));
        put_with(&store, "V", &[("INNER_MULTI_DISPATCH", names)]);
        let copy = killed(dir.path());
        store.dispatcher.set_confirm_limit(None);
        fs::remove_dir_all(copy.path().join("consumequeue")).unwrap_or_default();
        for store in [store, open_with(copy.path(), multi)] {
            assert_eq!([units(&store, "V", 0).len(), units(&store, "%LMQ%a", 0).len()], [5, 5], "{names}");
            let errors = notes(&store).into_iter().filter(|(level, _)| *level == Level::Error);
            assert_eq!(errors.collect::<Vec<_>>(), [], "{names}");
        }
    }
}

#[test]
fn a_half_message_takes_no_place_in_the_light_queues_that_it_names() {
    let dir = directory();
    let store = open_with(dir.path(), multi);
    let properties = text(&[("INNER_MULTI_DISPATCH", "%LMQ%a")]);
    let half =
        Draft { sys_flag: sys_flag::TRANSACTION_PREPARED, properties: &properties, ..draft("T", b"half") };
    store.put(&half, true).unwrap();
    // The way the broker stores halves.
    store
        .put(&Draft { properties: &properties, ..draft("RMQ_SYS_TRANS_HALF_TOPIC", b"half") }, true)
        .unwrap();
    put_with(&store, "T", &[("INNER_MULTI_DISPATCH", "%LMQ%a")]);
    assert_eq!(bodies(&store, "%LMQ%a"), [b"body"]);
    assert_eq!(store.derived.queues.get(b"%LMQ%a", 0).unwrap().max_offset(), 1);
}

#[test]
fn a_number_that_was_passed_over_costs_no_message_behind_it() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "T", b"0");
    store.derived.queues.get(b"T", 0).unwrap().set_next(5);
    put(&store, "T", b"5");
    put(&store, "T", b"6");
    assert_eq!(units(&store, "T", 0).len(), 7);
    assert!(has_note(&notes(&store), Level::Error, "messages 1 to 4 are not in the log"));
    let copy = killed(dir.path());
    fs::remove_dir_all(copy.path().join("consumequeue")).unwrap_or_default();
    for store in [store, open(copy.path())] {
        let slice = |number: usize| {
            let unit = units(&store, "T", 0)[number];
            store.record_at(unit.physical_offset.cast_unsigned()).unwrap().unwrap()
        };
        for (number, body) in [(0, b"0"), (5, b"5"), (6, b"6")] {
            assert_eq!(slice(number).record().unwrap().body(), body);
        }
    }
}

#[test]
fn a_batch_cannot_name_light_queues() {
    let dir = directory();
    let store = open_with(dir.path(), multi);
    let properties = text(&[("INNER_MULTI_DISPATCH", "%LMQ%a")]);
    let naming = Draft { properties: &properties, ..draft("T", b"x") };
    let refused = store.put_batch(&[naming, naming], true).unwrap_err();
    assert_eq!(refused.status, PutStatus::MessageIllegal);
    assert!(refused.reason.contains("light queues"), "{}", refused.reason);
}

#[test]
fn the_number_of_light_queues_is_limited() {
    let dir = directory();
    let store = open_with(dir.path(), multi);
    for name in ["%LMQ%1", "%LMQ%2", "%LMQ%3"] {
        put_with(&store, "T", &[("INNER_MULTI_DISPATCH", name)]);
    }
    let properties = text(&[("INNER_MULTI_DISPATCH", "%LMQ%4")]);
    let refused = status(&store, &Draft { properties: &properties, ..draft("T", b"x") });
    assert_eq!(refused, PutStatus::LmqQueuesExceeded);
    put_with(&store, "T", &[("INNER_MULTI_DISPATCH", "%LMQ%3")]);
}

#[test]
fn light_queues_survive_a_restart_and_a_kill() {
    let dir = directory();
    let store = open_with(dir.path(), multi);
    for _ in 0..10 {
        put_with(&store, "T", &[("INNER_MULTI_DISPATCH", "%LMQ%a")]);
    }
    settle(&store);
    let copy = killed(dir.path());
    store.close().unwrap();
    for root in [dir.path(), copy.path()] {
        let store = open_with(root, multi);
        assert_eq!(bodies(&store, "%LMQ%a").len(), 10);
        put_with(&store, "T", &[("INNER_MULTI_DISPATCH", "%LMQ%a")]);
        assert_eq!(bodies(&store, "%LMQ%a").len(), 11);
    }
}

#[test]
fn a_light_queue_made_anew_keeps_its_messages_after_a_kill() {
    for (written_out, new) in [(false, 1), (true, 1), (false, 3), (true, 3)] {
        let dir = directory();
        let store = open_with(dir.path(), multi);
        let properties = text(&[("INNER_MULTI_DISPATCH", "%LMQ%a")]);
        let to_light = |store: &Store, body: &[u8]| {
            store.put(&Draft { properties: &properties, ..draft("T", body) }, true).unwrap();
        };
        for _ in 0..5 {
            to_light(&store, b"old");
        }
        settle(&store);
        assert!(store.delete_topic(b"%LMQ%a").unwrap());
        for body in numbered(new) {
            to_light(&store, &body);
        }
        settle(&store);
        if written_out {
            store.keeper.keep(true).unwrap();
        }
        let copy = killed(dir.path());
        let store = open_with(copy.path(), multi);
        assert_eq!(bodies(&store, "%LMQ%a"), numbered(new), "{written_out} {new}");
        assert_eq!(bodies(&store, "T").len(), 5 + new);
        to_light(&store, new.to_string().as_bytes());
        assert_eq!(bodies(&store, "%LMQ%a"), numbered(new + 1), "{written_out} {new}");
    }
}

#[test]
fn a_queue_of_own_and_of_naming_messages_is_built_again_in_their_order() {
    let dir = directory();
    let store = open_with(dir.path(), multi);
    let properties = text(&[("INNER_MULTI_DISPATCH", "V,%LMQ%a,V")]);
    for (number, body) in numbered(9).iter().enumerate() {
        if number % 3 == 1 {
            store.put(&Draft { properties: &properties, ..draft("T", body) }, true).unwrap();
        } else {
            put(&store, "V", body);
        }
    }
    assert_eq!(bodies(&store, "V"), numbered(9));
    store.keeper.keep(true).unwrap();
    let copy = killed(dir.path());
    store.close().unwrap();
    drop(store);
    for root in [dir.path(), copy.path()] {
        for lost in ["V", "%LMQ%a"] {
            fs::remove_dir_all(root.join("consumequeue").join(lost)).unwrap();
        }
        let store = open_with(root, multi);
        assert_eq!(bodies(&store, "V"), numbered(9));
        assert_eq!(bodies(&store, "%LMQ%a"), [b"1", b"4", b"7"]);
        let errors = notes(&store).into_iter().filter(|(level, _)| *level == Level::Error);
        assert_eq!(errors.collect::<Vec<_>>(), []);
    }
}

// shows: CQ-10
#[test]
fn with_the_extension_units_lead_to_tag_and_time_and_filters_still_work() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.queue_ext_file_bytes = Some(4096));
    for n in 0..300 {
        put_with(&store, "T", &[("TAGS", if n % 3 == 0 { "A" } else { "B" })]);
    }
    assert!(units(&store, "T", 0).iter().all(|unit| unit.tags_code < i64::from(i32::MIN)));
    store.keeper.keep(true).unwrap();
    assert_eq!(names(&dir.path().join("consumequeue_ext/T/0")).len(), 2);
    let wanted = filter("A");
    let mut found = 0;
    let mut offset = 0;
    while offset < 300 {
        let result = store.read(&ReadRequest { filter: Some(&wanted), ..request("T", 0, offset) }).unwrap();
        found += result.len();
        offset = result.next_offset;
    }
    assert_eq!(found, 100);
}

#[test]
fn the_extension_goes_with_the_units_that_lead_there() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.queue_ext_file_bytes = Some(400));
    let ext = dir.path().join("consumequeue_ext/T/0");
    let mut count = 0;
    while store.log.segments().len() < 4 {
        let properties = text(&[("TAGS", "A")]);
        store.put(&Draft { properties: &properties, ..draft("T", &[7; 1024]) }, true).unwrap();
        count += 1;
    }
    settle(&store);
    store.flush().unwrap();
    store.keeper.keep(true).unwrap();
    let files = names(&ext).len();
    store.delete_first_log_file(true).unwrap().unwrap();
    store.delete_expired_queue_files().unwrap();
    let kept = names(&ext).len();
    assert!(kept < files, "{kept} of {files} files after the log's first is gone");
    let queue = store.derived.queues.get(b"T", 0).unwrap();
    let tag_at = |offset| queue.tags_code(queue.unit_at(offset).unwrap().unwrap()).unwrap();
    assert!(
        (queue.min_offset()..count).all(|offset| tag_at(offset) == 65),
        "those that are left have theirs"
    );

    queue.end_before(count - 40).unwrap();
    assert!(names(&ext).len() < kept, "{} of {kept} files without the last 40 units", names(&ext).len());
    assert!((queue.min_offset()..count - 40).all(|offset| tag_at(offset) == 65));

    store.delete_topic(b"T").unwrap();
    assert!(!dir.path().join("consumequeue_ext/T").exists());
}
