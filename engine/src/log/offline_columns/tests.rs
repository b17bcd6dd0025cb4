use std::fs;
use std::path::Path;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use tempfile::TempDir;

use super::*;
use crate::message::compress::Compression;
use crate::message::layout::sys_flag;
use crate::message::samples::{encoded, plain, stamp, usual};
use crate::message::{BatchEntry, Draft, batch};

const FILE_BYTES: usize = 4096;

/// One file with these messages, each stored a second after the one before; also where each begins.
fn written(drafts: &[Draft<'_>]) -> (TempDir, Vec<u64>) {
    let root = tempfile::tempdir().unwrap();
    let (mut bytes, mut starts) = (Vec::new(), Vec::new());
    for (index, draft) in drafts.iter().enumerate() {
        starts.push(bytes.len() as u64);
        let at = stamp(index as i64, bytes.len() as i64, 1000 * index as i64);
        bytes.extend(encoded(draft, usual(draft), at));
    }
    assert!(bytes.len() < FILE_BYTES);
    bytes.resize(FILE_BYTES, 0);
    fs::write(root.path().join(format!("{:020}", 0)), bytes).unwrap();
    (root, starts)
}

fn all() -> Wanted {
    Wanted {
        range: 0..u64::MAX,
        stored: i64::MIN..i64::MAX,
        topics: Topics::default(),
        halves: false,
        origin: Origin { broker: None, namespace: None },
        chosen: Chosen::usual(),
        rows: 100,
        bytes: 1 << 20,
        body_bytes_max: 1 << 20,
    }
}

fn read(root: &Path, wanted: &Wanted) -> (Vec<i64>, WalkEnd) {
    let (batch, end) = batch(root, wanted);
    let offsets = batch.column_by_name("queueOffset").unwrap().as_primitive::<Int64Type>();
    (offsets.values().to_vec(), end)
}

fn batch(root: &Path, wanted: &Wanted) -> (RecordBatch, WalkEnd) {
    let (columns, end) = OfflineLog::open(root).unwrap().columns(wanted).unwrap();
    (columns.finish().into(), end)
}

fn names(names: &[&str]) -> HashSet<Box<[u8]>> {
    names.iter().map(|name| name.as_bytes().into()).collect()
}

fn three() -> Vec<Draft<'static>> {
    vec![plain(b"A", b"one"), plain(b"rmq_sys_X", b"two"), plain(b"B_REPLY", b"three")]
}

#[test]
fn all_messages_come_in_the_order_of_the_log() {
    let (root, _) = written(&three());
    let (offsets, end) = read(root.path(), &all());
    assert_eq!((offsets, end.damage), (vec![0, 1, 2], None));
}

#[test]
fn topics_are_named_or_left_out() {
    let (root, _) = written(&three());
    let only = Topics { only: Some(names(&["B_REPLY", "rmq_sys_X"])), ..Topics::default() };
    assert_eq!(read(root.path(), &Wanted { topics: only, ..all() }).0, [1, 2]);
    let without = Topics { without: names(&["A"]), ..Topics::default() };
    assert_eq!(read(root.path(), &Wanted { topics: without, ..all() }).0, [1, 2]);
    let (without_prefix, without_suffix) = (vec![b"rmq_sys_"[..].into()], vec![b"_REPLY"[..].into()]);
    let without = Topics { without_prefix, without_suffix, ..Topics::default() };
    assert_eq!(read(root.path(), &Wanted { topics: without, ..all() }).0, [0]);
}

#[test]
fn what_no_queue_holds_is_left_out_unless_asked_for() {
    let drafts =
        [sys_flag::TRANSACTION_PREPARED, sys_flag::TRANSACTION_COMMIT, sys_flag::TRANSACTION_ROLLBACK]
            .map(|sys_flag| Draft { sys_flag, ..plain(b"T", b"x") });
    let (root, _) = written(&drafts);
    assert_eq!(read(root.path(), &all()).0, [1]);
    assert_eq!(read(root.path(), &Wanted { halves: true, ..all() }).0, [0, 1, 2]);
}

#[test]
fn a_time_span_has_its_start_and_not_its_end() {
    let (root, _) = written(&three());
    assert_eq!(read(root.path(), &Wanted { stored: 1000..2000, ..all() }).0, [1]);
}

#[test]
fn ranges_share_the_records_between_them() {
    let (root, starts) = written(&three());
    for cut in starts[1] - 1..=starts[1] + 1 {
        let (first, end) = read(root.path(), &Wanted { range: 0..cut, ..all() });
        let log = OfflineLog::open(root.path()).unwrap();
        let start = log.next_record(cut - 1).unwrap().unwrap();
        let (second, _) = read(root.path(), &Wanted { range: start..u64::MAX, ..all() });
        assert_eq!([first, second].concat(), [0, 1, 2], "cut at {cut}");
        assert_eq!(end.next, start);
    }
}

#[test]
fn a_full_batch_ends_before_the_next_message() {
    let (root, starts) = written(&three());
    let (offsets, end) = read(root.path(), &Wanted { rows: 2, ..all() });
    assert_eq!((offsets, end.next), (vec![0, 1], starts[2]));
    let (offsets, end) = read(root.path(), &Wanted { bytes: 1, ..all() });
    assert_eq!((offsets, end.next), (vec![0], starts[1]));
}

#[test]
fn damage_ends_a_batch_where_it_stands() {
    let (root, starts) = written(&three());
    let path = root.path().join(format!("{:020}", 0));
    let mut bytes = fs::read(&path).unwrap();
    bytes[starts[1] as usize + 88] ^= 0xFF;
    fs::write(&path, bytes).unwrap();
    let (offsets, end) = read(root.path(), &all());
    assert_eq!((offsets, end.next), (vec![0], starts[1]));
    assert!(end.damage.unwrap().contains("checksum"));
    let (offsets, end) = read(root.path(), &Wanted { range: 0..starts[1], ..all() });
    assert_eq!(offsets, [0]);
    assert!(end.damage.is_some(), "who looks for the next record from here on would not see it");
    let others = Topics { only: Some(names(&["A"])), ..Topics::default() };
    assert_eq!(read(root.path(), &Wanted { topics: others, ..all() }).1.damage, None, "nobody asked for it");
}

#[test]
fn a_truncated_file_is_damage() {
    let (root, starts) = written(&three());
    let file = fs::File::options().write(true).open(root.path().join(format!("{:020}", 0))).unwrap();
    file.set_len(starts[2] + 90).unwrap();
    let (offsets, end) = read(root.path(), &all());
    assert_eq!((offsets, end.next), (vec![0, 1], starts[2]));
    assert!(end.damage.is_some());
}

#[test]
fn compressed_bodies_are_unpacked_and_bombs_are_damage() {
    let packed = Compression::Zlib.compress(&[b'x'; 1000], 5);
    let draft = Draft { sys_flag: Compression::Zlib.sys_flag(), ..plain(b"T", &packed) };
    let (root, _) = written(&[draft]);
    let (found, _) = batch(root.path(), &all());
    assert_eq!(found.column_by_name("body").unwrap().as_binary::<i32>().value(0), [b'x'; 1000]);
    let (offsets, end) = read(root.path(), &Wanted { body_bytes_max: 10, ..all() });
    assert!(offsets.is_empty());
    assert!(end.damage.unwrap().contains("more than 10 bytes"));
}

#[test]
fn the_messages_of_a_batch_that_was_stored_as_one_are_rows() {
    let entries = [b"one".as_slice(), b"two"].map(|body| BatchEntry { flag: 0, body, properties: b"" });
    let mut inner = Vec::new();
    for entry in &entries {
        batch::encode_entry(&mut inner, entry).unwrap();
    }
    let draft = Draft { sys_flag: sys_flag::INNER_BATCH | sys_flag::NEED_UNWRAP, ..plain(b"T", &inner) };
    let (root, _) = written(&[draft]);
    assert_eq!(read(root.path(), &all()).0, [0, 1]);
}
