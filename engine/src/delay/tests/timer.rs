use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::delay::timer::unit::UNIT_BYTES;
use crate::delay::timer::wheel::WHEEL_BYTES;
use crate::delay::timer::{Order, Timer, TimerConfig, Worked};
use crate::log::tests::copy_tree;

const TOPIC: &str = "rmq_sys_wheel_timer";
const ALL: Order = Order { enqueue: true, dequeue: true, count_max: usize::MAX };
/// A full second long ago: tests give the time.
const START: i64 = 1_700_000_000_000;
/// Three units and the mark of its end.
const LOG_FILE_BYTES: u64 = 3 * UNIT_BYTES as u64 + 20;

fn config(root: &Path) -> TimerConfig {
    TimerConfig {
        wheel_path: root.join("timerwheel"),
        log_dir: root.join("timerlog"),
        checkpoint_path: root.join("config").join("timercheck"),
        log_file_bytes: LOG_FILE_BYTES,
        precision_ms: 1000,
        roll_slots: 172_800,
    }
}

fn timer(store: &Arc<Store>, root: &Path, now: i64) -> Timer {
    Timer::open(store.clone(), config(root), BTreeMap::new(), now).unwrap()
}

fn work(timer: &Timer, now: i64) -> Worked {
    let worked = timer.work(now, ALL).unwrap();
    assert_eq!(worked.refusal, None);
    worked
}

/// A message that waits until `START` and some seconds.
fn wait(store: &Store, body: &str, seconds: i64, more: &[(&str, &str)]) {
    let time = (START + seconds * 1000).to_string();
    let mut pairs =
        vec![("TIMER_OUT_MS", &*time), ("REAL_TOPIC", "T"), ("REAL_QID", "0"), ("UNIQ_KEY", body)];
    pairs.extend_from_slice(more);
    put(store, TOPIC, 0, body.as_bytes(), &pairs);
}

fn recall(store: &Store, body: &str, seconds: i64) {
    let key = format!("T+{body}");
    wait(store, body, seconds, &[("TIMER_DEL_UNIQKEY", &key)]);
}

fn at(seconds: i64) -> i64 {
    START + seconds * 1000
}

#[test]
fn messages_go_on_when_their_slot_has_passed_in_the_order_they_came() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let timer = timer(&store, dir.path(), START);
    for (body, seconds) in [("c", 5), ("a", 2), ("d", 5), ("b", 2), ("e", 5)] {
        wait(&store, body, seconds, &[]);
    }
    work(&timer, at(0));
    assert_eq!(timer.waiting().get("T"), Some(&5));
    assert_eq!(timer.waiting_at(at(5)).unwrap(), 3);
    work(&timer, at(3) - 1);
    assert!(bodies(&store, "T", 0).is_empty(), "the slot of second 2 is not over");
    work(&timer, at(3));
    assert_eq!(bodies(&store, "T", 0), ["a", "b"]);
    let worked = work(&timer, at(60));
    assert_eq!(worked.counts["T"].0, 3);
    assert_eq!(bodies(&store, "T", 0), ["a", "b", "c", "d", "e"]);
    assert_eq!(timer.waiting().get("T"), Some(&0));
    let (_, properties) = found(&store, "T", 0).remove(0);
    let stamps: Vec<_> = properties.iter().filter(|(name, _)| name.ends_with("QUEUE_MS")).collect();
    let expected = [("TIMER_ENQUEUE_MS", at(0)), ("TIMER_DEQUEUE_MS", at(3))];
    let expected = expected.map(|(name, time)| (name.to_owned(), time.to_string()));
    assert_eq!(stamps, expected.iter().collect::<Vec<_>>());
}

#[test]
fn the_files_have_the_sizes_that_java_asks_for_and_are_made_for_the_first_message() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let timer = timer(&store, dir.path(), START);
    work(&timer, at(1));
    assert!(!timer.flush(true).unwrap());
    assert!(!dir.path().join("timerwheel").exists());
    for n in 0..7 {
        wait(&store, &n.to_string(), 100 + n, &[]);
    }
    work(&timer, at(2));
    assert!(timer.flush(false).unwrap() && !timer.flush(false).unwrap());
    assert_eq!(fs::metadata(dir.path().join("timerwheel")).unwrap().len(), WHEEL_BYTES);
    let logs: Vec<u64> = fs::read_dir(dir.path().join("timerlog"))
        .unwrap()
        .map(|it| it.unwrap().metadata().unwrap().len())
        .collect();
    assert_eq!(logs, [LOG_FILE_BYTES; 3]);
    assert_eq!(fs::metadata(dir.path().join("config/timercheck")).unwrap().len(), 4096);
    let image = timer.stored().image();
    assert_eq!(image[..8], at(2).to_be_bytes());
    assert_eq!(image[16..32], [7_i64.to_be_bytes(), 7_i64.to_be_bytes()].concat());
}

#[test]
fn a_late_message_goes_on_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let timer = timer(&store, dir.path(), at(10));
    wait(&store, "late", 3, &[]);
    work(&timer, at(10));
    assert_eq!(bodies(&store, "T", 0), ["late"]);
    assert_eq!(timer.waiting().get("T"), None);
}

#[test]
fn a_recall_cancels_the_one_message_it_names() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let timer = timer(&store, dir.path(), START);
    for body in ["a", "b", "c"] {
        wait(&store, body, 5, &[]);
    }
    recall(&store, "b", 5);
    recall(&store, "unheard of", 5);
    work(&timer, at(0));
    assert_eq!(timer.waiting().get("T"), Some(&1));
    work(&timer, at(10));
    assert_eq!(bodies(&store, "T", 0), ["a", "c"]);
    assert_eq!(timer.waiting().get("T"), Some(&0));
}

#[test]
fn who_waits_longer_than_the_window_is_stored_anew_on_the_way() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let mut config = config(dir.path());
    config.roll_slots = 10;
    let timer = Timer::open(store.clone(), config, BTreeMap::new(), START).unwrap();
    wait(&store, "far", 25, &[]);
    wait(&store, "near", 12, &[]);
    for second in 0..25 {
        work(&timer, at(second));
        assert!(!bodies(&store, "T", 0).contains(&"far".to_owned()), "{second}");
        settle(&store);
    }
    work(&timer, at(26));
    assert_eq!(bodies(&store, "T", 0), ["near", "far"]);
    let (_, properties) = found(&store, "T", 0).remove(1);
    assert!(properties.contains(&("TIMER_ROLL_TIMES".to_owned(), "2".to_owned())), "{properties:?}");
}

/// The directory as a kill would leave it, opened.
struct Again {
    dir: tempfile::TempDir,
    store: Arc<Store>,
    timer: Timer,
}

fn killed(root: &Path, now: i64) -> Again {
    let copy = tempfile::tempdir().unwrap();
    copy_tree(root, copy.path());
    let store = open(copy.path());
    let timer = timer(&store, copy.path(), now);
    Again { dir: copy, store, timer }
}

#[test]
fn nothing_is_lost_or_doubled_wherever_a_kill_falls() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let timer = timer(&store, dir.path(), START);
    let mut sent = Vec::new();
    for second in 0..12 {
        for (name, ahead) in [("x", 3), ("y", 3), ("z", -2)] {
            let body = format!("{name}{second}");
            wait(&store, &body, second + ahead, &[]);
            sent.push(body);
        }
        if second == 4 {
            timer.flush(true).unwrap();
        }
        // Small rounds, so that a copy is taken in the middle of a slot too.
        while !timer.work(at(second), Order { count_max: 1, ..ALL }).unwrap().idle {
            if second % 3 == 0 {
                let again = killed(dir.path(), at(second));
                work(&again.timer, at(second));
                work(&again.timer, at(100));
                let mut found = bodies(&again.store, "T", 0);
                found.sort();
                let mut expected = sent.clone();
                expected.sort();
                assert_eq!(found, expected, "killed in second {second}");
            }
        }
    }
}

#[test]
fn a_second_kill_before_anything_was_written_down_doubles_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let timer = timer(&store, dir.path(), START);
    for body in ["a", "a", "b"] {
        wait(&store, body, 2, &[]);
    }
    work(&timer, at(1));
    timer.flush(true).unwrap();
    work(&timer, at(3));
    let first = killed(dir.path(), at(3));
    assert_eq!(first.timer.delivered_before(), 3);
    first.timer.work(at(3), Order { count_max: 1, ..ALL }).unwrap();
    first.timer.flush(true).unwrap();
    let second = killed(first.dir.path(), at(4));
    work(&second.timer, at(10));
    work(&second.timer, at(20));
    assert_eq!(bodies(&second.store, "T", 0), ["a", "a", "b"]);
}

#[test]
fn a_wheel_that_is_gone_is_built_again_from_the_timer_log_and_both_from_the_queue() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let first = timer(&store, dir.path(), START);
    for (body, seconds) in [("a", 1), ("b", 20), ("c", 20)] {
        wait(&store, body, seconds, &[]);
    }
    work(&first, at(0));
    work(&first, at(5));
    first.flush(true).unwrap();
    drop(first);
    fs::remove_file(dir.path().join("timerwheel")).unwrap();
    let second = timer(&store, dir.path(), at(6));
    assert_eq!(second.waiting_at(at(20)).unwrap(), 2);
    drop(second);

    fs::remove_file(dir.path().join("timerwheel")).unwrap();
    fs::remove_file(dir.path().join("config/timercheck")).unwrap();
    fs::remove_dir_all(dir.path().join("timerlog")).unwrap();
    let third = timer(&store, dir.path(), at(7));
    work(&third, at(8));
    work(&third, at(30));
    assert_eq!(bodies(&store, "T", 0), ["a", "b", "c"]);
}

#[test]
fn units_whose_messages_the_log_lost_are_forgotten() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let first = timer(&store, dir.path(), START);
    wait(&store, "kept", 5, &[]);
    work(&first, at(0));
    let copy = tempfile::tempdir().unwrap();
    settle(&store);
    store.flush().unwrap();
    store.keeper.keep(true).unwrap();
    copy_tree(dir.path(), copy.path());
    wait(&store, "lost", 5, &[]);
    work(&first, at(0));
    first.flush(true).unwrap();
    // The timer's files are newer than the log.
    for name in ["timerwheel", "timerlog", "config"] {
        let (from, to) = (dir.path().join(name), copy.path().join(name));
        if from.is_dir() {
            let _ = fs::create_dir(&to);
            copy_tree(&from, &to);
        } else {
            fs::copy(from, to).unwrap();
        }
    }
    let store = open(copy.path());
    let again = timer(&store, copy.path(), at(1));
    assert_eq!(again.waiting_at(at(5)).unwrap(), 2 - 1);
    work(&again, at(1));
    wait(&store, "new", 5, &[]);
    work(&again, at(2));
    work(&again, at(9));
    assert_eq!(bodies(&store, "T", 0), ["kept", "new"]);
}

#[test]
fn a_file_of_another_size_is_refused_with_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    fs::write(dir.path().join("timerwheel"), "short").unwrap();
    let error = Timer::open(store, config(dir.path()), BTreeMap::new(), START).unwrap_err();
    assert!(error.to_string().contains("timerwheel"), "{error}");
}

#[test]
fn a_message_that_says_no_time_is_left_out_and_the_rest_goes_on() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let timer = timer(&store, dir.path(), START);
    put(&store, TOPIC, 0, b"no time", &[("REAL_TOPIC", "T"), ("REAL_QID", "0")]);
    put(&store, TOPIC, 0, b"odd time", &[("TIMER_OUT_MS", "soon"), ("REAL_TOPIC", "T"), ("REAL_QID", "0")]);
    wait(&store, "good", 2, &[]);
    work(&timer, at(0));
    work(&timer, at(5));
    assert_eq!(bodies(&store, "T", 0), ["good"]);
    assert!(store.notes.drain().iter().any(|(_, text)| text.contains("does not say when")));
}

#[test]
fn log_files_go_when_their_messages_are_gone() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let timer = timer(&store, dir.path(), START);
    for n in 0..10 {
        wait(&store, &n.to_string(), 1, &[]);
    }
    work(&timer, at(0));
    work(&timer, at(5));
    assert_eq!(timer.remove_expired().unwrap(), 0);
    let body = vec![7; 8192];
    while store.log.segments().len() < 2 {
        put(&store, "Filler", 0, &body, &[]);
    }
    store.delete_first_log_file(false).unwrap();
    store.delete_expired_queue_files().unwrap();
    assert_eq!(timer.remove_expired().unwrap(), 3);
    wait(&store, "after", 8, &[]);
    work(&timer, at(6));
    work(&timer, at(20));
    assert_eq!(bodies(&store, "T", 0).last().unwrap(), "after");
}

#[test]
fn a_kill_between_two_files_of_the_timer_log_lets_no_message_enter_twice() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let first = timer(&store, dir.path(), START);
    for n in 0..4 {
        wait(&store, &n.to_string(), 5, &[]);
    }
    work(&first, at(0));
    drop(first);
    // Killed when the first file was closed, and the fourth unit was not in the second one yet.
    fs::remove_file(dir.path().join("timerlog").join(format!("{LOG_FILE_BYTES:020}"))).unwrap();
    fs::remove_file(dir.path().join("timerwheel")).unwrap();
    let second = timer(&store, dir.path(), at(1));
    assert_eq!(second.behind(), 1);
    work(&second, at(60));
    assert_eq!(bodies(&store, "T", 0), ["0", "1", "2", "3"]);
}
