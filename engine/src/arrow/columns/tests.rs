use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, RecordBatch};
use proptest::prelude::*;

use super::*;
use crate::message::Draft;
use crate::message::samples::{any_message, any_stamp, encoded, host, plain, stamp, usual};

fn origin() -> Origin {
    Origin { broker: Some("broker-a".into()), namespace: None }
}

fn size(rows: usize) -> Size {
    Size { rows, bytes: 1 << 20 }
}

fn opening(tags: &Tags) -> Opening<'_> {
    let body_bytes_max = 1 << 20;
    Opening { check_crc: true, body_bytes_max, offset_delta: 0, wanted: i64::MIN..i64::MAX, tags }
}

fn push(columns: &mut Columns, bytes: &[u8]) {
    let tags = Tags::default();
    assert_eq!(columns.add(&Record::parse(bytes).unwrap(), &opening(&tags)), Ok(true));
}

fn everything() -> Chosen {
    let usual = Chosen::usual();
    let names = usual.fields().iter().map(|field| field.name().as_str());
    Chosen::by_names(&names.chain(["properties"]).collect::<Vec<_>>()).unwrap()
}

fn batch(records: &[Vec<u8>], chosen: Chosen) -> RecordBatch {
    let mut columns = Columns::new(origin(), size(records.len()), chosen);
    for bytes in records {
        push(&mut columns, bytes);
    }
    columns.finish().into()
}

fn texts(batch: &RecordBatch, name: &str) -> Vec<Option<String>> {
    let column = batch.column_by_name(name).unwrap().as_string::<i32>();
    column.iter().map(|text| text.map(str::to_owned)).collect()
}

fn text(batch: &RecordBatch, name: &str) -> Option<String> {
    texts(batch, name).remove(0)
}

fn with_properties(properties: &[u8]) -> Vec<u8> {
    let draft = Draft { properties, ..plain(b"T", b"body") };
    encoded(&draft, usual(&draft), stamp(0, 0, 0))
}

#[test]
fn every_column_holds_its_field() {
    let draft = Draft {
        queue_id: 3,
        flag: 4,
        sys_flag: 0x2,
        born_timestamp: 1_000,
        born_host: host("10.0.0.9:5"),
        reconsume_times: 6,
        properties: b"UNIQ_KEY\x01u1\x02TAGS\x01paid\x02KEYS\x01k1 k2\x02",
        ..plain(b"orders", b"hello")
    };
    let batch = batch(&[encoded(&draft, usual(&draft), stamp(7, 123_456, 2_000))], Chosen::usual());
    let shown = |name| text(&batch, name).unwrap();
    assert_eq!((shown("topic"), shown("brokerName")), ("orders".into(), "broker-a".into()));
    assert_eq!((shown("msgId"), shown("tags"), shown("keys")), ("u1".into(), "paid".into(), "k1 k2".into()));
    assert_eq!(shown("offsetMsgId"), "0A00065200001FBB000000000001E240");
    assert_eq!((shown("bornHost"), shown("storeHost")), ("10.0.0.9:5".into(), "10.0.6.82:8123".into()));
    let column = |name| batch.column_by_name(name).unwrap();
    assert_eq!(column("body").as_binary::<i32>().value(0), b"hello");
    let int = |name| column(name).as_primitive::<Int32Type>().value(0);
    assert_eq!((int("queueId"), int("reconsumeTimes"), int("sysFlag"), int("flag")), (3, 6, 2, 4));
    assert_eq!(column("queueOffset").as_primitive::<Int64Type>().value(0), 7);
    let time = |name| column(name).as_primitive::<TimestampMicrosecondType>().value(0);
    assert_eq!((time("bornTimestamp"), time("storeTimestamp")), (1_000_000, 2_000_000));
    assert!(batch.column_by_name("properties").is_none());
}

#[test]
fn a_column_that_is_not_chosen_is_not_built() {
    let whole = batch(&[with_properties(b"TAGS\x01a\x02KEYS\x01k\x02")], everything());
    for field in whole.schema().fields() {
        let name = field.name().as_str();
        let alone =
            batch(&[with_properties(b"TAGS\x01a\x02KEYS\x01k\x02")], Chosen::by_names(&[name]).unwrap());
        assert_eq!(alone.num_columns(), 1);
        assert_eq!(alone.column(0), whole.column_by_name(name).unwrap(), "{name}");
    }
}

#[test]
fn what_a_message_does_not_have_is_null_and_its_id_the_brokers() {
    let batch = batch(&[with_properties(b"")], Chosen::usual());
    assert_eq!((text(&batch, "tags"), text(&batch, "keys")), (None, None));
    assert_eq!(text(&batch, "msgId"), text(&batch, "offsetMsgId"));
}

#[test]
fn a_map_has_each_name_once_with_its_last_value() {
    let many: Vec<u8> = (0..40).flat_map(|n| format!("k{n}\x01v{n}\x02").into_bytes()).collect();
    let records =
        [with_properties(b"a\x011\x02b\x012\x02a\x013\x02"), with_properties(b""), with_properties(&many)];
    let batch = batch(&records, everything());
    let maps = batch.column_by_name("properties").unwrap().as_map();
    let pairs = |row| {
        let pairs = maps.value(row);
        let column = |index: usize| pairs.column(index).as_string::<i32>().clone();
        (0..pairs.len())
            .map(|at| (column(0).value(at).to_owned(), column(1).value(at).to_owned()))
            .collect::<Vec<_>>()
    };
    assert_eq!(pairs(0), [("b".into(), "2".into()), ("a".into(), "3".into())]);
    assert_eq!((pairs(1).len(), pairs(2).len(), maps.is_null(1)), (0, 40, false));
    assert_eq!(pairs(2)[39], ("k39".into(), "v39".into()));
}

#[test]
fn hosts_and_topics_follow_their_rows() {
    let records: Vec<Vec<u8>> =
        [("10.0.0.1:1", "A"), ("10.0.0.1:1", "A"), ("[fe80::2]:2", "B"), ("10.0.0.1:1", "A")]
            .into_iter()
            .map(|(born, topic)| {
                let draft = Draft { born_host: host(born), ..plain(topic.as_bytes(), b"x") };
                encoded(&draft, usual(&draft), stamp(0, 0, 0))
            })
            .collect();
    let batch = batch(&records, Chosen::usual());
    let shown = |name| texts(&batch, name).into_iter().flatten().collect::<Vec<_>>();
    assert_eq!(shown("bornHost"), ["10.0.0.1:1", "10.0.0.1:1", "[fe80::2]:2", "10.0.0.1:1"]);
    assert_eq!(shown("topic"), ["A", "A", "B", "A"]);
}

#[test]
fn a_namespace_is_taken_off_the_topic() {
    let draft = plain(b"ns%orders", b"x");
    let bytes = encoded(&draft, usual(&draft), stamp(0, 0, 0));
    let origin = Origin { broker: None, namespace: Some("ns".into()) };
    let mut columns = Columns::new(origin, size(1), Chosen::usual());
    push(&mut columns, &bytes);
    let batch = columns.finish().into();
    assert_eq!((text(&batch, "topic").as_deref(), text(&batch, "brokerName")), (Some("orders"), None));
}

#[test]
fn no_rows_are_an_empty_batch() {
    assert_eq!(Columns::new(origin(), size(0), everything()).finish().len(), 0);
}

#[test]
fn only_what_is_wanted_becomes_a_row() {
    let tags = Tags::from([b"a"[..].into()]);
    let wanted = Opening { wanted: 0..2, ..opening(&tags) };
    let mut columns = Columns::new(origin(), size(4), Chosen::usual());
    for (offset, tag) in [(0, "a"), (1, "b"), (2, "a")] {
        let properties = format!("TAGS\x01{tag}\x02");
        let draft = Draft { properties: properties.as_bytes(), ..plain(b"T", b"x") };
        let bytes = encoded(&draft, usual(&draft), stamp(offset, 0, 0));
        assert_eq!(columns.add(&Record::parse(&bytes).unwrap(), &wanted), Ok(true));
    }
    assert_eq!(columns.queue_offset, [0]);
}

#[test]
fn the_messages_of_a_batch_that_was_stored_as_one_are_rows() {
    let mut inner = Vec::new();
    for body in [b"one".as_slice(), b"two", b"three"] {
        let entry = BatchEntry { flag: 8, body, properties: b"TAGS\x01a\x02" };
        batch::encode_entry(&mut inner, &entry).unwrap();
    }
    let draft = Draft { sys_flag: 0xC0, ..plain(b"T", &inner) };
    let bytes = encoded(&draft, usual(&draft), stamp(10, 0, 0));
    let tags = Tags::default();
    let wanted = Opening { wanted: 11..13, offset_delta: 0, ..opening(&tags) };
    let mut columns = Columns::new(origin(), size(4), everything());
    assert_eq!(columns.add(&Record::parse(&bytes).unwrap(), &wanted), Ok(true));
    assert_eq!((columns.queue_offset, columns.flag), (vec![11, 12], Some(vec![8, 8])));
}

#[test]
fn a_damaged_body_is_no_row() {
    let draft = plain(b"T", b"hello");
    let mut bytes = encoded(&draft, usual(&draft), stamp(0, 0, 0));
    bytes[90] ^= 1;
    let record = Record::parse(&bytes).unwrap();
    let tags = Tags::default();
    let mut columns = Columns::new(origin(), size(1), Chosen::usual());
    assert_eq!(columns.add(&record, &opening(&tags)), Err(Damage::Checksum));
    assert_eq!(columns.add(&record, &Opening { check_crc: false, ..opening(&tags) }), Ok(true));
    assert_eq!(columns.len(), 1);
}

proptest! {
    #[test]
    fn whatever_a_record_holds_is_a_valid_batch(
        messages in prop::collection::vec((any_message(), any_stamp()), 1..6),
    ) {
        let records: Vec<Vec<u8>> = messages
            .iter()
            .map(|(message, at)| {
                let draft = Draft { sys_flag: 0, ..message.draft() };
                encoded(&draft, usual(&draft), *at)
            })
            .collect();
        let batch = batch(&records, everything());
        for column in batch.columns() {
            column.to_data().validate_full().unwrap();
        }
        prop_assert_eq!(batch.num_rows(), records.len());
        for (index, bytes) in records.iter().enumerate() {
            let record = Record::parse(bytes).unwrap();
            let body = batch.column_by_name("body").unwrap().as_binary::<i32>();
            prop_assert_eq!(body.value(index), record.body());
            let id = texts(&batch, "offsetMsgId").remove(index).unwrap();
            prop_assert_eq!(id, record.offset_message_id());
        }
    }
}
