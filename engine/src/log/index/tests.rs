use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const T0: i64 = 1_700_000_000_000;
const K1: i32 = 2_539_445; // "T#k1".hashCode()
const K2: i32 = 2_539_446;
const SMALL: Layout = Layout { slots: 10, entries: 20 };
const EVER: (i64, i64) = (0, i64::MAX);

fn open(dir: &Path) -> IndexService {
    IndexService::open(dir, SMALL, &Notes::default(), LastStop::Orderly, 0).unwrap()
}

fn open_after_crash(dir: &Path, checkpoint: i64) -> IndexService {
    IndexService::open(dir, SMALL, &Notes::default(), LastStop::Crashed, checkpoint).unwrap()
}

fn query(index: &IndexService, hash: i32) -> Vec<i64> {
    index.query(hash, EVER.0, EVER.1, 64).unwrap()
}

impl IndexService {
    /// Enters one key at once, without looking for a repeat.
    fn put(&self, key_hash: i32, physical_offset: i64, time: i64) -> Result<()> {
        self.writer().add(absolute(key_hash), physical_offset, time)
    }
}

fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|item| item.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn only_file(dir: &Path) -> PathBuf {
    let names = names(dir);
    assert_eq!(names.len(), 1);
    dir.join(&names[0])
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

/// Puts `count` entries of hash 7, at offsets 100, 200, … and one second apart.
fn put_many(index: &IndexService, count: i64) {
    for number in 1..=count {
        index.put(7, number * 100, T0 + number * 1000).unwrap();
    }
}

// shows: IX-01, IX-03, IX-07, IX-08
#[test]
fn the_file_is_the_java_file_byte_for_byte() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.put(K1, 100, T0).unwrap();
    index.put(K2, 200, T0 + 5500).unwrap();
    index.put(K1, 300, T0 + 9000).unwrap();
    assert_eq!(index.flush().unwrap(), T0 + 9000);
    let bytes = fs::read(only_file(dir.path())).unwrap();
    assert_eq!(bytes.len(), 480);
    assert_eq!(
        hex(&bytes[..40]),
        "0000018bcfe568000000018bcfe58b280000000000000064000000000000012c0000000200000004"
    );
    assert_eq!(
        hex(&bytes[40..80]),
        "00000000000000000000000000000000000000000000000300000002000000000000000000000000"
    );
    assert_eq!(
        hex(&bytes[80..160]),
        concat!(
            "0000000000000000000000000000000000000000",
            "0026bfb500000000000000640000000000000000",
            "0026bfb600000000000000c80000000500000000",
            "0026bfb5000000000000012c0000000900000001"
        )
    );
    assert!(bytes[160..].iter().all(|byte| *byte == 0));
}

// shows: IX-14
#[test]
fn a_query_gives_the_newest_first_within_the_times_and_the_limit() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.put(K1, 100, T0).unwrap();
    index.put(K2, 200, T0 + 5500).unwrap();
    index.put(K1, 300, T0 + 9000).unwrap();
    index.put(K1 + 10, 400, T0 + 9000).unwrap(); // the same slot, another hash
    assert_eq!(query(&index, K1), [300, 100]);
    assert_eq!(query(&index, K2), [200]);
    assert_eq!(query(&index, K1 + 10), [400]);
    assert_eq!(query(&index, K1 + 20), [0; 0]);
    assert_eq!(index.query(K1, 0, i64::MAX, 1).unwrap(), [300]);
    assert_eq!(index.query(K1, 0, i64::MAX, 0).unwrap(), [0; 0]);
    assert_eq!(index.query(K1, T0 + 1000, i64::MAX, 9).unwrap(), [300]);
    assert_eq!(index.query(K1, 0, T0 + 8999, 9).unwrap(), [100]);
    assert_eq!(index.query(K2, T0 + 5500, T0 + 5500, 9).unwrap(), [200], "the second of the begin counts");
    assert_eq!(index.query(K1, T0 + 9001, i64::MAX, 9).unwrap(), [0; 0]);
}

// shows: IX-04
#[test]
fn the_sign_of_a_hash_is_dropped_and_the_smallest_is_zero() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.put(-K1, 1, T0).unwrap();
    index.put(i32::MIN, 2, T0).unwrap();
    assert_eq!(query(&index, K1), [1]);
    assert_eq!(query(&index, 0), [2]);
    assert_eq!(query(&index, i32::MIN), [2]);
}

// shows: IX-05
#[test]
fn a_slot_past_the_count_is_empty() {
    let dir = tempfile::tempdir().unwrap();
    put_many(&open(dir.path()), 3);
    let path = only_file(dir.path());
    for value in [9_i32, -1, i32::MIN] {
        let mut bytes = fs::read(&path).unwrap();
        bytes[40 + 7 * 4..][..4].copy_from_slice(&value.to_be_bytes());
        fs::write(&path, bytes).unwrap();
        let index = open(dir.path());
        assert_eq!(query(&index, 7), [0; 0]);
    }
    let index = open(dir.path());
    index.put(7, 400, T0 + 9000).unwrap();
    assert_eq!(query(&index, 7), [400]);
}

// shows: IX-06
#[test]
fn the_time_difference_stays_between_zero_and_the_largest_int() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.put(1, 1, T0).unwrap();
    index.put(2, 2, T0 - 50_000).unwrap();
    index.put(3, 3, i64::MAX).unwrap();
    let bytes = fs::read(only_file(dir.path())).unwrap();
    let seconds = |number: usize| hex(&bytes[80 + number * 20 + 12..][..4]);
    assert_eq!([seconds(1), seconds(2), seconds(3)], ["00000000", "00000000", "7fffffff"]);

    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    index.put(1, 1, 0).unwrap();
    index.put(1, 2, T0).unwrap();
    let bytes = fs::read(only_file(dir.path())).unwrap();
    assert_eq!(hex(&bytes[80 + 2 * 20 + 12..][..4]), "00000000", "a file without a begin time");
}

// shows: IX-09
#[test]
fn a_full_file_is_followed_by_one_that_goes_on_from_its_end() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    put_many(&index, 19);
    assert_eq!(names(dir.path()).len(), 1);
    index.put(7, 2000, T0 + 20_000).unwrap();
    assert_eq!(names(dir.path()).len(), 2);
    let expected: Vec<i64> = (1..=20).rev().map(|number| number * 100).collect();
    assert_eq!(query(&index, 7), expected);
    assert_eq!(index.query(7, T0 + 19_000, T0 + 20_000, 64).unwrap(), [2000, 1900]);
    assert_eq!((index.end_physical_offset(), index.end_timestamp()), (2000, T0 + 20_000));

    let previous = IndexFile::open(&dir.path().join(&names(dir.path())[0]), SMALL).unwrap();
    assert!(previous.is_full());
    let empty = IndexFile::create(&dir.path().join("99991231000000000"), SMALL, Some(&previous)).unwrap();
    assert_eq!((empty.begin_offset(), empty.end_offset()), (1900, 1900));
    assert_eq!((empty.begin_timestamp(), empty.end_timestamp()), (T0 + 19_000, T0 + 19_000));
}

#[test]
fn files_made_in_one_millisecond_do_not_overwrite_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    put_many(&index, 19 * 30);
    assert_eq!(names(dir.path()).len(), 30);
    drop(index);
    let index = open(dir.path());
    assert_eq!(index.query(7, 0, i64::MAX, usize::MAX).unwrap().len(), 19 * 30);
    assert!(index.query(7, 0, i64::MAX, usize::MAX).unwrap().is_sorted_by(|newer, older| newer > older));
}

// shows: IX-10
#[test]
fn a_record_before_the_end_is_a_repeat() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let build = |physical_offset, hashes: &[i32]| {
        let hashes = hashes.iter().copied();
        index.writer().build(IndexRequest { physical_offset, store_timestamp: T0, hashes }).unwrap();
    };
    build(0, &[1, 2]);
    build(500, &[1, 2, 3]);
    build(0, &[1]);
    build(499, &[1, 4]);
    build(600, &[]);
    index.writer().settle().unwrap();
    assert_eq!(query(&index, 1), [500, 0]);
    assert_eq!(query(&index, 2), [500, 0]);
    assert_eq!(query(&index, 3), [500]);
    assert_eq!(query(&index, 4), [0; 0]);
    assert_eq!(index.end_physical_offset(), 500);
}

#[test]
fn a_record_with_a_damaged_time_hides_no_other() {
    for damaged in [i64::MIN, -1, 0, 1, T0 - 1, i64::MAX] {
        // Its keys are the last of a file, the first of the next, in both, and the newest.
        for hurt in [9, 10, 11, 25] {
            let dir = tempfile::tempdir().unwrap();
            let index = open(dir.path());
            for number in 1..=25 {
                let store_timestamp = if number == hurt { damaged } else { T0 + number * 1000 };
                let hashes = [7, 17]; // of one slot
                index
                    .writer()
                    .build(IndexRequest { physical_offset: number * 100, store_timestamp, hashes })
                    .unwrap();
            }
            index.writer().settle().unwrap();
            let all: Vec<i64> = (1..=25).rev().map(|number| number * 100).collect();
            assert_eq!(query(&index, 7), all, "number {hurt} at {damaged}");
            for number in (1..=25).filter(|&number| number != hurt) {
                let time = T0 + number * 1000;
                let found = index.query(7, time, time, 64).unwrap();
                assert!(found.contains(&(number * 100)), "{number}, with {hurt} at {damaged}: {found:?}");
            }
            assert!(index.flush().unwrap() <= T0 + 25_000, "the checkpoint must not promise what is to come");
        }
    }
}

#[test]
fn entries_that_wait_are_found_in_order_once_they_are_settled_and_repeats_of_them_are_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    let build = |number: i64| {
        let request = IndexRequest { physical_offset: number * 100, store_timestamp: T0, hashes: [7, 8, 9] };
        index.writer().build(request).unwrap();
    };
    // More than wait at a time, and over the ends of files.
    for number in (1..=20).chain(3..20) {
        build(number);
    }
    assert!(query(&index, 7).len() < 20);
    index.writer().settle().unwrap();
    let all: Vec<i64> = (1..=20).rev().map(|number| number * 100).collect();
    for hash in [7, 8, 9] {
        assert_eq!(query(&index, hash), all);
    }
    build(21);
    index.truncate(500).unwrap();
    index.writer().settle().unwrap();
    assert_eq!(query(&index, 7), [400, 300, 200, 100]);
}

#[test]
fn a_clock_that_was_set_back_is_believed_from_the_second_record_on() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    for (physical_offset, seconds) in [(100, 0), (200, 90), (300, 30), (400, 31)] {
        let store_timestamp = T0 + seconds * 1000;
        index.writer().build(IndexRequest { physical_offset, store_timestamp, hashes: [7] }).unwrap();
    }
    index.writer().settle().unwrap();
    assert_eq!(index.query(7, T0 + 31_000, T0 + 31_000, 64).unwrap(), [400]);
}

#[test]
fn a_record_that_is_indexed_again_keeps_the_time_it_had() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    put_many(&index, 3);
    index.writer().build(IndexRequest { physical_offset: 300, store_timestamp: 1, hashes: [7, 8] }).unwrap();
    index.writer().settle().unwrap();
    assert_eq!(index.query(7, T0 + 1000, T0 + 3000, 64).unwrap(), [300, 300, 200, 100]);
    assert_eq!(index.query(8, T0 + 3000, T0 + 3000, 64).unwrap(), [300]);
}

#[test]
fn a_reopened_index_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    put_many(&open(dir.path()), 3);
    let index = open(dir.path());
    assert_eq!(index.rebuild_from(), None);
    assert_eq!(query(&index, 7), [300, 200, 100]);
    index.put(7, 400, T0 + 4000).unwrap();
    assert_eq!(query(&index, 7), [400, 300, 200, 100]);
}

// shows: IX-12
#[test]
fn an_index_without_a_directory_fails_the_put_and_nothing_else() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(&dir.path().join("index"));
    fs::remove_dir(dir.path().join("index")).unwrap();
    assert!(matches!(index.put(7, 100, T0), Err(Error::Io { .. })));
    assert_eq!(query(&index, 7), [0; 0]);
    fs::create_dir(dir.path().join("index")).unwrap();
    index.put(7, 100, T0).unwrap();
    assert_eq!(query(&index, 7), [100]);
}

// shows: IX-13
#[test]
fn after_a_crash_the_files_past_the_checkpoint_are_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    put_many(&open(dir.path()), 50); // three files, with ends at 19, 38 and 50 seconds
    let before = names(dir.path());
    let index = open_after_crash(dir.path(), T0 + 50_000);
    assert_eq!((index.rebuild_from(), names(dir.path())), (None, before.clone()));
    let index = open_after_crash(dir.path(), T0 + 19_000);
    assert_eq!(index.rebuild_from(), Some(2000));
    assert_eq!(names(dir.path()), before[..1]);
    assert_eq!(index.end_physical_offset(), 1900);
    let index = open_after_crash(dir.path(), 0);
    assert_eq!((index.rebuild_from(), names(dir.path()).len()), (Some(100), 0));
    assert_eq!(index.end_physical_offset(), 0);
}

#[test]
fn after_a_power_cut_a_file_with_older_header_than_slots_is_rebuilt() {
    let dir = tempfile::tempdir().unwrap();
    put_many(&open(dir.path()), 5);
    let path = only_file(dir.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[39] = 4; // the header counts three entries, the slot points to the fifth
    fs::write(&path, &bytes).unwrap();
    assert_eq!(open_after_crash(dir.path(), i64::MAX).rebuild_from(), Some(0));

    put_many(&open(dir.path()), 20);
    let second = dir.path().join(&names(dir.path())[1]);
    fs::write(&second, [0; 480]).unwrap();
    let index = open_after_crash(dir.path(), i64::MAX);
    assert_eq!((index.rebuild_from(), names(dir.path()).len()), (Some(1900), 1));
}

#[test]
fn a_file_of_a_wrong_size_is_named_and_only_a_crash_excuses_the_last() {
    let dir = tempfile::tempdir().unwrap();
    put_many(&open(dir.path()), 25);
    let names = names(dir.path());
    fs::write(dir.path().join(&names[1]), b"torn").unwrap();
    match IndexService::open(dir.path(), SMALL, &Notes::default(), LastStop::Orderly, 0) {
        Err(Error::Damaged { path, .. }) => assert_eq!(path, dir.path().join(&names[1])),
        other => panic!("{other:?}"),
    }
    let notes = Notes::default();
    let index = IndexService::open(dir.path(), SMALL, &notes, LastStop::Crashed, i64::MAX).unwrap();
    assert_eq!(index.rebuild_from(), Some(1900));
    assert!(notes.drain()[0].1.contains("4 bytes, not finished"));
    put_many(&index, 25);
    fs::write(dir.path().join(&names[0]), b"").unwrap();
    assert!(matches!(
        IndexService::open(dir.path(), SMALL, &Notes::default(), LastStop::Crashed, i64::MAX),
        Err(Error::Damaged { .. })
    ));
}

// shows: IX-13
#[test]
fn a_bad_name_is_only_told() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("20231114221320123.tmp"), b"mine").unwrap();
    let notes = Notes::default();
    let index = IndexService::open(dir.path(), SMALL, &notes, LastStop::Crashed, 0).unwrap();
    assert_eq!(index.rebuild_from(), None);
    let told = notes.drain();
    assert!(told.len() == 1 && told[0].1.contains("20231114221320123.tmp"), "{told:?}");
    assert!(dir.path().join("20231114221320123.tmp").exists());
}

#[test]
fn expired_files_go_but_never_the_last_nor_under_a_reader() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    assert_eq!(index.delete_expired(i64::MAX).unwrap(), 0);
    put_many(&index, 50);
    let reader = Arc::clone(&index.files.read()[0]);
    assert_eq!(index.delete_expired(1900).unwrap(), 0, "the end itself is still in the log");
    assert_eq!(index.delete_expired(1901).unwrap(), 1);
    assert_eq!(names(dir.path()).len(), 2);
    let mut found = Vec::new();
    reader.find(7, &(0..=i64::MAX), 1, &mut found).unwrap();
    assert_eq!(found, [1900]);
    assert_eq!(index.delete_expired(i64::MAX).unwrap(), 1);
    assert_eq!(query(&index, 7).first(), Some(&5000));
}

#[test]
fn a_truncated_index_is_the_index_of_the_shorter_log() {
    for keep in 0..=50 {
        let dir = tempfile::tempdir().unwrap();
        let index = open(dir.path());
        for number in 1..=50_i64 {
            index.put(number as i32 % 13, number * 100, T0 + number * 1000).unwrap();
        }
        index.truncate(keep * 100 + 1).unwrap();
        let mut expected = BTreeMap::<i32, Vec<i64>>::new();
        (1..=keep).rev().for_each(|number| {
            expected.entry(number as i32 % 13).or_default().push(number * 100);
        });
        for hash in 0..13 {
            assert_eq!(query(&index, hash), expected.get(&hash).cloned().unwrap_or_default());
        }
        assert_eq!(index.end_physical_offset(), keep * 100);
        assert_eq!(names(dir.path()).len(), (keep as usize).div_ceil(19));
        index.put(99, 6000, T0 + 60_000).unwrap();
        drop(index);
        let slots_used = {
            let bytes = fs::read(dir.path().join(names(dir.path()).last().unwrap())).unwrap();
            let used = bytes[40..80].chunks(4).filter(|slot| *slot != [0; 4]).count();
            assert_eq!(usize::from(bytes[35]), used, "the header counts the used slots");
            used
        };
        assert!(slots_used > 0);
        assert_eq!(query(&open_after_crash(dir.path(), T0 + 60_000), 99), [6000]);
    }
}

#[test]
fn a_file_cut_short_from_outside_is_an_error_and_not_a_crash() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout { slots: 5000, entries: 5000 };
    let index = IndexService::open(dir.path(), layout, &Notes::default(), LastStop::Orderly, 0).unwrap();
    put_many(&index, 100);
    let file = fs::OpenOptions::new().write(true).open(only_file(dir.path())).unwrap();
    file.set_len(0).unwrap();
    assert!(index.query(7, EVER.0, EVER.1, 64).unwrap_err().to_string().contains("lost pages"));
    assert!(index.put(7, 1, T0).is_err());
    assert!(index.flush().is_err());
}

#[test]
fn a_reader_beside_the_writer_sees_only_whole_entries() {
    let dir = tempfile::tempdir().unwrap();
    let layout = Layout { slots: 3, entries: 3000 };
    let index = IndexService::open(dir.path(), layout, &Notes::default(), LastStop::Orderly, 0).unwrap();
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut newest = 0;
            while newest < 20_000 {
                let found = index.query(1, 0, i64::MAX, 10).unwrap();
                assert!(found.is_sorted_by(|newer, older| newer > older), "{found:?}");
                assert!(found.first().copied().unwrap_or(0) >= newest);
                newest = found.first().copied().unwrap_or(0);
            }
        });
        for offset in 1..=20_000 {
            index.put(1, offset, T0 + offset).unwrap();
        }
        reader.join().unwrap();
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn damage_never_panics_or_loops(
        flips in prop::collection::vec((0_usize..480, any::<u8>()), 1..40),
        clean: bool,
        limit in 0_i64..3000,
    ) {
        let dir = tempfile::tempdir().unwrap();
        put_many(&open(dir.path()), 12);
        let path = only_file(dir.path());
        let mut bytes = fs::read(&path).unwrap();
        for (at, byte) in flips {
            bytes[at] = byte;
        }
        fs::write(&path, bytes).unwrap();
        if let Ok(index) = IndexService::open(dir.path(), SMALL, &Notes::default(), if clean { LastStop::Orderly } else { LastStop::Crashed }, i64::MAX) {
            for hash in 0..10 {
                prop_assert!(index.query(hash, i64::MIN, i64::MAX, usize::MAX).unwrap().len() < 20);
            }
            index.put(7, 5000, T0 + 50_000).unwrap();
            index.truncate(limit).unwrap();
            index.put(8, 6000, T0 + 60_000).unwrap();
            prop_assert_eq!(index.query(8, i64::MIN, i64::MAX, 1).unwrap(), [6000]);
            index.delete_expired(limit).unwrap();
            index.flush().unwrap();
        }
    }
}

#[test]
fn a_file_whose_header_does_not_fit_its_entries_is_built_again_with_those_after_it() {
    for position in [7, 18, 30, 37, 39] {
        for last_stop in [LastStop::Orderly, LastStop::Killed, LastStop::Crashed] {
            let dir = tempfile::tempdir().unwrap();
            put_many(&open(dir.path()), 50);
            let before = names(dir.path());
            let path = dir.path().join(&before[1]);
            let mut bytes = fs::read(&path).unwrap();
            bytes[position] ^= 0x80;
            bytes[position - 1] ^= 0x10;
            fs::write(&path, &bytes).unwrap();
            let notes = Notes::default();
            let index = IndexService::open(dir.path(), SMALL, &notes, last_stop, i64::MAX).unwrap();
            assert_eq!((index.rebuild_from(), names(dir.path())), (Some(1900), before[..1].to_vec()));
            assert!(notes.drain()[0].1.contains(&before[1]));
        }
    }
}

#[test]
fn an_index_that_is_gone_is_built_again_if_there_ever_was_one() {
    let dir = tempfile::tempdir().unwrap();
    for (checkpoint, from) in [(0, None), (T0, Some(0))] {
        let index =
            IndexService::open(dir.path(), SMALL, &Notes::default(), LastStop::Orderly, checkpoint).unwrap();
        assert_eq!(index.rebuild_from(), from);
    }
}

#[test]
fn an_entry_that_a_killed_process_had_not_counted_leaves_its_chain_whole() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    for record in 1..=3 {
        index.put(7, record * 100, record * 1000).unwrap();
    }
    drop(index);
    // As if the kill came after the third entry was chained and before the header counted it.
    let path = only_file(dir.path());
    let mut bytes = fs::read(&path).unwrap();
    bytes[36..40].copy_from_slice(&3u32.to_be_bytes());
    fs::write(&path, bytes).unwrap();
    let index = IndexService::open(dir.path(), SMALL, &Notes::default(), LastStop::Killed, 0).unwrap();
    index.put(8, 300, 3000).unwrap();
    assert_eq!(index.query(7, 0, i64::MAX, 10).unwrap(), [200, 100]);
}

#[test]
fn what_must_be_indexed_again_begins_at_the_first_file_that_a_crash_would_cost() {
    let dir = tempfile::tempdir().unwrap();
    let index = open(dir.path());
    assert_eq!((index.first_unsafe_offset(0), index.last_indexed()), (None, None));
    put_many(&index, 25); // 19 fill the first file, 6 stand in the second
    assert_eq!(index.last_indexed(), Some(2500));
    assert_eq!(index.first_unsafe_offset(0), Some(100));
    assert_eq!(index.first_unsafe_offset(T0 + 19_000), Some(2000));
    // Saved to its end, but the next entry would make it later than the checkpoint says.
    assert_eq!(index.first_unsafe_offset(T0 + 25_000), Some(2000));
}
