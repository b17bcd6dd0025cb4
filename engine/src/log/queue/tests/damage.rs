//! What opening makes of files that are not as they were left.

use std::os::unix::fs::FileExt;

use super::*;

fn write_at(path: &Path, position: u64, bytes: &[u8]) {
    fs::OpenOptions::new().write(true).open(path).unwrap().write_all_at(bytes, position).unwrap();
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

#[test]
fn a_hole_does_not_mislead_the_minimum() {
    let place = Place::new(SMALL_FILE);
    place.filled(30);
    write_at(&place.file(200), 0, &[0; 160]);
    let queue = place.open();
    queue.correct_min(500).unwrap();
    assert_eq!(queue.min_offset(), 5);
}
