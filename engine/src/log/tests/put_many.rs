use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::*;
use crate::log::config::FlushMode;
use crate::log::watch::{Arrival, Watch};

#[test]
fn each_unit_gets_its_own_place_or_its_own_refusal() {
    let dir = directory();
    let store = open(dir.path());
    let long = vec![0; 5 << 20];
    let (a, b, c) = (draft("A", b"a"), draft("B", b"b"), draft("A", b"c"));
    let (too_long, no_topic) = (draft("A", &long), draft("", b"x"));
    let pair = [b, draft("B", b"b2")];
    let results = store.put_many(&[&[a], &[too_long], &pair, &[], &[no_topic], &[c]]);
    store.dispatch_soon();
    let places: Vec<_> =
        results.iter().map(|result| result.as_ref().map(|placed| placed.queue_offset)).collect();
    let statuses: Vec<_> = places.into_iter().map(|place| place.map_err(|refusal| refusal.status)).collect();
    let illegal = Err(PutStatus::MessageIllegal);
    assert_eq!(statuses, [Ok(0), illegal, Ok(0), illegal, illegal, Ok(1)]);
    assert_eq!(bodies_of(&store, "A", 0), [b"a", b"c"]);
    assert_eq!(bodies_of(&store, "B", 0), [&b"b"[..], b"b2"]);
    assert_eq!(store.stats.puts(), 6);
    assert_eq!(store.stats.refusals().collect::<Vec<_>>(), [(PutStatus::MessageIllegal, 3)]);
}

#[test]
fn a_closed_store_refuses_all_units() {
    let dir = directory();
    let store = open(dir.path());
    store.close().unwrap();
    let message = draft("A", b"a");
    let results = store.put_many(&[&[message], &[message]]);
    store.dispatch_soon();
    assert!(
        results
            .iter()
            .all(|result| result.as_ref().is_err_and(|no| no.status == PutStatus::ServiceNotAvailable))
    );
}

#[test]
fn what_several_writers_have_dispatched_soon_becomes_consumable_in_order() {
    let (writers, each) = (4, 500);
    let dir = directory();
    let store = open(dir.path());
    thread::scope(|scope| {
        for writer in 0..writers {
            let store = &store;
            scope.spawn(move || {
                for number in 0..each {
                    let body = format!("{writer} {number:03}");
                    store.put_many(&[&[draft("A", body.as_bytes())]])[0].as_ref().unwrap();
                    store.dispatch_soon();
                }
            });
        }
    });
    let deadline = Instant::now() + Duration::from_secs(20);
    assert!(store.wait_for(b"A", 0, writers * each - 1, deadline), "nobody dispatched the last of them");
    let bodies = bodies_of(&store, "A", 0);
    for writer in 0..writers {
        let prefix = format!("{writer} ").into_bytes();
        let own: Vec<_> = bodies.iter().filter(|body| body.starts_with(&prefix)).collect();
        assert!(own.len() as i64 == each && own.is_sorted());
    }
}

/// Topic, queue, offset and tags of an arrival.
type Told = (String, i32, i64, Option<String>);

#[derive(Default)]
struct Diary {
    waiting: AtomicBool,
    flushed: AtomicU64,
    arrivals: Mutex<Vec<Told>>,
    stretches: Mutex<Vec<bool>>,
}

impl Watch for Diary {
    fn flushed(&self, offset: u64) {
        self.flushed.store(offset, Ordering::SeqCst);
    }

    fn waiting_for_disk(&self) -> usize {
        0
    }

    fn is_waiting(&self) -> bool {
        self.waiting.load(Ordering::SeqCst)
    }

    fn arrived(&self, arrival: &Arrival<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let entry = (text(arrival.topic), arrival.queue_id, arrival.queue_offset, arrival.tags.map(text));
        self.arrivals.lock().push(entry);
    }

    fn stretch_arrived(&self, each: bool) {
        self.stretches.lock().push(each);
    }
}

fn watched(store: &Store) -> Arc<Diary> {
    let diary = Arc::new(Diary::default());
    let watch: std::sync::Weak<Diary> = Arc::downgrade(&diary);
    store.watcher.set(watch);
    diary
}

#[test]
fn whoever_waits_is_told_of_each_message_that_can_be_read() {
    let dir = directory();
    let store = open(dir.path());
    let diary = watched(&store);
    put(&store, "A", b"nobody waits");
    settle(&store);
    assert!(diary.arrivals.lock().is_empty() && diary.stretches.lock().contains(&false));

    diary.waiting.store(true, Ordering::SeqCst);
    put_with(&store, "A", &[("TAGS", "t")]);
    let half = Draft { sys_flag: 4, ..draft("A", b"half") };
    store.put(&half, true).unwrap();
    store.put(&Draft { queue_id: 3, ..draft("B", b"x") }, true).unwrap();
    settle(&store);
    let told = [("A".to_owned(), 0, 1, Some("t".to_owned())), ("B".to_owned(), 3, 0, None)];
    assert_eq!(*diary.arrivals.lock(), told, "a half message can be read by nobody");
    assert_eq!(diary.stretches.lock().last(), Some(&true));
}

// shows: FL-05
#[test]
fn a_put_that_does_not_wait_is_flushed_soon_and_the_watcher_told() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        config.flush_mode = FlushMode::Sync;
        config.flush_interval = Duration::from_hours(1);
    });
    let diary = watched(&store);
    let message = draft("A", b"a");
    let placed = *store.put_many(&[&[message]])[0].as_ref().unwrap();
    eventually("the flush", || diary.flushed.load(Ordering::SeqCst) >= placed.physical_offset + placed.size);
    assert_eq!(store.sync_flush_timeout(), Some(Duration::from_secs(5)));
}

#[test]
fn puts_that_the_disk_cannot_follow_wait_for_it() {
    let dir = directory();
    let store = open_with(dir.path(), |config| {
        config.flush_mode = FlushMode::Sync;
        config.log_file_bytes = 16 << 20;
    });
    let body = vec![0; 1 << 20];
    let message = draft("A", &body);
    let stuck = store.log.flushing.lock();
    thread::scope(|scope| {
        let writer = scope.spawn(|| {
            for _ in 0..64 {
                assert!(store.put_many(&[&[message]])[0].is_ok());
            }
        });
        eventually("the lag", || store.log.written() > 32 << 20);
        thread::yield_now();
        assert!(!writer.is_finished() && store.log.written() < 40 << 20);
        drop(stuck);
    });
    assert!(store.log.written() > 64 << 20);
}
