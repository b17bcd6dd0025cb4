//! The behaviour of one queue, on real files.

use std::fs;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

/// Ten units per file, so that tests see many files.
const SMALL_FILE: u64 = 200;

struct Place {
    root: TempDir,
    notes: Arc<Notes>,
    file_bytes: u64,
}

impl Place {
    fn new(file_bytes: u64) -> Self {
        Self { root: tempfile::tempdir().unwrap(), notes: Arc::default(), file_bytes }
    }

    fn dir(&self) -> PathBuf {
        self.root.path().join("Orders/3")
    }

    fn file(&self, start: u64) -> PathBuf {
        self.dir().join(format!("{start:020}"))
    }

    fn create(&self) -> ConsumeQueue {
        let (files, notes) = (Arc::default(), Arc::clone(&self.notes));
        ConsumeQueue::create(self.dir(), "Orders".into(), 3, self.file_bytes, files, notes)
    }

    fn try_open(&self) -> Result<ConsumeQueue> {
        let (files, notes) = (Arc::default(), Arc::clone(&self.notes));
        ConsumeQueue::open(self.dir(), "Orders".into(), 3, self.file_bytes, files, notes)
    }

    fn open(&self) -> ConsumeQueue {
        self.try_open().unwrap()
    }

    /// A queue of `count` units, all in their files.
    fn filled(&self, count: i64) -> ConsumeQueue {
        let queue = self.create();
        fill(&queue, 0..count);
        queue.write_out().unwrap();
        queue
    }

    fn said(&self, part: &str) -> bool {
        self.notes.drain().iter().any(|(_, text)| text.contains(part))
    }

    fn names(&self) -> Vec<u64> {
        let entries = fs::read_dir(self.dir()).unwrap();
        let mut names: Vec<_> =
            entries.map(|e| e.unwrap().file_name().to_str().unwrap().parse().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

/// The unit at an offset, for a log of messages of 100 bytes.
fn unit(offset: i64) -> Unit {
    Unit { physical_offset: offset * 100, size: 100, tags_code: -offset }
}

fn fill(queue: &ConsumeQueue, offsets: std::ops::Range<i64>) {
    for offset in offsets {
        assert_eq!(queue.append(offset, unit(offset)).unwrap(), Appended::Written);
    }
}

fn all_units(queue: &ConsumeQueue) -> Vec<Unit> {
    let mut units = Vec::new();
    queue.read(queue.min_offset(), usize::MAX, &mut units).unwrap();
    units
}

fn units(offsets: std::ops::Range<i64>) -> Vec<Unit> {
    offsets.map(unit).collect()
}

fn write_at(path: &Path, position: u64, bytes: &[u8]) {
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, position).unwrap();
}

#[test]
fn a_queue_is_small_in_memory() {
    assert!(size_of::<ConsumeQueue>() <= 300, "{}", size_of::<ConsumeQueue>());
}

// shows: CQ-02
// shows: CQ-03
#[test]
fn files_have_six_million_bytes_and_are_sparse() {
    use std::os::unix::fs::MetadataExt;
    let place = Place::new(QUEUE_FILE_BYTES);
    let queue = place.create();
    fill(&queue, 0..1);
    assert!(!place.dir().exists());
    assert!(queue.is_dirty() && queue.write_out().unwrap());
    assert!(!queue.is_dirty() && !queue.write_out().unwrap());
    let metadata = fs::metadata(place.root.path().join("Orders/3/00000000000000000000")).unwrap();
    assert_eq!(metadata.len(), 6_000_000);
    assert!(metadata.blocks() * 512 < 100_000);
}

// shows: CQ-01
// shows: CQ-05
#[test]
fn units_lie_one_after_the_other_over_many_files() {
    let place = Place::new(SMALL_FILE);
    let queue = place.filled(35);
    queue.sync().unwrap();
    assert_eq!(place.names(), [0, 200, 400, 600]);
    let second = fs::read(place.file(200)).unwrap();
    assert_eq!(second.len(), 200);
    assert_eq!(second[20..40], unit(11).encode());
    assert_eq!(fs::read(place.file(600)).unwrap()[100..], [0; 100]);
    assert_eq!(all_units(&queue), units(0..35));
}

// shows: CQ-06
#[test]
fn the_physical_end_is_that_of_the_last_unit() {
    let place = Place::new(SMALL_FILE);
    let queue = place.create();
    assert_eq!(queue.max_physical_offset(), -1);
    queue.append(0, Unit { physical_offset: 5, size: 7, tags_code: 0 }).unwrap();
    assert_eq!(queue.max_physical_offset(), 12);
    queue.write_out().unwrap();
    assert_eq!(place.open().max_physical_offset(), 12);
}

#[test]
fn a_repeated_unit_is_ignored_and_a_gap_refused() {
    let place = Place::new(SMALL_FILE);
    let queue = place.create();
    fill(&queue, 0..5);
    assert_eq!(queue.append(4, unit(4)).unwrap(), Appended::Repeated);
    assert_eq!(queue.append(0, unit(0)).unwrap(), Appended::Repeated);
    assert_eq!(queue.append(4, unit(9)).unwrap(), Appended::Conflict);
    assert_eq!(queue.append(6, unit(6)).unwrap(), Appended::Gap { expected: 5 });
    assert!(queue.append(-1, unit(6)).is_err());
    assert!(queue.append(i64::MAX, unit(6)).is_err());
    assert_eq!(all_units(&queue), units(0..5));
}

// shows: CQ-09
#[test]
fn the_next_file_begins_at_a_multiple_of_its_units() {
    let queue = Place::new(SMALL_FILE).create();
    assert_eq!([0, 9, 10, 19].map(|offset| queue.next_file_offset(offset)), [10, 10, 20, 20]);
}

#[test]
fn a_queue_may_begin_late_with_blank_units_before() {
    let place = Place::new(SMALL_FILE);
    let queue = place.create();
    fill(&queue, 23..26);
    queue.write_out().unwrap();
    assert_eq!(place.names(), [400]);
    let bytes = fs::read(place.file(400)).unwrap();
    assert_eq!(bytes[..60], Unit::BLANK.encode().repeat(3));
    assert_eq!(bytes[60..80], unit(23).encode());
    for queue in [&queue, &place.open()] {
        assert_eq!((queue.min_offset(), queue.max_offset()), (23, 26));
        assert_eq!(all_units(queue), units(23..26));
        assert_eq!(queue.unit_at(22).unwrap(), None);
    }
}

#[test]
fn a_late_beginning_may_fill_more_than_the_tail_with_blanks() {
    let place = Place::new(QUEUE_FILE_BYTES);
    let queue = place.create();
    fill(&queue, 299_999..300_002);
    queue.write_out().unwrap();
    assert_eq!(place.names(), [0, 6_000_000]);
    assert_eq!(all_units(&place.open()), units(299_999..300_002));
}

#[test]
fn a_queue_of_blanks_alone_is_empty_and_may_begin_anywhere() {
    let place = Place::new(SMALL_FILE);
    fill(&place.create(), 0..0);
    fs::create_dir_all(place.dir()).unwrap();
    let mut bytes = Unit::BLANK.encode().repeat(4);
    bytes.resize(200, 0);
    fs::write(place.file(200), bytes).unwrap();
    let queue = place.open();
    assert_eq!((queue.min_offset(), queue.max_offset(), queue.max_physical_offset()), (14, 14, -1));
    fill(&queue, 57..60);
    queue.write_out().unwrap();
    assert_eq!(place.names(), [1000]);
    assert_eq!(all_units(&place.open()), units(57..60));
}

#[test]
fn reads_stay_within_the_queue() {
    let place = Place::new(SMALL_FILE);
    let queue = place.filled(25);
    fill(&queue, 25..30);
    let read = |from, count| {
        let mut out = Vec::new();
        queue.read(from, count, &mut out).unwrap();
        out
    };
    assert_eq!(read(8, 20), units(8..28));
    assert_eq!(read(28, 20), units(28..30));
    assert!(read(30, 1).is_empty() && read(-1, 5).is_empty() && read(3, 0).is_empty());
    assert_eq!(queue.unit_at(29).unwrap(), Some(unit(29)));
    assert_eq!(queue.unit_at(30).unwrap(), None);
}

// shows: CQ-07
// shows: RC-07
#[test]
fn a_reopened_queue_goes_on_where_it_ended() {
    let place = Place::new(SMALL_FILE);
    for count in [1, 9, 10, 11, 20, 25] {
        place.create().destroy().unwrap();
        fs::remove_dir_all(place.dir()).ok();
        place.filled(count);
        let queue = place.open();
        assert_eq!((queue.min_offset(), queue.max_offset(), queue.next()), (0, count, count));
        assert_eq!(queue.max_physical_offset(), count * 100);
        fill(&queue, count..count + 15);
        queue.write_out().unwrap();
        assert_eq!(all_units(&place.open()), units(0..count + 15));
    }
}

#[test]
fn an_empty_file_prepared_ahead_is_no_data() {
    let place = Place::new(SMALL_FILE);
    place.filled(20);
    fs::write(place.file(400), [0; 200]).unwrap();
    let queue = place.open();
    assert_eq!(queue.max_offset(), 20);
    fill(&queue, 20..31);
    queue.write_out().unwrap();
    assert_eq!(all_units(&place.open()), units(0..31));
}

// shows: MF-22
#[test]
fn a_file_of_another_size_is_refused_by_name() {
    let place = Place::new(SMALL_FILE);
    place.filled(25);
    fs::write(place.file(200), [1; 180]).unwrap();
    let error = place.try_open().unwrap_err().to_string();
    assert!(error.contains("00000000000000000200") && error.contains("180"), "{error}");
}

#[test]
fn a_missing_file_in_the_middle_is_refused_by_name() {
    let place = Place::new(SMALL_FILE);
    place.filled(35);
    fs::remove_file(place.file(200)).unwrap();
    let error = place.try_open().unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }));
    assert!(error.to_string().contains("00000000000000000200"), "{error}");
}

#[test]
fn empty_last_files_are_removed_and_foreign_files_ignored() {
    let place = Place::new(SMALL_FILE);
    place.filled(15);
    fs::write(place.file(400), []).unwrap();
    fs::write(place.file(600), []).unwrap();
    fs::write(place.dir().join("notes.txt"), "hello").unwrap();
    assert_eq!(all_units(&place.open()), units(0..15));
    assert!(!place.file(400).exists() && !place.file(600).exists());
    let notes = place.notes.drain();
    assert_eq!(notes.iter().filter(|(_, text)| text.contains("removed")).count(), 2);
    assert!(notes.iter().any(|(_, text)| text.contains("notes.txt: ignored")));
}

#[test]
fn a_torn_last_unit_is_cut_off_and_wiped() {
    let place = Place::new(SMALL_FILE);
    place.filled(15);
    // The offset arrived, the size did not.
    write_at(&place.file(200), 100, &unit(15).encode()[..8]);
    write_at(&place.file(200), 140, &[0xff; 20]);
    let queue = place.open();
    assert!(place.said("from 15 on were not valid"));
    assert_eq!(all_units(&queue), units(0..15));
    assert_eq!(fs::read(place.file(200)).unwrap()[100..], [0; 100]);
    place.open();
    assert!(!place.said("not valid"));
}

#[test]
fn a_hole_does_not_end_the_queue_and_can_be_mended() {
    let place = Place::new(SMALL_FILE);
    place.filled(25);
    write_at(&place.file(0), 100, &[0; 60]);
    let queue = place.open();
    assert_eq!(queue.max_offset(), 25);
    assert!(!queue.unit_at(6).unwrap().unwrap().is_valid());
    fill(&queue, 25..27);
    for offset in [5, 6, 7, 26] {
        queue.replace(offset, unit(offset)).unwrap();
    }
    assert!(queue.replace(27, unit(27)).is_err());
    queue.write_out().unwrap();
    assert_eq!(all_units(&place.open()), units(0..27));
}

// shows: MF-23
// shows: RC-04
#[test]
fn truncation_leaves_no_trace_of_later_units() {
    for keep in 0..35 {
        for written in [20, 35] {
            let place = Place::new(SMALL_FILE);
            let queue = place.filled(written);
            fill(&queue, written..35);
            // Within the message after the last one kept: that one was cut off.
            queue.truncate_physical(keep * 100).unwrap();
            assert_eq!((queue.max_offset(), queue.next()), (keep, keep));
            assert_eq!(all_units(&queue), units(0..keep));
            let reopened = place.open();
            assert_eq!(reopened.max_offset(), keep.min(written));
            fill(&queue, keep..keep + 3);
            queue.write_out().unwrap();
            assert_eq!(all_units(&place.open()), units(0..keep + 3));
        }
    }
}

#[test]
fn truncation_of_everything_keeps_the_place_of_the_queue() {
    let place = Place::new(SMALL_FILE);
    let queue = place.create();
    fill(&queue, 23..45);
    queue.write_out().unwrap();
    queue.truncate_physical(2000).unwrap();
    for queue in [&queue, &place.open()] {
        assert_eq!((queue.min_offset(), queue.max_offset(), queue.max_physical_offset()), (23, 23, -1));
    }
    fill(&queue, 23..30);
    assert_eq!(all_units(&queue), units(23..30));
}

#[test]
fn truncation_of_units_out_of_order_ends_at_the_first_lost_one() {
    let place = Place::new(SMALL_FILE);
    let queue = place.filled(20);
    for lost in [7, 8, 9, 10, 11, 12, 13] {
        queue.replace(lost, unit(lost + 100)).unwrap();
    }
    queue.append(20, unit(200)).unwrap();
    queue.truncate_physical(5000).unwrap();
    assert!(place.said("order"));
    assert_eq!(all_units(&queue), units(0..7));
}

// shows: CQ-07
#[test]
fn the_minimum_follows_the_start_of_the_log() {
    let place = Place::new(SMALL_FILE);
    let queue = place.create();
    fill(&queue, 13..40);
    for (log_min, min) in [(0, 13), (1300, 13), (1301, 14), (2500, 25), (2000, 25), (3900, 39), (3901, 40)] {
        queue.correct_min(log_min).unwrap();
        assert_eq!(queue.min_offset(), min, "log from {log_min} on");
    }
    assert_eq!(queue.unit_at(39).unwrap(), None);
    assert_eq!((queue.max_offset(), queue.max_physical_offset()), (40, 4000));
}

#[test]
fn a_hole_does_not_mislead_the_minimum() {
    let place = Place::new(SMALL_FILE);
    place.filled(30);
    write_at(&place.file(200), 0, &[0; 160]);
    let queue = place.open();
    queue.correct_min(500).unwrap();
    assert_eq!(queue.min_offset(), 5);
}

#[test]
fn only_files_with_expired_units_alone_are_deleted() {
    let place = Place::new(SMALL_FILE);
    let queue = place.filled(35);
    assert_eq!(queue.delete_expired_files(900).unwrap(), 0);
    assert_eq!(queue.delete_expired_files(1950).unwrap(), 2);
    assert_eq!(place.names(), [400, 600]);
    for queue in [&queue, &place.open()] {
        assert_eq!(queue.min_offset(), 20);
        assert_eq!(all_units(queue), units(20..35));
    }
    assert_eq!(queue.delete_expired_files(i64::MAX).unwrap(), 1);
    assert_eq!(place.names(), [600]);
    queue.correct_min(i64::MAX).unwrap();
    assert_eq!((queue.min_offset(), queue.max_offset()), (35, 35));
    fill(&queue, 35..36);
}

// shows: RC-06
#[test]
fn a_destroyed_queue_is_gone_and_can_begin_anew() {
    let place = Place::new(SMALL_FILE);
    let queue = place.filled(35);
    queue.destroy().unwrap();
    assert!(!place.dir().exists());
    assert_eq!((queue.min_offset(), queue.max_offset(), queue.next()), (0, 0, 0));
    fill(&queue, 0..12);
    queue.sync().unwrap();
    assert_eq!(all_units(&place.open()), units(0..12));
}

#[test]
fn search_finds_the_first_unit_that_is_not_before() {
    let queue = Place::new(SMALL_FILE).create();
    fill(&queue, 5..25);
    let find = |from, to, limit| queue.search(from, to, |u| Ok(u.physical_offset < limit)).unwrap();
    assert_eq!(find(0, i64::MAX, 1250), 13);
    assert_eq!(find(0, i64::MAX, 0), 5);
    assert_eq!(find(0, i64::MAX, 9999), 25);
    assert_eq!(find(7, 10, 9999), 10);
    assert_eq!(find(30, 40, 0), 25);
    let failed = queue.search(0, 99, |_| Err(Error::Closed));
    assert!(matches!(failed, Err(Error::Closed)));
}

#[test]
fn offsets_are_assigned_ahead_of_the_units() {
    let queue = Place::new(SMALL_FILE).create();
    assert_eq!((queue.assign(3), queue.assign(1), queue.next()), (0, 3, 4));
    assert_eq!(queue.max_offset(), 0);
    queue.set_next(9);
    assert_eq!(queue.assign(1), 9);
}

#[test]
fn a_failed_write_keeps_the_units_for_the_next_one() {
    let place = Place::new(QUEUE_FILE_BYTES);
    let queue = place.create();
    // A file where the directory belongs makes every write fail.
    fs::write(place.root.path().join("Orders"), "").unwrap();
    let mut appended = 0;
    let error = loop {
        match queue.append(appended, unit(appended)) {
            Ok(_) => appended += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, Error::Io { .. }));
    assert!(appended as usize * UNIT_BYTES >= tape::TAIL_BYTES && queue.is_dirty());
    assert!(queue.write_out().is_err() && queue.sync().is_err());
    assert_eq!(all_units(&queue), units(0..appended));
    fs::remove_file(place.root.path().join("Orders")).unwrap();
    fill(&queue, appended..appended + 1);
    queue.sync().unwrap();
    assert_eq!(all_units(&place.open()), units(0..appended + 1));
}

#[test]
fn readers_see_every_unit_while_others_append_and_write_out() {
    let place = Place::new(20_000);
    let queue = place.create();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            fill(&queue, 0..60_000);
            done.store(true, Ordering::Release);
        });
        scope.spawn(|| {
            while !done.load(Ordering::Acquire) {
                queue.write_out().unwrap();
            }
        });
        for _ in 0..2 {
            scope.spawn(|| {
                let (mut at, mut out) = (0, Vec::new());
                while at < 60_000 {
                    out.clear();
                    queue.read(at, 300, &mut out).unwrap();
                    assert_eq!(out, units(at..at + out.len() as i64));
                    at += out.len() as i64;
                }
            });
        }
    });
}

#[derive(Debug, Clone)]
enum Step {
    Append(i64),
    WriteOut,
    Reopen,
    Truncate(i64),
    Expire(i64),
    Read(i64, usize),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..25i64).prop_map(Step::Append),
        2 => Just(Step::WriteOut),
        1 => Just(Step::Reopen),
        1 => (0..15i64).prop_map(Step::Truncate),
        1 => (0..15i64).prop_map(Step::Expire),
        3 => ((0..100i64), (0..40usize)).prop_map(|(at, count)| Step::Read(at, count)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_queue_behaves_like_a_list_of_units(first in 0..40i64, steps in prop::collection::vec(step(), 1..40)) {
        let place = Place::new(SMALL_FILE);
        let mut queue = place.create();
        // The model: a range of offsets, of which the log still has those from `log_min` on.
        let (mut min, mut max) = (first, first);
        fill(&queue, first..first + 1);
        max += 1;
        for step in steps {
            match step {
                Step::Append(count) => {
                    fill(&queue, max..max + count);
                    max += count;
                }
                Step::WriteOut => { queue.write_out().unwrap(); }
                Step::Reopen => {
                    queue.write_out().unwrap();
                    queue = place.open();
                    queue.correct_min(min * 100).unwrap();
                }
                Step::Truncate(count) => {
                    max = (max - count).max(min + 1);
                    queue.truncate_physical(max * 100).unwrap();
                }
                Step::Expire(count) => {
                    min = (min + count).min(max - 1);
                    queue.correct_min(min * 100).unwrap();
                    queue.delete_expired_files(min * 100).unwrap();
                }
                Step::Read(at, count) => {
                    let mut out = Vec::new();
                    queue.read(min + at, count, &mut out).unwrap();
                    prop_assert_eq!(out, units(min + at..max.min(min + at + count as i64)));
                }
            }
            prop_assert_eq!((queue.min_offset(), queue.max_offset()), (min, max));
            prop_assert_eq!(queue.max_physical_offset(), max * 100);
        }
        prop_assert_eq!(all_units(&queue), units(min..max));
    }

    #[test]
    fn no_content_of_a_file_makes_opening_panic(bytes in prop::collection::vec(any::<u8>(), 400)) {
        let place = Place::new(SMALL_FILE);
        fs::create_dir_all(place.dir()).unwrap();
        fs::write(place.file(0), &bytes[..200]).unwrap();
        fs::write(place.file(200), &bytes[200..]).unwrap();
        let queue = place.open();
        queue.correct_min(1 << 40).unwrap();
        queue.truncate_physical(1 << 50).unwrap();
        queue.delete_expired_files(1 << 30).unwrap();
        let max = queue.max_offset();
        prop_assert!(max <= 20 && queue.min_offset() <= max);
        let known = place.open().max_offset();
        prop_assert_eq!(known, max);
    }
}
