use proptest::prelude::*;

use super::*;
use crate::message::samples::{encoded, plain, stamp, usual};
use crate::message::{BadBody, Compression, Draft};

fn record(draft: &Draft<'_>, queue_offset: i64) -> Vec<u8> {
    encoded(draft, usual(draft), stamp(queue_offset, 1000 + queue_offset, 7))
}

fn with_properties<'a>(body: &'a [u8], properties: &'a [u8]) -> Draft<'a> {
    Draft { properties, ..plain(b"T", body) }
}

fn reading() -> Reading {
    Reading { broker: "b".into(), namespace: None, check_crc: true, body_bytes_max: 1 << 20 }
}

fn answer_read(bytes: Vec<u8>, reading: Reading) -> Arc<Answer> {
    Arc::new(Answer { reading: reading.into(), bytes: bytes.into(), bounds: Some((3, 99)), offset_delta: 0 })
}

fn messages(bytes: Vec<u8>) -> Vec<Received> {
    let (messages, bad) = answer_read(bytes, reading()).messages(0..i64::MAX, &Tags::default());
    assert_eq!(bad, None);
    messages
}

fn only(bytes: Vec<u8>) -> Received {
    let mut messages = messages(bytes);
    assert_eq!(messages.len(), 1);
    messages.remove(0)
}

fn body(message: &Received) -> Vec<u8> {
    message.body().unwrap().into_owned()
}

#[test]
fn the_messages_of_an_answer_come_in_order() {
    let bytes = [record(&plain(b"T", b"a"), 5), record(&plain(b"T", b"bb"), 6)].concat();
    let found = messages(bytes.clone());
    let read: Vec<_> = found.iter().map(|each| (each.queue_offset(), body(each))).collect();
    assert_eq!(read, [(5, b"a".to_vec()), (6, b"bb".to_vec())]);
    assert_eq!(found.iter().map(Received::size).sum::<usize>(), bytes.len());
}

#[test]
fn what_follows_damage_is_lost_and_said_to_be() {
    let bytes = [record(&plain(b"T", b"a"), 5), vec![1; 200]].concat();
    let (found, bad) = answer_read(bytes, reading()).messages(0..i64::MAX, &Tags::default());
    assert_eq!((found.len(), bad), (1, Some(BadRecord::UnknownMagic(0x0101_0101))));
}

#[test]
fn tags_are_compared_as_text() {
    assert_eq!(crate::message::ids::java_hash(b"Aa"), crate::message::ids::java_hash(b"BB"));
    let texts: [&[u8]; 4] = [b"TAGS\x01Aa\x02", b"TAGS\x01BB\x02", b"", b"TAGS\x01C\x02"];
    let bytes: Vec<u8> = texts.iter().flat_map(|text| record(&with_properties(b"x", text), 0)).collect();
    let tags = Tags::from([b"Aa"[..].into(), b"C"[..].into()]);
    let (found, _) = answer_read(bytes, reading()).messages(0..i64::MAX, &tags);
    let read: Vec<_> = found.iter().map(|each| each.property(b"TAGS").unwrap().into_owned()).collect();
    assert_eq!(read, [b"Aa".to_vec(), b"C".to_vec()]);
}

#[test]
fn a_body_is_given_as_it_was_before_its_compression() {
    for format in Compression::ALL {
        let packed = format.compress(b"hello hello hello", 5);
        let draft = Draft { sys_flag: format.sys_flag(), ..plain(b"T", &packed) };
        assert_eq!(body(&only(record(&draft, 0))), b"hello hello hello");
    }
}

#[test]
fn a_body_that_grows_beyond_the_limit_is_refused() {
    let packed = Compression::Zstd.compress(&vec![0; 2 << 20], 5);
    let draft = Draft { sys_flag: Compression::Zstd.sys_flag(), ..plain(b"T", &packed) };
    let damage = Damage::Compression(BadBody::TooLong(1 << 20));
    assert_eq!(only(record(&draft, 0)).body(), Err(damage));
}

#[test]
fn damage_of_one_body_leaves_the_others_alone() {
    let lying = Draft { sys_flag: Compression::Zlib.sys_flag(), ..plain(b"T", b"no stream at all") };
    let found = messages([record(&lying, 0), record(&plain(b"T", b"whole"), 1)].concat());
    assert!(matches!(found[0].body(), Err(Damage::Compression(BadBody::Damaged(_)))));
    assert_eq!(body(&found[1]), b"whole");
}

#[test]
fn a_wrong_checksum_is_told_unless_nobody_cares() {
    let mut bytes = record(&plain(b"T", b"hello"), 0);
    let at = memchr::memmem::find(&bytes, b"hello").unwrap();
    bytes[at] = b'j';
    assert_eq!(only(bytes.clone()).body(), Err(Damage::Checksum));
    let careless = Reading { check_crc: false, ..reading() };
    let (found, _) = answer_read(bytes, careless).messages(0..i64::MAX, &Tags::default());
    assert_eq!(body(&found[0]), b"jello");
}

fn batch_of(bodies: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    for body in bodies {
        let entry = BatchEntry { flag: 8, body, properties: b"TAGS\x01Aa\x02UNIQ_KEY\x01id\x02" };
        batch::encode_entry(&mut out, &entry).unwrap();
    }
    out
}

#[test]
fn a_batch_stored_as_one_message_is_taken_apart() {
    let inner = batch_of(&[b"one", b"two", b"three"]);
    for format in [None, Some(Compression::Lz4)] {
        let packed = format.map_or_else(|| inner.clone(), |format| format.compress(&inner, 5));
        let sys_flag = 0xC0 | format.map_or(0, Compression::sys_flag);
        let bytes = record(&Draft { sys_flag, queue_id: 4, ..plain(b"T", &packed) }, 10);
        let (found, bad) = answer_read(bytes, reading()).messages(11..i64::MAX, &Tags::default());
        let read: Vec<_> = found.iter().map(|each| (each.queue_offset(), body(each))).collect();
        assert_eq!(read, [(11, b"two".to_vec()), (12, b"three".to_vec())], "10 was not asked for");
        assert_eq!(bad, None);
        assert_eq!(
            (found[0].flag(), found[0].record().queue_id(), found[0].message_id()),
            (8, 4, "id".into())
        );
        assert!(found[0].size() < 40, "its own bytes, not those of the batch");
    }
}

#[test]
fn a_batch_that_cannot_be_read_is_given_as_it_is() {
    let bytes = record(&Draft { sys_flag: 0xC0, ..plain(b"T", b"no batch") }, 10);
    let message = only(bytes);
    assert_eq!((message.queue_offset(), body(&message)), (10, b"no batch".to_vec()));
}

#[test]
fn a_message_that_is_tried_again_shows_its_first_topic() {
    let draft = Draft { topic: b"%RETRY%g", ..with_properties(b"x", b"RETRY_TOPIC\x01T\x02") };
    assert_eq!(only(record(&draft, 0)).topic(), "T");
    let draft = Draft { topic: b"%RETRY%g", ..plain(b"", b"x") };
    assert_eq!(only(record(&draft, 0)).topic(), "%RETRY%g");
}

#[test]
fn a_namespace_is_taken_off_the_topic() {
    let topic = |topic: &[u8], properties: &[u8]| {
        let draft = Draft { topic, ..with_properties(b"x", properties) };
        let reading = Reading { namespace: Some("ns".into()), ..reading() };
        let (found, _) = answer_read(record(&draft, 0), reading).messages(0..i64::MAX, &Tags::default());
        found[0].topic().into_owned()
    };
    assert_eq!(topic(b"ns%T", b""), "T");
    assert_eq!(topic(b"nsT", b""), "nsT");
    assert_eq!(topic(b"other%T", b""), "other%T");
    assert_eq!(topic(b"%RETRY%ns%g", b""), "%RETRY%g");
    assert_eq!(topic(b"%RETRY%ns%g", b"RETRY_TOPIC\x01ns%T\x02"), "T");
}

#[test]
fn ids_are_the_senders_or_the_brokers() {
    let message = only(record(&plain(b"T", b"x"), 5));
    assert_eq!(message.message_id(), message.record().offset_message_id());
    assert_eq!(message.transaction_id(), None);
    let sent = only(record(&with_properties(b"x", b"UNIQ_KEY\x01u\x02TRAN_MSG\x01true\x02"), 5));
    assert_eq!((sent.message_id().as_str(), sent.transaction_id().as_deref()), ("u", Some("u")));
}

#[test]
fn the_bounds_of_the_queue_are_properties() {
    let message = only(record(&with_properties(b"x", b"k\x01v\x02MIN_OFFSET\x011\x02"), 5));
    assert_eq!(message.property(b"MIN_OFFSET").as_deref(), Some(&b"3"[..]));
    assert_eq!(message.property(b"MAX_OFFSET").as_deref(), Some(&b"99"[..]));
    let last: Vec<_> =
        message.properties().skip(2).map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    assert_eq!(last, [(b"MIN_OFFSET".to_vec(), b"3".to_vec()), (b"MAX_OFFSET".to_vec(), b"99".to_vec())]);
}

#[test]
fn offsets_of_a_moved_queue_are_shifted() {
    let bytes = record(&plain(b"T", b"x"), 5);
    let answer = Answer { reading: reading().into(), bytes: bytes.into(), bounds: None, offset_delta: 100 };
    let (found, _) = Arc::new(answer).messages(0..i64::MAX, &Tags::default());
    assert_eq!(found[0].queue_offset(), 105);
}

proptest! {
    #[test]
    fn damaged_answers_never_panic(sys_flag: i32, at: prop::sample::Index, value: u8, cut: prop::sample::Index) {
        let inner = batch_of(&[b"one", b"two"]);
        let draft = Draft { sys_flag: sys_flag & !0x30, ..plain(b"T", &inner) };
        let mut bytes = [record(&draft, 0), record(&plain(b"T", b"x"), 1)].concat();
        let at = at.index(bytes.len());
        bytes[at] = value;
        bytes.truncate(cut.index(bytes.len()));
        let (found, _) = answer_read(bytes, Reading { check_crc: false, ..reading() }).messages(0..i64::MAX, &Tags::default());
        for message in found {
            let _ = message.body();
            message.properties().for_each(drop);
            message.topic();
            message.message_id();
        }
    }
}

#[test]
fn what_stands_behind_the_end_is_left_out() {
    let bytes = [record(&plain(b"T", b"x"), 4), record(&plain(b"T", b"y"), 5)].concat();
    let (found, _) = answer_read(bytes, reading()).messages(0..5, &Tags::default());
    assert_eq!(found.iter().map(Received::queue_offset).collect::<Vec<_>>(), [4]);
    let inner = batch_of(&[b"one", b"two", b"three"]);
    let draft = Draft { sys_flag: 0xC0, ..plain(b"T", &inner) };
    let (found, _) = answer_read(record(&draft, 10), reading()).messages(0..12, &Tags::default());
    assert_eq!(found.iter().map(Received::queue_offset).collect::<Vec<_>>(), [10, 11]);
}
