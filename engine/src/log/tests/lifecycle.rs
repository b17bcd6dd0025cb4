//! Opening and closing.

use super::*;
use crate::error::Error;
use crate::log::config::ORDERLY_STOP;

// shows: ST-20, X-23
#[test]
fn the_directory_is_laid_out_as_rocketmq_does() {
    let dir = directory();
    let store = open(dir.path());
    put_with(&store, "T", &[("KEYS", "k")]);
    settle(&store);
    store.keeper.keep(true).unwrap();
    let running = ["abort", "checkpoint", "commitlog", "consumequeue", "index", "lock"];
    assert_eq!(names(dir.path()), running);
    let abort = fs::read_to_string(dir.path().join("abort")).unwrap();
    assert_eq!(abort.lines().next().unwrap(), std::process::id().to_string());
    assert_eq!(fs::read_to_string(dir.path().join("lock")).unwrap(), "lock");
    store.close().unwrap();
    let closed = ["checkpoint", "commitlog", "consumequeue", "index", "lock", ORDERLY_STOP];
    assert_eq!(names(dir.path()), closed);
}

// shows: ST-04
#[test]
fn a_start_tells_how_the_last_run_ended() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "T", 10);
    settle(&store);
    let copy = killed(dir.path());
    store.close().unwrap();
    drop(store);
    let clean = notes(&open(dir.path()));
    assert!(has_note(&clean, Level::Info, "the log is as an orderly stop left it"), "{clean:?}");
    assert!(!has_note(&clean, Level::Warning, "did not stop in order"));
    let unclean = notes(&open(copy.path()));
    assert!(has_note(&unclean, Level::Warning, "the last run did not stop in order"), "{unclean:?}");
}

// shows: ST-05, CQ-04, MF-22
#[test]
fn a_start_that_fails_leaves_the_messages_as_they_were_and_the_directory_unlocked() {
    let dir = directory();
    let store = open(dir.path());
    put_numbered(&store, "T", 10);
    store.close().unwrap();
    drop(store);
    for (path, damage) in
        [("consumequeue/T/0/00000000000000001280", "short"), ("commitlog/00000000000000065536", "x")]
    {
        let path = dir.path().join(path);
        fs::write(&path, damage).unwrap();
        assert!(matches!(try_open(dir.path(), |_| ()), Err(Error::Damaged { .. })));
        fs::remove_file(&path).unwrap();
    }
    assert_eq!(bodies(&open(dir.path()), "T"), numbered(10));
}

// shows: ST-06, CK-03, CK-06
#[test]
fn a_running_store_is_marked_locked_and_takes_messages_at_once() {
    let dir = directory();
    let store = open(dir.path());
    assert!(dir.path().join("abort").exists());
    assert!(matches!(try_open(dir.path(), |_| ()), Err(Error::Locked { .. })));
    put(&store, "T", b"0");
    store.close().unwrap();
    assert!(!dir.path().join("abort").exists());
    let again = open(dir.path());
    put(&again, "T", b"1");
    assert_eq!(bodies(&again, "T"), numbered(2));
}

// shows: ST-02
#[test]
fn a_new_store_makes_its_directory_and_the_pool_only_when_asked() {
    let dir = directory();
    let store = open(&dir.path().join("a/b/c"));
    assert!(dir.path().join("a/b/c/lock").exists());
    assert!(store.log.pool.is_none());
}

#[test]
fn a_second_close_does_nothing() {
    let dir = directory();
    let store = open(dir.path());
    put(&store, "T", b"x");
    store.close().unwrap();
    store.close().unwrap();
    drop(store);
    assert_eq!(bodies(&open(dir.path()), "T").len(), 1);
}
