//! Reading by queue, by position and by time.

use super::*;
use crate::log::queue::{UNIT_BYTES, Unit};
use crate::log::read::GetStatus;

// shows: ST-19
#[test]
fn a_read_of_an_unknown_topic_is_an_answer_and_makes_nothing() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "FooBar", b"x");
    let found = read(&store, "TOPIC_A", 0);
    assert!(found.is_empty());
    assert!(matches!(found.status, GetStatus::NoMatchedLogicQueue | GetStatus::NoMessageInQueue));
    assert_eq!((found.next_offset, found.min_offset, found.max_offset), (0, 0, 0));
    assert_eq!(store.derived.queues.topics(), [Arc::from("FooBar")]);
}

#[test]
fn every_offset_has_its_status() {
    let dir = directory();
    let store = open(dir.path());
    store.put(&Draft { queue_id: 1, ..draft("T", b"x") }, true).unwrap();
    store.derived.queues.get_or_create(b"T", 0).unwrap();
    assert_eq!(read(&store, "T", 0).status, GetStatus::NoMessageInQueue);
    let count = fill_files(&store, "T", 3) as i64;
    store.flush().unwrap();
    store.delete_first_log_file(false).unwrap().unwrap();
    assert_eq!(
        read(&store, "T", 0).status,
        GetStatus::MessageWasRemoving,
        "the minimum is not corrected yet"
    );
    store.delete_expired_queue_files().unwrap();
    let min = store.derived.queues.get(b"T", 0).unwrap().min_offset();
    for (offset, status, next) in [
        (-1, GetStatus::OffsetTooSmall, min),
        (min - 1, GetStatus::OffsetTooSmall, min),
        (min, GetStatus::Found, min + 32),
        (count, GetStatus::OffsetOverflowOne, count),
        (count + 1, GetStatus::OffsetOverflowBadly, count),
    ] {
        let found = read(&store, "T", offset);
        assert_eq!((found.status, found.next_offset), (status, next), "offset {offset}");
        assert_eq!((found.min_offset, found.max_offset), (min, count));
    }
}

// shows: N-03, MF-13
#[test]
fn what_is_read_lies_in_the_map_of_the_file() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "T", 10);
    let found = read(&store, "T", 0);
    let segment = store.log.segment_of(0).unwrap();
    let map = segment.map().as_ptr() as usize..segment.map().as_ptr() as usize + segment.map().len();
    for slice in slices(&found) {
        assert!(map.contains(&(slice.bytes().as_ptr() as usize)), "copied");
    }
}

// shows: MF-13
#[test]
fn only_the_start_of_a_record_below_the_readable_offset_is_one() {
    let dir = directory();
    let store = open(dir.path());
    let placed = put_numbered(&store, "T", 3);
    settle(&store);
    let at = |offset| store.record_at(offset).unwrap().map(|slice| slice.record().unwrap().queue_offset());
    assert_eq!(at(placed[1].physical_offset), Some(1));
    let end = placed[2].physical_offset + placed[2].size;
    for offset in [placed[1].physical_offset + 1, end - 1, end, end + 1, u64::MAX] {
        assert_eq!(at(offset), None, "offset {offset}");
    }
}

#[test]
fn count_and_bytes_limit_a_read_but_the_first_message_always_comes() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        config.transfer_memory.bytes = 3000;
        config.transfer_memory.count = 5;
    });
    for _ in 0..20 {
        put(&store, "T", &[1; 1000 - 92]);
    }
    settle(&store);
    let count = |count_max, bytes_max, transfer_limits| {
        let request = ReadRequest { count_max, bytes_max, transfer_limits, ..request("T", 0, 0) };
        store.read(&request).unwrap().len()
    };
    assert_eq!(count(32, None, true), 3, "the transfer limit by bytes");
    assert_eq!(count(2, None, true), 2);
    assert_eq!(count(32, Some(10_000), true), 3, "the smaller of both limits");
    assert_eq!(count(32, Some(2_000), true), 2);
    assert_eq!(count(32, Some(10_000), false), 10);
    assert_eq!(count(32, Some(1), false), 1);
    put(&store, "U", b"");
    for _ in 0..9 {
        put(&store, "U", b"");
    }
    assert_eq!(read(&store, "U", 0).len(), 5, "the transfer limit by count");
}

#[test]
fn a_tag_filter_decides_by_hash_and_then_by_the_tag_itself() {
    let dir = directory();
    let store = open(dir.path());
    // "Aa" and "BB" have the same hash.
    for tag in ["Aa", "BB", "C", "Aa"] {
        put_with(&store, "T", &[("TAGS", tag)]);
    }
    put(&store, "T", b"without");
    settle(&store);
    let offsets = |expression: &str| -> Vec<i64> {
        let filter = filter(expression);
        let found = store.read(&ReadRequest { filter: Some(&filter), ..request("T", 0, 0) }).unwrap();
        assert_eq!(found.next_offset, 5);
        slices(&found).iter().map(|slice| slice.record().unwrap().queue_offset()).collect()
    };
    assert_eq!(offsets("Aa"), [0, 3]);
    assert_eq!(offsets("BB || C"), [1, 2]);
    assert_eq!(offsets("D"), [0; 0]);
    assert!(["*", "", " || "].iter().all(|all| TagFilter::parse(all).is_none()), "lets everything through");
}

#[test]
fn a_tag_filter_does_not_pass_over_a_message_whose_unit_is_damaged() {
    let dir = directory();
    let store = open(dir.path());
    for tag in ["A", "A", "B", "B", "A"] {
        put_with(&store, "T", &[("TAGS", tag)]);
    }
    settle(&store);
    let queue = store.derived.queues.get(b"T", 0).unwrap();
    for tag in ["A", "B"] {
        for offset in [1, 2] {
            queue.replace(offset, Unit::decode(&[0; UNIT_BYTES])).unwrap();
        }
        // As a broker filters, by hash alone: the mended unit's counts.
        let filter = TagFilter::parse_codes(tag).unwrap();
        let found = store.read(&ReadRequest { filter: Some(&filter), ..request("T", 0, 0) }).unwrap();
        let offsets: Vec<_> =
            slices(&found).iter().map(|slice| slice.record().unwrap().queue_offset()).collect();
        assert_eq!(offsets, if tag == "A" { vec![0, 1, 4] } else { vec![2, 3] });
        assert_eq!(found.next_offset, 5);
    }
}

// shows: X-21
#[test]
fn a_message_that_was_read_is_still_there() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "T", 5);
    for _ in 0..3 {
        assert_eq!(bodies(&store, "T"), numbered(5));
    }
    store.close().unwrap();
    drop(store);
    assert_eq!(bodies(&open(dir.path()), "T"), numbered(5));
}

/// A queue over several files whose messages are stored at 10, 20, 20, 30, … (after the first put's time).
fn timed(store: &Store) -> (i64, Vec<i64>) {
    let base = put(store, "T", b"first").store_timestamp + 10_000;
    let mut times = vec![];
    for n in 0..200_i64 {
        // Pairs share their time.
        store.log.writer.lock().last_timestamp = base + n / 2 * 10;
        times.push(put(store, "T", &n.to_string().into_bytes()).store_timestamp - base);
    }
    settle(store);
    (base, times)
}

// shows: CQ-08
#[test]
fn a_time_leads_to_the_first_message_not_before_it_or_the_last_not_after_it() {
    let dir = directory();
    let store = open(dir.path());
    let (base, times) = timed(&store);
    assert_eq!(times[..4], [0, 0, 10, 10]);
    let queue = store.derived.queues.get(b"T", 0).unwrap();
    assert_eq!(queue.max_offset(), 201);
    let at = |time: i64, upper| store.offset_at_time(&queue, base + time, upper).unwrap();
    assert_eq!([at(-20_000, false), at(-20_000, true)], [0, 0], "before the first");
    assert_eq!([at(0, false), at(0, true)], [1, 2], "equal to two");
    assert_eq!([at(500, false), at(500, true)], [101, 102]);
    assert_eq!([at(505, false), at(505, true)], [103, 102], "between two");
    assert_eq!([at(99_999, false), at(99_999, true)], [201, 200], "after the last");
}

#[test]
fn damaged_messages_hide_no_others_from_a_search_by_time() {
    let dir = directory();
    let store = open(dir.path());
    let (base, _) = timed(&store);
    let queue = store.derived.queues.get(b"T", 0).unwrap();
    // Among them all that a search comes by first.
    for offset in 60..160 {
        damage(&store, queue.unit_at(offset).unwrap().unwrap().physical_offset.cast_unsigned());
    }
    let at = |time: i64, upper| store.offset_at_time(&queue, base + time, upper).unwrap();
    assert_eq!([at(100, false), at(100, true)], [21, 22], "before the damage");
    assert_eq!([at(900, false), at(900, true)], [181, 182], "behind it");
}

/// Makes a message unreadable by its magic.
fn damage(store: &Store, physical_offset: u64) {
    let segment = store.log.segment_of(physical_offset).unwrap();
    segment.overwrite(physical_offset - segment.start() + 4, b"XXXX").unwrap();
}

#[test]
fn a_reader_of_the_log_is_told_where_it_goes_on_behind_damage() {
    let dir = directory();
    let store = open(dir.path());
    let placed = put_numbered(&store, "T", 6);
    settle(&store);
    let from = |from| store.read_log(from, 100, 1 << 20, Some(Instant::now()));
    for hurt in [2, 3, 5] {
        damage(&store, placed[hurt].physical_offset);
    }
    let (found, next) = from(0).unwrap();
    assert_eq!((found.len(), next), (2, placed[2].physical_offset));
    let stopped = from(next).unwrap_err();
    assert!(matches!(stopped, crate::error::Error::Damaged { .. }));
    let way_on = placed[4].physical_offset;
    let expected = format!("offset {next} is damaged; go on at {way_on}");
    assert!(stopped.to_string().contains(&expected), "{stopped}");
    for amid in [placed[1].physical_offset + 1, way_on + 10] {
        let refused = from(amid).unwrap_err();
        assert!(matches!(refused, crate::error::Error::Config(_)), "{refused}");
    }
    let (found, next) = from(way_on).unwrap();
    assert_eq!((found.len(), next), (1, placed[5].physical_offset));
    let stopped = from(next).unwrap_err().to_string();
    assert!(!stopped.contains("go on"), "nothing is behind it: {stopped}");
}

#[test]
fn a_read_of_very_many_messages_gives_all_of_them() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "T", 1000);
    settle(&store);
    for count_max in [255, 256, 257, 600, 1000, 1001, usize::MAX] {
        let wanted = ReadRequest {
            count_max,
            bytes_max: Some(usize::MAX),
            transfer_limits: false,
            ..request("T", 0, 0)
        };
        let found = store.read(&wanted).unwrap();
        let bodies: Vec<_> =
            slices(&found).iter().map(|slice| slice.record().unwrap().body().to_vec()).collect();
        assert_eq!(bodies, numbered(count_max.min(1000)));
        assert_eq!(found.next_offset, bodies.len() as i64);
        assert!(found.messages_room() <= 2 * found.len().max(256));
        let first = store.read(&ReadRequest { bytes_max: Some(1), ..wanted }).unwrap();
        assert!(first.len() == 1 && first.messages_room() <= 256);
    }
}

// shows: CQ-08
#[test]
fn a_time_before_the_queue_begins_leads_to_its_minimum() {
    let dir = directory();
    let store = open(dir.path());
    fill_files(&store, "T", 3);
    store.flush().unwrap();
    store.delete_first_log_file(false).unwrap().unwrap();
    store.delete_expired_queue_files().unwrap();
    let queue = store.derived.queues.get(b"T", 0).unwrap();
    assert!(queue.min_offset() > 0);
    for upper in [false, true] {
        assert_eq!(store.offset_at_time(&queue, 0, upper).unwrap(), queue.min_offset());
    }
}

// shows: IX-14
#[test]
fn a_query_is_limited_by_time_and_number_and_disturbs_nobody() {
    let dir = directory();
    let store = open(dir.path());
    let base = put(&store, "T", b"x").store_timestamp;
    for n in 0..100 {
        store.log.writer.lock().last_timestamp = base + 10_000 + n * 1000;
        put_with(&store, "T", &[("KEYS", "k")]);
    }
    settle(&store);
    let stop = std::sync::atomic::AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            put_numbered(&store, "Other", 1000);
            stop.store(true, std::sync::atomic::Ordering::Relaxed);
        });
        let offsets = |begin, end, limit| -> Vec<i64> {
            let found = store.query(b"T", Indexed::Key(b"k"), base + begin, base + end, limit).unwrap();
            found.iter().map(|slice| slice.record().unwrap().queue_offset()).collect()
        };
        while !stop.load(std::sync::atomic::Ordering::Relaxed) {
            assert_eq!(offsets(0, 1_000_000, 3), [100, 99, 98], "the newest first");
            assert_eq!(offsets(0, 1_000_000, 1000).len(), 64, "maxMsgsNumBatch");
            assert_eq!(offsets(20_000, 22_000, 64), [13, 12, 11]);
        }
    });
    assert_eq!(bodies(&store, "Other"), numbered(1000));
}
