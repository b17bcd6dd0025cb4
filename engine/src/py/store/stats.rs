//! The store's counters, what queues it has, and what it has to say.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::log::mapping::mapped;
use crate::log::notes::{Level, Notes};
use crate::log::store::Store;

pub(super) fn stats<'py>(store: &Store, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("put_calls", store.stats.puts())?;
    dict.set_item("put_times", store.stats.put_times())?;
    dict.set_item("slowest_put_ms", store.stats.slowest_put_ms())?;
    let refused = PyDict::new(py);
    for (status, count) in store.stats.refusals() {
        refused.set_item(status.name(), count)?;
    }
    dict.set_item("refused", refused)?;
    dict.set_item("read_calls", store.stats.reads())?;
    dict.set_item("messages_read", store.stats.messages_read())?;
    dict.set_item("queries", store.stats.queries())?;
    dict.set_item("dispatch_behind", store.dispatcher.behind())?;
    dict.set_item("log_syncs", store.flusher.syncs())?;
    dict.set_item("lock_held_ms", store.log.lock_held_ms())?;
    let (mapped_files, mapped_bytes) = mapped();
    dict.set_item("mapped_files", mapped_files)?;
    dict.set_item("mapped_bytes", mapped_bytes)?;
    let topics = PyDict::new(py);
    for topic in store.derived.queues.topics() {
        let counts =
            store.derived.queues.queues_of(topic.as_bytes()).into_iter().map(|queue| queue.put_counts());
        let (puts, bytes) = counts.fold((0, 0), |sum, queue| (sum.0 + queue.0, sum.1 + queue.1));
        topics.set_item(PyString::new(py, &topic), (puts, bytes))?;
    }
    dict.set_item("topics", topics)?;
    Ok(dict)
}

/// Topics with their queue ids, sorted.
pub(super) fn queue_ids<'py>(store: &Store, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
    let queues = &store.derived.queues;
    let mut topics = queues.topics();
    topics.sort();
    let dict = PyDict::new(py);
    for topic in topics {
        let ids: Vec<i32> = queues.queues_of(topic.as_bytes()).iter().map(|queue| queue.queue_id()).collect();
        dict.set_item(PyString::new(py, &topic), ids)?;
    }
    Ok(dict)
}

pub(super) fn named_notes(notes: &Notes) -> Vec<(&'static str, String)> {
    let name = |level| match level {
        Level::Info => "info",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    notes.drain().into_iter().map(|(level, text)| (name(level), text)).collect()
}
