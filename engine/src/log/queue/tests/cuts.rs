//! Truncation, expiry and deletion.

use super::*;

// shows: MF-23
// shows: RC-04
#[test]
fn truncation_leaves_no_trace_of_later_units() {
    for keep in 0..35 {
        for written in [20, 35] {
            let place = Place::new(SMALL_FILE);
            let queue = place.filled(written);
            fill(&queue, written..35);
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
fn truncation_leaves_damaged_units_between_good_ones_to_be_mended() {
    let place = Place::new(SMALL_FILE);
    let queue = place.filled(20);
    for damaged in [7, 8, 9, 10, 11, 12, 13] {
        queue.replace(damaged, unit(damaged + 100)).unwrap();
    }
    queue.append(20, unit(200)).unwrap();
    queue.truncate_physical(5000).unwrap();
    assert_eq!(queue.max_offset(), 20);
    assert_eq!(all_units(&queue)[14..], units(14..20));
}

#[test]
fn a_queue_cut_after_blanks_knows_its_messages_before_them() {
    let place = Place::new(SMALL_FILE);
    let queue = place.filled(5);
    queue.fill_blank(8).unwrap();
    queue.append(8, unit(8)).unwrap();
    queue.truncate_physical(800).unwrap();
    assert_eq!((queue.max_offset(), queue.max_physical_offset()), (8, 500));
    assert_eq!(queue.append(12, unit(12)).unwrap(), Appended::Gap { expected: 8 });
    assert_eq!(all_units(&queue)[..5], units(0..5));
}

#[test]
fn blanks_between_messages_hide_none_of_them() {
    let place = Place::new(SMALL_FILE);
    let queue = place.create();
    fill(&queue, 3..6);
    queue.fill_blank(30).unwrap();
    fill(&queue, 30..32);
    queue.write_out().unwrap();
    assert_eq!(place.open().min_offset(), 3);
    queue.correct_min(301).unwrap();
    assert_eq!(queue.min_offset(), 4);
}

#[test]
fn a_damaged_unit_neither_hides_nor_deletes_messages() {
    let place = Place::new(SMALL_FILE);
    for damaged in 0..30 {
        let queue = place.filled(30);
        for bad in
            [Unit { physical_offset: -1, ..unit(damaged) }, Unit { physical_offset: 1, ..unit(damaged) }]
        {
            queue.replace(damaged, bad).unwrap();
            queue.correct_min(0).unwrap();
            assert_eq!((queue.min_offset(), queue.delete_expired_files(5).unwrap()), (0, 0));
        }
        queue.correct_min(1250).unwrap();
        let found = queue.min_offset();
        // Whether the unit at the border itself is expired or damaged, the queue alone cannot tell.
        assert!(
            found == 13 || (damaged == 13 && found == 14) || (damaged < 13 && found <= 13),
            "{damaged}: {found}"
        );
        queue.destroy().unwrap();
    }
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

#[test]
fn a_file_that_ends_in_blanks_goes_when_the_messages_before_them_do() {
    let place = Place::new(SMALL_FILE);
    for living in 1..9 {
        let queue = place.filled(living);
        queue.fill_blank(32).unwrap();
        fill(&queue, 32..34);
        queue.write_out().unwrap();
        let (last, border) = (unit(living - 1).physical_offset, unit(living).physical_offset);
        assert_eq!(queue.delete_expired_files(last).unwrap(), 0, "the last of {living} is in the log");
        assert_eq!(all_units(&queue)[..living as usize], units(0..living));
        assert_eq!(queue.delete_expired_files(border).unwrap(), 3, "two files have blanks only");
        assert_eq!(place.names(), [600]);
        queue.destroy().unwrap();
    }
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
fn truncation_wipes_what_a_failed_write_left_behind() {
    let place = Place::new(SMALL_FILE);
    let queue = place.create();
    fill(&queue, 0..15);
    // The second file cannot be made, so the write fails after the first.
    fs::create_dir_all(place.file(200)).unwrap();
    assert!(queue.write_out().is_err());
    queue.truncate_physical(500).unwrap();
    fs::remove_dir(place.file(200)).unwrap();
    assert_eq!(place.open().max_offset(), 5);
    fill(&queue, 5..15);
    queue.write_out().unwrap();
    assert_eq!(all_units(&place.open()), units(0..15));
}
