//! Waiting messages, in real stores.

mod levels;
mod timer;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::log::append::Placed;
use crate::log::config::StoreConfig;
use crate::log::notes::Notes;
use crate::log::store::Store;
use crate::message::{Draft, properties, samples};

fn open(root: &Path) -> Arc<Store> {
    open_with(root, |_| ())
}

fn open_with(root: &Path, change: impl FnOnce(&mut StoreConfig)) -> Arc<Store> {
    let mut config = StoreConfig::small(root);
    change(&mut config);
    Arc::new(Store::open(config, Arc::new(Notes::default())).unwrap())
}

fn put(store: &Store, topic: &str, queue_id: i32, body: &[u8], pairs: &[(&str, &str)]) -> Placed {
    let mut text = Vec::new();
    for (name, value) in pairs {
        properties::push(&mut text, name.as_bytes(), value.as_bytes());
    }
    let draft = Draft { queue_id, properties: &text, ..samples::plain(topic.as_bytes(), body) };
    let placed = store.put(&draft, true).unwrap();
    settle(store);
    placed
}

fn settle(store: &Store) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while store.dispatcher.behind() > 0 {
        store.dispatcher.catch_up();
        assert!(Instant::now() < deadline, "waited in vain for dispatch");
    }
}

/// Bodies and properties of a queue.
fn found(store: &Store, topic: &str, queue_id: i32) -> Vec<(String, Vec<(String, String)>)> {
    settle(store);
    let Some(queue) = store.derived.queues.get(topic.as_bytes(), queue_id) else { return Vec::new() };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (queue.min_offset()..queue.max_offset())
        .map(|offset| {
            let unit = queue.unit_at(offset).unwrap().unwrap();
            let slice = store.record_at(unit.physical_offset.cast_unsigned()).unwrap().unwrap();
            let record = slice.record().unwrap();
            let pairs = properties::iter(record.properties()).map(|(name, value)| (text(name), text(value)));
            (text(record.body()), pairs.collect())
        })
        .collect()
}

fn bodies(store: &Store, topic: &str, queue_id: i32) -> Vec<String> {
    found(store, topic, queue_id).into_iter().map(|(body, _)| body).collect()
}
