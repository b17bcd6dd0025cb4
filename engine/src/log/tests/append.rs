//! What an append writes, and the numbers it gives.

use super::*;
use crate::log::clock::now_ms;
use crate::log::view::Slice;
use crate::message::ids::encode_message_id;
use crate::message::layout::sys_flag;
use crate::message::{Record, crc};

fn log_of(store: &Store) -> Vec<Slice> {
    settle(store);
    store.read_log(0, usize::MAX, usize::MAX, Some(Instant::now())).unwrap().0
}

fn with_record<T>(slice: &Slice, look: impl FnOnce(&Record<'_>) -> T) -> T {
    look(&slice.record().unwrap())
}

// shows: CL-18
#[test]
fn each_queue_counts_from_zero() {
    let dir = directory();
    let store = open(dir.path());
    let offset_in =
        |topic, queue_id| store.put(&Draft { queue_id, ..draft(topic, b"x") }, true).unwrap().queue_offset;
    assert_eq!([offset_in("A", 0), offset_in("A", 0), offset_in("A", 1)], [0, 1, 0]);
    assert_eq!([offset_in("B", 0), offset_in("A", 0), offset_in("A", 1)], [0, 2, 1]);
}

// shows: CL-19, RD-14
#[test]
fn half_and_rolled_back_messages_have_no_place_in_the_queue() {
    let dir = directory();
    let store = open(dir.path());
    let put_as = |body: &[u8], sys_flag| store.put(&Draft { sys_flag, ..draft("T", body) }, true).unwrap();
    assert_eq!(put_as(b"0", 0).queue_offset, 0);
    assert_eq!(put_as(b"half", sys_flag::TRANSACTION_PREPARED).queue_offset, 0);
    assert_eq!(put_as(b"back", sys_flag::TRANSACTION_ROLLBACK).queue_offset, 0);
    assert_eq!(put_as(b"1", sys_flag::TRANSACTION_COMMIT).queue_offset, 1);
    assert_eq!(put_as(b"2", 0).queue_offset, 2);
    assert_eq!(bodies(&store, "T"), numbered(3));
    let offsets: Vec<_> = log_of(&store).iter().map(|slice| slice.record().unwrap().queue_offset()).collect();
    assert_eq!(offsets, [0, 0, 0, 1, 2]);
}

// shows: CL-25
#[test]
fn an_append_tells_where_the_record_stands() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "T", b"first");
    let before = now_ms();
    let placed = put(&store, "T", b"second");
    settle(&store);
    let slice = store.record_at(placed.physical_offset).unwrap().unwrap();
    let record = slice.record().unwrap();
    assert_eq!((record.body(), record.size() as u64), (&b"second"[..], placed.size));
    assert_eq!((record.queue_offset(), placed.queue_offset), (1, 1));
    assert_eq!(record.store_timestamp(), placed.store_timestamp);
    assert!((before..=now_ms()).contains(&placed.store_timestamp));
    let id = encode_message_id(&"10.0.6.82:8123".parse().unwrap(), placed.physical_offset.cast_signed());
    assert_eq!(record.offset_message_id(), id);
}

// shows: CL-03
#[test]
fn store_times_follow_the_order_of_the_log_and_bodies_have_their_checksum() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.log_file_bytes = 1 << 20);
    thread::scope(|scope| {
        for topic in ["A", "B", "C", "D"] {
            scope.spawn(|| put_numbered(&store, topic, 500));
        }
    });
    let log = log_of(&store);
    assert_eq!(log.len(), 2000);
    let times: Vec<_> = log.iter().map(|slice| slice.record().unwrap().store_timestamp()).collect();
    assert!(times.is_sorted());
    for slice in &log {
        with_record(slice, |record| assert_eq!(record.body_crc(), crc::body_crc(record.body())));
    }
}

#[test]
fn a_clock_that_is_set_back_does_not_set_store_times_back() {
    let dir = directory();
    let store = open(dir.path());
    let first = put(&store, "T", b"x").store_timestamp;
    store.log.writer.lock().last_timestamp = first + 60_000;
    assert_eq!(put(&store, "T", b"y").store_timestamp, first + 60_000);
}

// shows: CL-02, CL-32
#[test]
fn writers_side_by_side_leave_one_gapless_log_and_gapless_queues() {
    const WRITERS: usize = 8;
    const EACH: usize = 300;
    let dir = directory();
    let store = open(dir.path());
    let placed: Vec<Placed> = thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let store = &store;
                scope.spawn(move || {
                    let put = |n: usize| {
                        let body = format!("{writer}-{n}").into_bytes();
                        let queue_id = (n % 2) as i32;
                        store.put(&Draft { queue_id, ..draft("T", &body) }, true).unwrap()
                    };
                    (0..EACH).map(put).collect::<Vec<_>>()
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    assert_eq!(placed.len(), WRITERS * EACH);
    let log = log_of(&store);
    assert_eq!(log.len(), WRITERS * EACH);
    for queue_id in 0..2 {
        let of_queue: Vec<_> = log
            .iter()
            .filter(|slice| with_record(slice, |record| record.queue_id() == queue_id))
            .map(|slice| with_record(slice, |record| (record.queue_offset(), record.body().to_vec())))
            .collect();
        let offsets: Vec<_> = of_queue.iter().map(|(offset, _)| *offset).collect();
        assert_eq!(offsets, (0..of_queue.len() as i64).collect::<Vec<_>>(), "in the order of the log");
        let in_log: Vec<_> = of_queue.into_iter().map(|(_, body)| body).collect();
        assert_eq!(bodies_of(&store, "T", queue_id), in_log);
    }
}

// shows: CL-26, CL-27
#[test]
fn a_batch_stands_side_by_side_under_offsets_that_follow_one_another() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "T", b"before");
    let batch = [draft("T", b"one"), draft("T", b"twotwo"), draft("T", b"three")];
    let placed = store.put_batch(&batch, true).unwrap();
    assert_eq!(placed.queue_offset, 1, "the first one's");
    let offsets = store.record_offsets(placed, 3).unwrap();
    assert_eq!(offsets[0], placed.physical_offset);
    settle(&store);
    let mut expected = placed.physical_offset;
    for (n, (offset, draft)) in offsets.iter().zip(&batch).enumerate() {
        let slice = store.record_at(*offset).unwrap().unwrap();
        let record = slice.record().unwrap();
        assert_eq!((*offset, record.physical_offset().cast_unsigned()), (expected, expected));
        assert_eq!((record.queue_offset(), record.body()), (1 + n as i64, draft.body));
        expected += record.size() as u64;
    }
    assert_eq!(placed.physical_offset + placed.size, expected);
    assert_eq!(put(&store, "T", b"after").queue_offset, 4);
}

// shows: CL-29
#[test]
fn each_message_of_a_batch_has_the_limit_to_itself_and_one_too_large_keeps_all_out() {
    let dir = directory();
    let store = open_with(dir.path(), |config| config.message_bytes_max = 100);
    let (fits, large) = ([1; 100], [1; 101]);
    store.put_batch(&[draft("T", &fits), draft("T", &fits), draft("T", &fits)], true).unwrap();
    let refused = store.put_batch(&[draft("T", &fits), draft("T", &large)], true).unwrap_err();
    assert_eq!(refused.status, PutStatus::MessageIllegal);
    assert_eq!(bodies(&store, "T").len(), 3);
}

// shows: CL-34
#[test]
fn an_inner_batch_is_one_record_with_its_flags() {
    let dir = directory();
    let store = open(dir.path());
    let flags = sys_flag::INNER_BATCH | sys_flag::NEED_UNWRAP;
    let properties = text(&[("INNER_NUM", "3"), ("INNER_BASE", "0")]);
    let inner = Draft { sys_flag: flags, properties: &properties, ..draft("T", b"three in one") };
    let classic = [draft("T", b"a"), draft("T", b"b")];
    store.put(&inner, true).unwrap();
    store.put_batch(&classic, true).unwrap();
    assert_eq!(bodies(&store, "T"), [&b"three in one"[..], b"a", b"b"]);
    let log = log_of(&store);
    assert_eq!(log.len(), 3);
    assert_eq!(
        with_record(&log[0], |record| (record.sys_flag(), record.properties().to_vec())),
        (flags, properties.clone())
    );
    assert_eq!(log[1].record().unwrap().sys_flag(), 0);
}

// shows: CL-23
#[test]
fn flags_and_an_empty_body_come_back_as_they_were_given() {
    let dir = directory();
    let store = open(dir.path());
    let sys_flag = sys_flag::COMPRESSED | sys_flag::COMPRESSION_ZSTD;
    store.put(&Draft { flag: -7, sys_flag, ..draft("T", b"") }, true).unwrap();
    with_record(&log_of(&store)[0], |record| {
        assert_eq!((record.flag(), record.sys_flag(), record.body()), (-7, sys_flag, &b""[..]));
    });
}

// shows: U-23
#[test]
fn the_sample_record_stands_in_the_file_byte_for_byte() {
    let dir = directory();
    let store = open(dir.path());
    let placed = put(&store, "FooBar", b"Once, there was a chance for me!");
    assert_eq!((placed.physical_offset, placed.size, placed.queue_offset), (0, 129, 0));
    store.close().unwrap();
    let bytes = fs::read(dir.path().join("commitlog/00000000000000000000")).unwrap();
    let record = Record::parse(&bytes[..129]).unwrap();
    assert_eq!((record.topic(), record.queue_id(), record.body_crc()), (&b"FooBar"[..], 0, 151_131_488));
    assert_eq!(record.offset_message_id(), "0A00065200001FBB0000000000000000");
    assert!(bytes[129..].iter().all(|&byte| byte == 0));
}
