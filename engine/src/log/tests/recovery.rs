//! Starts after a clean stop and after a kill.

use super::*;
use crate::log::config::ORDERLY_STOP;
use crate::log::segment::file_name;
use crate::message::layout::{QUEUE_ID_AT, QUEUE_OFFSET_AT};

const FILE: u64 = 64 * 1024;

fn append_to(path: &Path, position: usize, bytes: &[u8]) {
    let mut file = fs::read(path).unwrap();
    file[position..position + bytes.len()].copy_from_slice(bytes);
    fs::write(path, file).unwrap();
}

// shows: RC-01, RC-07, CQ-07
#[test]
fn numbering_goes_on_where_each_queue_ended() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "A", 5);
    put_numbered(&store, "B", 3);
    settle(&store);
    let copy = killed(dir.path());
    store.close().unwrap();
    drop(store);
    for root in [dir.path(), copy.path()] {
        let store = open(root);
        assert_eq!([put(&store, "A", b"5").queue_offset, put(&store, "B", b"3").queue_offset], [5, 3]);
        assert_eq!((bodies(&store, "A"), bodies(&store, "B")), (numbered(6), numbered(4)));
    }
}

// shows: RC-08, RC-05, U-17
#[test]
fn what_a_killed_store_had_not_dispatched_becomes_consumable() {
    let dir = directory();
    let store = open(dir.path());
    put_with(&store, "T", &[("KEYS", "early")]);
    settle(&store);
    store.keeper.keep(true).unwrap();
    store.dispatcher.set_confirm_limit(Some(store.log.written()));
    for _ in 0..200 {
        put_with(&store, "T", &[("KEYS", "late")]);
    }
    assert!(store.log.segments().len() == 1);
    fill_log(&store, 4);
    let count = store.derived.queues.get(b"T", 0).unwrap().next();
    let copy = killed(dir.path());
    let again = open(copy.path());
    assert_eq!(bodies(&again, "T").len() as i64, count);
    assert_eq!(again.query(b"T", Indexed::Key(b"early"), 0, i64::MAX, 64).unwrap().len(), 1);
    assert_eq!(again.query(b"T", Indexed::Key(b"late"), 0, i64::MAX, 64).unwrap().len(), 64);
}

fn fill_log(store: &Store, files: usize) {
    while store.log.segments().len() < files {
        put(store, "T", &[7; 1024]);
    }
}

// shows: RC-09, X-16, ST-07
#[test]
fn queues_that_lack_the_end_of_a_cleanly_closed_log_are_filled_from_it() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "A", 100);
    put_numbered(&store, "B", 100);
    settle(&store);
    store.close().unwrap();
    drop(store);
    // One queue loses its last 50 units, the other one all.
    append_to(&dir.path().join("consumequeue/A/0").join(file_name(0)), 50 * 20, &[0; 14 * 20]);
    append_to(&dir.path().join("consumequeue/A/0").join(file_name(1280)), 0, &[0; 36 * 20]);
    fs::remove_dir_all(dir.path().join("consumequeue/B")).unwrap();
    let store = open(dir.path());
    assert_eq!((bodies(&store, "A"), bodies(&store, "B")), (numbered(100), numbered(100)));
    assert_eq!(put(&store, "B", b"x").queue_offset, 100);
}

// shows: RC-04, RC-02
#[test]
fn queues_that_reach_past_the_end_of_the_log_are_cut_to_it() {
    let dir = directory();
    let store = open(dir.path());
    let placed = put_numbered(&store, "T", 100);
    settle(&store);
    store.close().unwrap();
    drop(store);
    // The magic of message 60 is gone: the log ends there, also after an orderly stop.
    let log = dir.path().join("commitlog").join(file_name(0));
    append_to(&log, placed[60].physical_offset as usize + 4, &[0; 4]);
    let store = open(dir.path());
    assert_eq!(bodies(&store, "T"), numbered(60));
    assert_eq!(store.log.written(), placed[60].physical_offset);
    assert_eq!(put(&store, "T", b"60").queue_offset, 60);
    assert_eq!(bodies(&store, "T"), numbered(61));
}

// shows: RC-03, MF-23
#[test]
fn files_after_the_end_are_removed_and_the_rest_of_the_last_one_is_erased() {
    let dir = directory();
    let store = open(dir.path());
    fill_files(&store, "T", 2);
    let end = store.log.written();
    let copy = killed(dir.path());
    drop(store);
    let files = copy.path().join("commitlog");
    for start in [2 * FILE, 3 * FILE] {
        fs::write(files.join(file_name(start)), vec![0xAB; FILE as usize]).unwrap();
    }
    append_to(&files.join(file_name(FILE)), (end - FILE) as usize, &[0xCD; 500]);
    let store = open(copy.path());
    assert_eq!((store.log.written(), store.log.segments().len()), (end, 2));
    assert_eq!(store.flush().unwrap(), end);
    store.close().unwrap();
    assert_eq!(names(&files), [file_name(0), file_name(FILE)]);
    let bytes = fs::read(files.join(file_name(FILE))).unwrap();
    assert!(bytes[(end - FILE) as usize..].iter().all(|&byte| byte == 0));
}

// shows: RC-06
#[test]
fn without_log_files_the_queues_are_emptied() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "T", 10);
    store.close().unwrap();
    drop(store);
    fs::remove_file(dir.path().join("commitlog").join(file_name(0))).unwrap();
    let store = open(dir.path());
    assert!(has_note(&notes(&store), Level::Warning, "the consume queues are emptied"));
    assert_eq!(put(&store, "T", b"0").queue_offset, 0);
    assert_eq!(bodies(&store, "T"), numbered(1));
}

#[test]
fn a_message_that_damage_moved_to_another_queue_is_told() {
    for hurt in [0, 1, 2] {
        let dir = directory();
        let store = open(dir.path());
        let placed = put_numbered(&store, "T", 3);
        settle(&store);
        store.keeper.keep(true).unwrap();
        let copy = killed(dir.path());
        let log = copy.path().join("commitlog").join(file_name(0));
        append_to(&log, placed[hurt].physical_offset as usize + QUEUE_ID_AT, &7_i32.to_be_bytes());
        let store = open(copy.path());
        let mut kept = numbered(3);
        let moved = kept.remove(hurt);
        assert_eq!((bodies_of(&store, "T", 0), bodies_of(&store, "T", 7)), (kept, vec![moved]));
        assert!(has_note(&notes(&store), Level::Warning, "lacks messages"), "message {hurt}");
    }
}

#[test]
fn the_first_message_of_a_topic_made_anew_is_kept_by_a_kill() {
    for (written_out, new) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        let dir = directory();
        let store = open(dir.path());
        put_numbered(&store, "T", 100);
        put(&store, "Other", b"0");
        settle(&store);
        assert!(store.delete_topic(b"T").unwrap());
        put_numbered(&store, "T", new);
        settle(&store);
        if written_out {
            store.keeper.keep(true).unwrap();
        }
        let copy = killed(dir.path());
        let store = open(copy.path());
        assert_eq!(bodies(&store, "T"), numbered(new), "{written_out} {new}");
        assert!(has_note(&notes(&store), Level::Warning, "deleted and made anew"));
        assert_eq!(put(&store, "T", b"next").queue_offset, new as i64);
    }
}

#[test]
fn a_last_message_whose_number_damage_made_zero_does_not_cost_those_before_it() {
    let dir = directory();
    let store = open(dir.path());
    let last = put_numbered(&store, "T", 65).pop().unwrap();
    settle(&store);
    store.keeper.keep(true).unwrap();
    let copy = killed(dir.path());
    store.close().unwrap();
    for root in [dir.path(), copy.path()] {
        let log = root.join("commitlog").join(file_name(0));
        append_to(&log, last.physical_offset as usize + QUEUE_OFFSET_AT, &[0; 8]);
        let store = open(root);
        assert_eq!(bodies(&store, "T"), numbered(64));
        assert!(has_note(&notes(&store), Level::Error, "it is damaged and left out"));
    }
}

// shows: RC-05
#[test]
fn an_unclean_start_begins_at_the_file_the_checkpoint_vouches_for() {
    let dir = directory();
    let store = open(dir.path());
    fill_log(&store, 3);
    settle(&store);
    // Later than the three seconds that the checkpoint's times are trusted less.
    store.log.writer.lock().last_timestamp += 10_000;
    fill_log(&store, 6);
    settle(&store);
    store.flush().unwrap();
    store.keeper.keep(true).unwrap();
    let copy = killed(dir.path());
    let lines = notes(&open(copy.path()));
    let expected = format!("from offset {} ", 2 * FILE);
    assert!(has_note(&lines, Level::Info, &expected), "the last file that began in time: {lines:?}");
}

// shows: RC-02
#[test]
fn a_clean_start_that_no_note_speaks_for_checks_the_last_three_files() {
    let dir = directory();
    let store = open(dir.path());
    let count = fill_files(&store, "T", 6);
    store.close().unwrap();
    drop(store);
    fs::remove_file(dir.path().join(ORDERLY_STOP)).unwrap();
    let store = open(dir.path());
    let lines = notes(&store);
    assert!(has_note(&lines, Level::Info, &format!("from offset {} ", 3 * FILE)), "{lines:?}");
    assert_eq!(bodies(&store, "T").len(), count);
}

// shows: RC-02
#[test]
fn bodies_are_checked_when_check_crc_on_recover_says_so() {
    let dir = directory();
    let store = open(dir.path());
    let placed = put_numbered(&store, "T", 10);
    store.close().unwrap();
    drop(store);
    let log = dir.path().join("commitlog").join(file_name(0));
    append_to(&log, placed[9].physical_offset as usize + 88, b"X");
    let unchecked = killed(dir.path());
    let store = open_with(unchecked.path(), |config| config.check_crc_on_recover = false);
    assert_eq!(store.derived.queues.get(b"T", 0).unwrap().max_offset(), 10);
    drop(store);
    assert_eq!(bodies(&open(dir.path()), "T"), numbered(9), "the last message fails its checksum");
}
