//! The behaviour of one queue, on real files.

mod cuts;
mod damage;
mod model;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::thread;

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

#[test]
fn a_queue_is_small_in_memory() {
    assert!(size_of::<ConsumeQueue>() <= 320, "{}", size_of::<ConsumeQueue>());
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
    assert!(queue.unwritten_bytes() > 0 && queue.write_out().unwrap());
    assert!(queue.unwritten_bytes() == 0 && !queue.write_out().unwrap());
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
    for count in [1, 9, 10, 11, 20, 25] {
        let place = Place::new(SMALL_FILE);
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
fn search_finds_the_first_unit_that_is_not_before() {
    let queue = Place::new(SMALL_FILE).create();
    fill(&queue, 5..25);
    let find = |from, to, limit| queue.search(from, to, |u| Ok(Some(u.physical_offset < limit))).unwrap();
    assert_eq!(find(0, i64::MAX, 1250), 13);
    assert_eq!(find(0, i64::MAX, 0), 5);
    assert_eq!(find(0, i64::MAX, 9999), 25);
    assert_eq!(find(7, 10, 9999), 10);
    assert_eq!(find(30, 40, 0), 25);
    let first_known = |unit: &Unit| (unit.physical_offset >= 1200).then_some(unit.physical_offset < 1500);
    assert_eq!(queue.search(0, 99, |unit| Ok(first_known(unit))).unwrap(), 15);
    let failed = queue.search(0, 99, |_| Err(Error::Closed));
    assert!(matches!(failed, Err(Error::Closed)));
}

#[test]
fn a_search_that_meets_blank_or_damaged_units_goes_past_nothing() {
    let queue = Place::new(SMALL_FILE).create();
    fill(&queue, 0..10);
    queue.fill_blank(40).unwrap();
    fill(&queue, 40..50);
    for damaged in [5, 8, 9] {
        queue.replace(damaged, Unit::decode(&[0; UNIT_BYTES])).unwrap();
    }
    let find = |limit| queue.search(0, i64::MAX, |u| Ok(Some(u.physical_offset < limit))).unwrap();
    for wanted in [0, 1, 4, 6, 7, 40, 41, 49] {
        assert_eq!(find(unit(wanted).physical_offset), wanted);
    }
    assert_eq!(find(unit(7).physical_offset + 1), 40);
}

#[test]
fn a_search_goes_back_over_units_of_unknown_messages_once() {
    let queue = Place::new(SMALL_FILE).create();
    fill(&queue, 0..300);
    let mut asked = 0;
    let is_before = |unit: &Unit| {
        asked += 1;
        Ok((unit.physical_offset < self::unit(20).physical_offset).then_some(true))
    };
    assert_eq!(queue.search(0, 300, is_before).unwrap(), 300);
    assert!(asked <= 300, "{asked}");
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
    assert!(appended as usize * UNIT_BYTES >= tape::TAIL_BYTES && queue.unwritten_bytes() > 0);
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
