//! The log store in Python.

mod append;
mod look;
mod stats;

use std::path::Path;
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

pub use self::append::Appended;
pub(super) use self::append::push_properties;
use self::append::{bodies_with_properties, property_text};
use self::stats::{named_notes, queue_ids, stats};
use super::enter::enter;
use super::errors::{StoreClosed, with_notes};
use super::message::Message;
use super::options::store_config;
use super::read::ReadResult;
use crate::log::filter::{MessageFilter, TagFilter};
use crate::log::flags::Flag;
use crate::log::lookup::Indexed;
use crate::log::notes::Notes;
use crate::log::read::ReadRequest;
use crate::log::store::Store;
use crate::message::{Draft, batch};

/// RocketMQ's log store. `tailfin.store.Store` is its face; use that.
#[pyclass(frozen, subclass, module = "tailfin._engine")]
pub struct LogStore {
    store: Arc<Store>,
}

impl LogStore {
    /// For others in the engine that work on the same store.
    pub(super) fn shared(&self) -> Arc<Store> {
        self.store.clone()
    }

    fn open(&self) -> PyResult<&Store> {
        if self.store.is_closed() {
            return Err(StoreClosed::new_err(
                "the store is closed, or was opened before this process forked",
            ));
        }
        Ok(&self.store)
    }
}

#[pymethods]
impl LogStore {
    #[new]
    fn new(py: Python<'_>, path: &str, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let config = store_config(Path::new(path), options)?;
        let notes = Arc::new(Notes::default());
        match enter(py, || Store::open(config, notes.clone())) {
            Ok(store) => Ok(Self { store: Arc::new(store) }),
            // What was repaired before it failed is told nowhere else.
            Err(error) => Err(with_notes(py, error, named_notes(&notes))),
        }
    }

    /// Append one message; it is acknowledged when this returns.
    #[pyo3(signature = (topic, body, queue_id=0, *, tags=None, keys=None, properties=None, flag=0, sys_flag=0,
        born_timestamp=None, born_host=None, reconsume_times=0, prepared_offset=0, wait=true))]
    #[allow(clippy::too_many_arguments)] // one keyword for each thing a message has
    fn append(
        &self,
        py: Python<'_>,
        topic: &str,
        body: &[u8],
        queue_id: i32,
        tags: Option<&str>,
        keys: Option<&str>,
        properties: Option<&Bound<'_, PyAny>>,
        flag: i32,
        sys_flag: i32,
        born_timestamp: Option<i64>,
        born_host: Option<&str>,
        reconsume_times: i32,
        prepared_offset: i64,
        wait: bool,
    ) -> PyResult<Appended> {
        let text = property_text(properties, tags, keys)?;
        let (born_timestamp, born_host) = self.born(born_timestamp, born_host)?;
        let draft = Draft {
            topic: topic.as_bytes(),
            queue_id,
            flag,
            sys_flag,
            born_timestamp,
            born_host,
            store_host: self.store.store_host(),
            reconsume_times,
            prepared_offset,
            body,
            properties: &text,
        };
        self.put(py, &[draft], wait)
    }

    /// Append messages (bodies, or bodies with properties) as one unit: all of them or none.
    #[pyo3(signature = (topic, messages, queue_id=0, *, born_timestamp=None, born_host=None, wait=true))]
    #[allow(clippy::too_many_arguments)]
    fn append_batch(
        &self,
        py: Python<'_>,
        topic: &str,
        messages: &Bound<'_, PyAny>,
        queue_id: i32,
        born_timestamp: Option<i64>,
        born_host: Option<&str>,
        wait: bool,
    ) -> PyResult<Appended> {
        let held = bodies_with_properties(messages)?;
        let common = self.common(topic, queue_id, self.born(born_timestamp, born_host)?);
        let drafts: Vec<_> = held
            .iter()
            .map(|(body, properties)| Draft { body: body.as_bytes(), properties, ..common })
            .collect();
        self.put(py, &drafts, wait)
    }

    /// Append a batch already in the client's encoding, as `SEND_BATCH_MESSAGE` carries it.
    #[pyo3(signature = (topic, batch, queue_id=0, *, sys_flag=0, born_timestamp=None, born_host=None,
        reconsume_times=0, wait=true))]
    #[allow(clippy::too_many_arguments)]
    fn append_encoded(
        &self,
        py: Python<'_>,
        topic: &str,
        batch: &[u8],
        queue_id: i32,
        sys_flag: i32,
        born_timestamp: Option<i64>,
        born_host: Option<&str>,
        reconsume_times: i32,
        wait: bool,
    ) -> PyResult<Appended> {
        let entries = batch::entries(batch)
            .map(|entry| entry.map(|entry| (entry, entry.closed_properties())))
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|bad| PyValueError::new_err(bad.to_string()))?;
        let born = self.born(born_timestamp, born_host)?;
        let common = Draft { sys_flag, reconsume_times, ..self.common(topic, queue_id, born) };
        let drafts: Vec<_> = entries
            .iter()
            .map(|(entry, properties)| Draft { flag: entry.flag, body: entry.body, properties, ..common })
            .collect();
        self.put(py, &drafts, wait)
    }

    /// Append messages of any queues as one unit: all of them or none.
    #[pyo3(signature = (drafts, *, wait=true))]
    fn append_together(
        &self,
        py: Python<'_>,
        drafts: &Bound<'_, PyAny>,
        wait: bool,
    ) -> PyResult<Vec<Appended>> {
        self.put_together(py, drafts, wait)
    }

    /// Read messages of one queue from a queue offset.
    #[pyo3(signature = (topic, queue_id=0, offset=0, limit=32, *, max_bytes=None, tags=None))]
    #[allow(clippy::too_many_arguments)]
    fn read(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: i32,
        offset: i64,
        limit: usize,
        max_bytes: Option<usize>,
        tags: Option<&str>,
    ) -> PyResult<ReadResult> {
        let store = self.open()?;
        self.settled_queue(py, topic, queue_id)?;
        let filter = tags.and_then(TagFilter::parse);
        let request = ReadRequest {
            topic: topic.as_bytes(),
            queue_id,
            offset,
            count_max: limit,
            bytes_max: max_bytes,
            transfer_limits: max_bytes.is_none(),
            filter: filter.as_ref().map(|filter| filter as &dyn MessageFilter),
            check_bodies: true,
        };
        enter(py, || store.read(&request)).map(ReadResult::from)
    }

    /// Wait until a message at `offset` is consumable; false when `timeout` seconds pass first.
    #[pyo3(signature = (topic, queue_id, offset, timeout=None))]
    fn wait_for(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: i32,
        offset: i64,
        timeout: Option<f64>,
    ) -> PyResult<bool> {
        self.wait_until_there(py, topic, queue_id, offset, timeout)
    }

    /// Return the records from a physical offset on, and the offset after the last one.
    #[pyo3(signature = (physical_offset, limit=1024, *, max_bytes=1 << 20, timeout=0.0))]
    fn read_log(
        &self,
        py: Python<'_>,
        physical_offset: u64,
        limit: usize,
        max_bytes: usize,
        timeout: f64,
    ) -> PyResult<(Vec<Message>, u64)> {
        self.records_from(py, physical_offset, limit, max_bytes, timeout)
    }

    /// Return the record that starts at this offset, or None when none does.
    fn message_at(&self, py: Python<'_>, physical_offset: u64) -> PyResult<Option<Message>> {
        let store = self.open()?;
        Ok(enter(py, || store.message_at(physical_offset))?.map(Message::in_log))
    }

    /// Return the message with this offset message id; `ValueError` when the id is malformed.
    fn message_by_id(&self, py: Python<'_>, message_id: &str) -> PyResult<Option<Message>> {
        self.find_by_id(py, message_id)
    }

    /// Find messages by one of their keys or their unique key, newest first, stored in [begin, end].
    #[pyo3(signature = (topic, key, *, begin=0, end=None, limit=32, by_tags=false))]
    #[expect(clippy::too_many_arguments, reason = "keywords of a Python call")]
    fn query(
        &self,
        py: Python<'_>,
        topic: &str,
        key: &str,
        begin: i64,
        end: Option<i64>,
        limit: usize,
        by_tags: bool,
    ) -> PyResult<Vec<Message>> {
        let store = self.open()?;
        let wanted = if by_tags { Indexed::Tags(key.as_bytes()) } else { Indexed::Key(key.as_bytes()) };
        let end = end.unwrap_or(i64::MAX);
        py.detach(|| store.dispatcher.catch_up());
        let found = enter(py, || store.query(topic.as_bytes(), wanted, begin, end, limit))?;
        Ok(found.into_iter().map(Message::in_log).collect())
    }

    /// Return the newest entry of the key index: when its message was stored, and its physical offset.
    fn index_end(&self) -> PyResult<(i64, i64)> {
        let index = self.open()?.derived.index.as_ref();
        Ok(index.map_or((0, 0), |index| (index.end_timestamp(), index.end_physical_offset())))
    }

    fn min_offset(&self, topic: &str, queue_id: i32) -> PyResult<i64> {
        Ok(self.queue(topic, queue_id)?.map_or(0, |queue| queue.min_offset()))
    }

    /// Queue offset after the last consumable message; 0 for an unknown queue.
    fn max_offset(&self, py: Python<'_>, topic: &str, queue_id: i32) -> PyResult<i64> {
        Ok(self.settled_queue(py, topic, queue_id)?.map_or(0, |queue| queue.max_offset()))
    }

    /// Return the first offset stored at or after `timestamp`; with `upper` the last one at or before.
    #[pyo3(signature = (topic, queue_id, timestamp, *, upper=false))]
    fn offset_at_time(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: i32,
        timestamp: i64,
        upper: bool,
    ) -> PyResult<i64> {
        match self.settled_queue(py, topic, queue_id)? {
            Some(queue) => enter(py, || self.store.offset_at_time(&queue, timestamp, upper)),
            None => Ok(0),
        }
    }

    /// Units of the consume queue: physical offset, size, tags code.
    fn queue_units(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: i32,
        offset: i64,
        count: usize,
    ) -> PyResult<Vec<(i64, i32, i64)>> {
        let Some(queue) = self.settled_queue(py, topic, queue_id)? else { return Ok(Vec::new()) };
        let mut units = Vec::new();
        enter(py, || queue.read(offset, count, &mut units))?;
        Ok(units.into_iter().map(|unit| (unit.physical_offset, unit.size, unit.tags_code)).collect())
    }

    /// Put everything written so far on disk; return the physical offset that is safe.
    fn flush(&self, py: Python<'_>) -> PyResult<u64> {
        let store = self.open()?;
        enter(py, || store.flush())
    }

    /// Write and sync all consume queues, index files and the checkpoint.
    fn flush_queues(&self, py: Python<'_>) -> PyResult<()> {
        let store = self.open()?;
        enter(py, || store.keeper.keep(true))
    }

    /// Topics with their queue ids, sorted.
    fn topics<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        queue_ids(self.open()?, py)
    }

    /// Remove the consume queues of a topic; its records stay in the log until they expire.
    fn delete_topic(&self, py: Python<'_>, topic: &str) -> PyResult<bool> {
        let store = self.open()?;
        enter(py, || store.delete_topic(topic.as_bytes()))
    }

    #[getter]
    fn min_physical_offset(&self) -> u64 {
        self.store.log.min_offset()
    }

    #[getter]
    fn max_physical_offset(&self) -> u64 {
        self.store.log.readable()
    }

    #[getter]
    fn flushed_offset(&self) -> u64 {
        self.store.log.flushed()
    }

    #[getter]
    fn confirm_offset(&self) -> u64 {
        self.store.dispatcher.confirmed()
    }

    /// Everything before it is in its queue and index.
    #[getter]
    fn dispatched_offset(&self) -> u64 {
        self.store.dispatcher.position()
    }

    /// Let readers see nothing at or beyond this offset (replication's word); None lifts the limit.
    #[pyo3(signature = (physical_offset))]
    fn set_confirm_limit(&self, physical_offset: Option<u64>) {
        self.store.dispatcher.set_confirm_limit(physical_offset);
    }

    /// Raise or clear one running flag: `"disk_full"`, `"logic_disk_full"`, `"fenced"`, `"not_writable"`.
    fn set_writable(&self, reason: &str, writable: bool) -> PyResult<()> {
        let Some(flag) = Flag::by_name(reason) else {
            return Err(PyValueError::new_err(format!("no running flag is called {reason:?}")));
        };
        if writable {
            self.store.flags.clear(flag)
        } else {
            self.store.flags.raise(flag)
        };
        Ok(())
    }

    /// Change `maxMessageSize`, from the next append on.
    fn set_max_message_size(&self, size: usize) -> PyResult<()> {
        self.open()?.set_message_bytes_max(size);
        Ok(())
    }

    /// RocketMQ's running flag bits (0: readable and writable).
    fn running_flags(&self) -> u32 {
        self.store.flags.bits()
    }

    /// Files of the commit log: start offset, size, last modified, whether a reader holds it.
    fn log_files(&self) -> PyResult<Vec<(u64, u64, i64, bool)>> {
        let file = |segment: Arc<crate::log::segment::Segment>| {
            Ok((segment.start(), segment.size(), segment.modified()?, segment.is_held()))
        };
        self.open()?.log.segments().into_iter().map(file).collect()
    }

    /// Delete the oldest log file; false when it is the last one or a reader holds it.
    #[pyo3(signature = (*, even_if_held=false))]
    fn delete_first_log_file(&self, py: Python<'_>, even_if_held: bool) -> PyResult<bool> {
        let store = self.open()?;
        Ok(enter(py, || store.delete_first_log_file(even_if_held))?.is_some())
    }

    /// Delete queue and index files whose messages are all gone from the log; return how many.
    fn delete_expired_queue_files(&self, py: Python<'_>) -> PyResult<usize> {
        let store = self.open()?;
        enter(py, || store.delete_expired_queue_files())
    }

    /// Counters since opening: puts, bytes, refusals by status, slowest put, dispatch lag, memory.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        stats(self.open()?, py)
    }

    /// Take what the engine has to say: (`"info" | "warning" | "error"`, text).
    fn notes(&self) -> Vec<(&'static str, String)> {
        named_notes(&self.store.notes)
    }

    /// Flush everything and stop; a second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        enter(py, || self.store.close())
    }
}
