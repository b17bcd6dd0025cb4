//! Files of the log: names, ends, and the step from one to the next.

use super::*;
use crate::log::segment::file_name;
use crate::message::{Found, look};

const FILE: u64 = 64 * 1024;

fn log_file(dir: &TempDir, start: u64) -> Vec<u8> {
    fs::read(dir.path().join("commitlog").join(file_name(start))).unwrap()
}

// shows: CL-01, ST-22, CL-06, MF-03
#[test]
fn all_topics_go_into_files_of_one_size_named_by_their_start() {
    let dir = directory();
    let root = dir.path().join("made/on/demand");
    let store = open(&root);
    assert!(names(&root.join("commitlog")).is_empty(), "the first file comes with the first message");
    for n in 0..150 {
        put(&store, if n % 2 == 0 { "A" } else { "B" }, &[1; 1024]);
    }
    settle(&store);
    store.close().unwrap();
    let expected: Vec<_> = (0..3).map(|n| file_name(n * FILE)).collect();
    assert_eq!(names(&root.join("commitlog")), expected);
    assert_eq!(expected[1], "00000000000000065536");
    for topic in ["A", "B"] {
        let queue = root.join("consumequeue").join(topic).join("0");
        assert_eq!(names(&queue), ["00000000000000000000", "00000000000000001280"]);
        for name in names(&queue) {
            assert_eq!(fs::metadata(queue.join(name)).unwrap().len(), 1280);
        }
    }
    for name in expected {
        assert_eq!(fs::metadata(root.join("commitlog").join(name)).unwrap().len(), FILE);
    }
}

// shows: CL-07, CL-22, RD-06
#[test]
fn what_does_not_fit_ends_the_file_with_a_blank_record_and_goes_into_the_next() {
    let dir = directory();
    let store = open(dir.path());
    let first = put(&store, "T", &vec![1; 60_000]);
    let second = put(&store, "T", &[2; 10_000]);
    assert_eq!(second.physical_offset, FILE);
    let end = first.size as usize;
    store.flush().unwrap();
    let bytes = log_file(&dir, 0);
    let rest = FILE as usize - end;
    assert_eq!(bytes[end..end + 4], (rest as u32).to_be_bytes());
    assert_eq!(bytes[end + 4..end + 8], (-875_286_124_i32).to_be_bytes());
    assert!(matches!(look(&bytes[end..]), Ok(Found::Blank { size }) if size == rest));
    assert_eq!(bodies(&store, "T").len(), 2, "readers and dispatch step over it");
}

// shows: CL-22
#[test]
fn eight_bytes_are_always_left_for_the_blank_record() {
    let overhead = 92;
    for (left, next_start) in [(8, None), (7, Some(FILE))] {
        let dir = directory();
        let store = open(dir.path());
        let first = put(&store, "T", &[1; 1000]);
        let body = vec![2; FILE as usize - first.size as usize - overhead - left];
        let placed = put(&store, "T", &body);
        assert_eq!(placed.physical_offset, next_start.unwrap_or(first.size), "{left} bytes left");
    }
}

// shows: CL-28
#[test]
fn a_batch_that_does_not_fit_moves_as_a_whole() {
    let dir = directory();
    let store = open(dir.path());
    let first = put(&store, "T", &vec![1; 60_000]);
    let (small, large) = ([2; 100], [3; 8000]);
    let placed = store.put_batch(&[draft("T", &small), draft("T", &large)], true).unwrap();
    assert_eq!((placed.physical_offset, placed.queue_offset), (FILE, 1));
    store.flush().unwrap();
    let bytes = log_file(&dir, 0);
    let end = first.size as usize;
    assert!(matches!(look(&bytes[end..]), Ok(Found::Blank { .. })));
    assert!(bytes[end + 8..].iter().all(|&byte| byte == 0), "nothing of it stayed behind");
    assert_eq!(bodies(&store, "T").len(), 3);
    let half = vec![4; 40_000];
    let too_large = [draft("T", &half), draft("T", &half)];
    assert_eq!(store.put_batch(&too_large, true).unwrap_err().status, PutStatus::MessageIllegal);
    assert_eq!(bodies(&store, "T").len(), 3);
}

// shows: CL-36, MF-19
#[test]
fn offsets_lead_to_their_file_and_to_the_next() {
    let dir = directory();
    let store = open(dir.path());
    fill_files(&store, "T", 3);
    assert_eq!([0, 1, FILE - 1, FILE].map(|at| store.log.next_file(at)), [FILE, FILE, FILE, 2 * FILE]);
    store.flush().unwrap();
    store.delete_first_log_file(false).unwrap().unwrap();
    let start_of = |offset| store.log.segment_of(offset).map(|segment| segment.start());
    assert_eq!([0, FILE - 1].map(start_of), [None, None], "before the first file");
    assert_eq!([FILE, 2 * FILE - 1, 2 * FILE].map(start_of), [Some(FILE), Some(FILE), Some(2 * FILE)]);
    assert_eq!(start_of(3 * FILE), None, "after the last file");
}

// shows: AL-01, AL-02, MF-17, MF-18
#[test]
fn the_next_two_files_are_made_before_they_are_needed() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "T", b"x");
    let files = dir.path().join("commitlog");
    let expected: Vec<_> = (0..3).map(|n| file_name(n * FILE)).collect();
    eventually("two files ahead", || names(&files) == expected);
    assert_eq!(store.log.segments().len(), 1, "they are not part of the log yet");
    fill_files(&store, "T", 2);
    eventually("two files ahead again", || names(&files).len() == 4);
    store.close().unwrap();
    assert_eq!(names(&files).len(), 2, "those not needed go with a close");
}

// shows: CL-06, CL-07, AL-05, AL-09
#[test]
fn a_file_that_cannot_be_made_refuses_the_append_and_is_tried_again() {
    let dir = directory();
    let store = open(dir.path());
    // Something stands in the way of the third file.
    let blocker = dir.path().join("commitlog").join(file_name(2 * FILE));
    fs::create_dir(&blocker).unwrap();
    let mut stored = 0;
    let refused = loop {
        match store.put(&draft("T", &[1; 1024]), true) {
            Ok(_) => stored += 1,
            Err(refusal) => break refusal,
        }
    };
    assert_eq!(refused.status, PutStatus::CreateMappedFileFailed);
    assert_eq!(status(&store, &draft("T", &[1; 1024])), PutStatus::CreateMappedFileFailed);
    assert_eq!(bodies(&store, "T").len(), stored, "what is there can be read");
    eventually("a note of it", || has_note(&notes(&store), Level::Warning, "no space can be prepared"));
    fs::remove_dir(&blocker).unwrap();
    put(&store, "T", b"it goes on");
    assert_eq!(bodies(&store, "T").len(), stored + 1);
}

// shows: MF-02
#[test]
fn mapped_files_are_counted_for_the_process() {
    let dir = directory();
    let store = open(dir.path());
    fill_files(&store, "T", 3);
    eventually("three files and two ahead", || names(&dir.path().join("commitlog")).len() == 5);
    // Other tests of this process map files as well, so only a lower bound can be told. A file has its name before
    // it is mapped.
    eventually("they are counted", || {
        let (files, bytes) = crate::log::mapping::mapped();
        files >= 5 && bytes >= 5 * FILE as usize
    });
}

#[test]
fn the_log_begins_at_its_first_file_and_ends_after_its_last_record() {
    let dir = directory();
    let store = open(dir.path());
    assert_eq!((store.log.min_offset(), store.log.readable()), (0, 0));
    fill_files(&store, "T", 3);
    let last = put(&store, "T", b"last");
    assert_eq!(store.log.readable(), last.physical_offset + last.size);
    store.flush().unwrap();
    store.delete_first_log_file(false).unwrap().unwrap();
    assert_eq!(store.log.min_offset(), FILE);
}
