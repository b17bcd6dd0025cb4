//! The store as a whole, by what a user or a Java peer can see of it. Marks name rows of the checklist.

mod append;
mod cleaning;
mod derived;
mod flush;
mod gates;
mod lifecycle;
mod model;
mod orderly;
mod put_many;
mod put_together;
mod read;
mod recovery;
mod roll;
mod transient_pool;
mod warm_up;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::append::Placed;
use super::config::StoreConfig;
use super::filter::TagFilter;
use super::lookup::Indexed;
use super::notes::{Level, Notes};
use super::put::{PutStatus, Refusal};
use super::read::{GetStatus, ReadRequest, ReadResult};
use super::store::Store;
use super::view::Slice;
use crate::message::{Draft, properties, samples};

/// Long enough for any machine; nobody waits for it unless the test fails.
const PATIENCE: Duration = Duration::from_secs(20);

fn directory() -> TempDir {
    tempfile::tempdir().unwrap()
}

fn open(root: &Path) -> Store {
    open_with(root, |_| ())
}

fn open_with(root: &Path, change: impl FnOnce(&mut StoreConfig)) -> Store {
    try_open(root, change).unwrap()
}

fn try_open(root: &Path, change: impl FnOnce(&mut StoreConfig)) -> crate::error::Result<Store> {
    let mut config = StoreConfig::small(root);
    change(&mut config);
    Store::open(config, Arc::new(Notes::default()))
}

fn draft<'a>(topic: &'a str, body: &'a [u8]) -> Draft<'a> {
    samples::plain(topic.as_bytes(), body)
}

/// Properties text.
fn text(pairs: &[(&str, &str)]) -> Vec<u8> {
    let mut text = Vec::new();
    for (name, value) in pairs {
        properties::push(&mut text, name.as_bytes(), value.as_bytes());
    }
    text
}

fn put(store: &Store, topic: &str, body: &[u8]) -> Placed {
    store.put(&draft(topic, body), true).unwrap()
}

fn put_with(store: &Store, topic: &str, pairs: &[(&str, &str)]) -> Placed {
    let properties = text(pairs);
    store.put(&Draft { properties: &properties, ..draft(topic, b"body") }, true).unwrap()
}

fn refusal(store: &Store, draft: &Draft<'_>) -> Refusal {
    store.put(draft, true).unwrap_err()
}

fn status(store: &Store, draft: &Draft<'_>) -> PutStatus {
    refusal(store, draft).status
}

/// Waits until everything that readers may see is in its queue.
fn settle(store: &Store) {
    eventually("dispatch", || {
        store.dispatcher.catch_up();
        store.dispatcher.behind() == 0
    });
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain: {what}");
        thread::sleep(Duration::from_millis(1));
    }
}

fn request(topic: &str, queue_id: i32, offset: i64) -> ReadRequest<'_> {
    ReadRequest {
        topic: topic.as_bytes(),
        queue_id,
        offset,
        count_max: 32,
        bytes_max: None,
        transfer_limits: true,
        filter: None,
        check_bodies: true,
    }
}

fn read(store: &Store, topic: &str, offset: i64) -> ReadResult {
    settle(store);
    store.read(&request(topic, 0, offset)).unwrap()
}

fn slices(found: &ReadResult) -> Vec<Slice> {
    (0..found.len()).map(|index| found.get(index).unwrap()).collect()
}

/// The bodies of a queue from its minimum on.
fn bodies_of(store: &Store, topic: &str, queue_id: i32) -> Vec<Vec<u8>> {
    settle(store);
    let Some(queue) = store.derived.queues.get(topic.as_bytes(), queue_id) else { return Vec::new() };
    let mut offset = queue.min_offset();
    let mut bodies = Vec::new();
    loop {
        let found = store.read(&request(topic, queue_id, offset)).unwrap();
        if found.status != GetStatus::Found {
            return bodies;
        }
        bodies.extend(slices(&found).iter().map(|slice| slice.record().unwrap().body().to_vec()));
        offset = found.next_offset;
    }
}

fn bodies(store: &Store, topic: &str) -> Vec<Vec<u8>> {
    bodies_of(store, topic, 0)
}

fn numbered(count: usize) -> Vec<Vec<u8>> {
    (0..count).map(|n| n.to_string().into_bytes()).collect()
}

/// Puts bodies `0`, `1`, … and returns where they went.
fn put_numbered(store: &Store, topic: &str, count: usize) -> Vec<Placed> {
    numbered(count).iter().map(|body| put(store, topic, body)).collect()
}

/// Puts messages of a KiB until the log has this many files.
fn fill_files(store: &Store, topic: &str, files: usize) -> usize {
    let mut count = 0;
    while store.log.segments().len() < files {
        put(store, topic, &[7; 1024]);
        count += 1;
    }
    settle(store);
    count
}

fn notes(store: &Store) -> Vec<(Level, String)> {
    store.notes.drain()
}

fn has_note(notes: &[(Level, String)], level: Level, text: &str) -> bool {
    notes.iter().any(|(at, line)| *at == level && line.contains(text))
}

/// A copy of a running store's directory: what a killed process would have left.
fn killed(root: &Path) -> TempDir {
    let copy = directory();
    copy_tree(root, copy.path());
    copy
}

pub(crate) fn copy_tree(from: &Path, to: &Path) {
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            fs::create_dir(&target).unwrap();
            copy_tree(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).unwrap();
        }
    }
}

/// The names in a directory, sorted.
fn names(dir: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn filter(expression: &str) -> TagFilter {
    TagFilter::parse(expression).unwrap()
}
