//! The log store in Python.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use super::codec::parse_host;
use super::enter::enter;
use super::errors::{self, StoreClosed};
use super::held_draft::HeldDraft;
use super::message::Message;
use super::options::store_config;
use super::read::ReadResult;
use crate::error::Result;
use crate::log::append::Placed;
use crate::log::clock::now_ms;
use crate::log::filter::{MessageFilter, TagFilter};
use crate::log::flags::Flag;
use crate::log::mapping::mapped;
use crate::log::notes::{Level, Notes};
use crate::log::queue::ConsumeQueue;
use crate::log::read::{Indexed, ReadRequest};
use crate::log::store::Store;
use crate::log::view::Slice;
use crate::message::layout::property;
use crate::message::{Draft, batch, ids, properties};

/// Waiting calls look for signals this often, so that Ctrl-C works.
const SIGNAL_CHECK: Duration = Duration::from_millis(100);

/// Where an acknowledged message, or batch of messages, now stands.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Appended {
    placed: Placed,
    store: Arc<Store>,
    count: usize,
}

#[pymethods]
impl Appended {
    /// Queue offset of the (first) message.
    #[getter]
    fn queue_offset(&self) -> i64 {
        self.placed.queue_offset
    }

    #[getter]
    fn physical_offset(&self) -> u64 {
        self.placed.physical_offset
    }

    /// Bytes written to the log.
    #[getter]
    fn size(&self) -> u64 {
        self.placed.size
    }

    /// Messages written: 1, or the length of the batch.
    #[getter]
    fn count(&self) -> usize {
        self.count
    }

    #[getter]
    fn store_timestamp(&self) -> i64 {
        self.placed.store_timestamp
    }

    /// RocketMQ's offset message id; for a batch the ids joined by commas.
    #[getter]
    fn message_id(&self) -> PyResult<String> {
        let host = self.store.store_host();
        let offsets = self.store.record_offsets(self.placed, self.count)?;
        let ids: Vec<_> =
            offsets.iter().map(|offset| ids::encode_message_id(&host, offset.cast_signed())).collect();
        Ok(ids.join(","))
    }

    fn __repr__(&self) -> String {
        format!(
            "Appended(queue_offset={}, physical_offset={}, count={})",
            self.placed.queue_offset, self.placed.physical_offset, self.count
        )
    }
}

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

    fn queue(&self, topic: &str, queue_id: i32) -> PyResult<Option<Arc<ConsumeQueue>>> {
        Ok(self.open()?.derived.queues.get(topic.as_bytes(), queue_id))
    }

    /// The queue, once everything acknowledged to it is in it: a writer reads what it wrote.
    fn settled_queue(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: i32,
    ) -> PyResult<Option<Arc<ConsumeQueue>>> {
        let queue = self.queue(topic, queue_id)?;
        if queue.as_ref().is_some_and(|queue| queue.next() > queue.max_offset()) {
            py.detach(|| self.store.dispatcher.catch_up());
        }
        Ok(queue)
    }

    fn put(&self, py: Python<'_>, drafts: &[Draft<'_>], wait: bool) -> PyResult<Appended> {
        let store = self.open()?;
        let appended = |placed| Appended { placed, store: self.store.clone(), count: drafts.len() };
        match py.detach(|| store.put_batch(drafts, wait)) {
            Ok(placed) => Ok(appended(placed)),
            Err(refusal) => {
                let placed = refusal.placed.map(appended);
                Err(errors::refused(py, &refusal, placed))
            }
        }
    }

    fn drafts<'a>(
        &self,
        topic: &'a str,
        queue_id: i32,
        born: (i64, std::net::SocketAddr),
        entries: &'a [(i32, &'a [u8], &'a [u8])],
    ) -> Vec<Draft<'a>> {
        let draft = |&(flag, body, properties): &(i32, &'a [u8], &'a [u8])| Draft {
            topic: topic.as_bytes(),
            queue_id,
            flag,
            sys_flag: 0,
            born_timestamp: born.0,
            born_host: born.1,
            store_host: self.store.store_host(),
            reconsume_times: 0,
            prepared_offset: 0,
            body,
            properties,
        };
        entries.iter().map(draft).collect()
    }

    pub(super) fn born(
        &self,
        timestamp: Option<i64>,
        host: Option<&str>,
    ) -> PyResult<(i64, std::net::SocketAddr)> {
        let host = host.map_or_else(|| Ok(self.store.store_host()), parse_host)?;
        Ok((timestamp.unwrap_or_else(now_ms), host))
    }
}

#[pymethods]
impl LogStore {
    #[new]
    fn new(py: Python<'_>, path: &str, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let config = store_config(Path::new(path), options)?;
        let store = enter(py, || Store::open(config, Arc::new(Notes::default())))?;
        Ok(Self { store: Arc::new(store) })
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
        let mut text = Vec::new();
        if let Some(properties) = properties {
            push_properties(&mut text, properties)?;
        }
        for (name, value) in [(property::TAGS, tags), (property::KEYS, keys)] {
            if let Some(value) = value {
                push_property(&mut text, name, value.as_bytes())?;
            }
        }
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
        let mut held = Vec::new();
        for message in messages.try_iter()? {
            let message = message?;
            let mut text = Vec::new();
            let body = if let Ok(pair) = message.cast::<PyTuple>() {
                let (body, properties): (Bound<'_, PyBytes>, Bound<'_, PyAny>) = pair.extract()?;
                push_properties(&mut text, &properties)?;
                body
            } else {
                message.cast_into::<PyBytes>()?
            };
            held.push((body, text));
        }
        let entries: Vec<_> = held.iter().map(|(body, text)| (0, body.as_bytes(), text.as_slice())).collect();
        let born = self.born(born_timestamp, born_host)?;
        self.put(py, &self.drafts(topic, queue_id, born, &entries), wait)
    }

    /// Append a batch already in the client's encoding, as `SEND_BATCH_MESSAGE` carries it.
    #[pyo3(signature = (topic, batch, queue_id=0, *, born_timestamp=None, born_host=None, wait=true))]
    #[allow(clippy::too_many_arguments)]
    fn append_encoded(
        &self,
        py: Python<'_>,
        topic: &str,
        batch: &[u8],
        queue_id: i32,
        born_timestamp: Option<i64>,
        born_host: Option<&str>,
        wait: bool,
    ) -> PyResult<Appended> {
        let entries = batch::entries(batch)
            .map(|entry| entry.map(|entry| (entry.flag, entry.body, entry.properties)))
            .collect::<std::result::Result<Vec<_>, _>>()
            .map_err(|bad| PyValueError::new_err(bad.to_string()))?;
        let born = self.born(born_timestamp, born_host)?;
        self.put(py, &self.drafts(topic, queue_id, born, &entries), wait)
    }

    /// Append messages of any queues as one unit: all of them or none.
    #[pyo3(signature = (drafts, *, wait=true))]
    fn append_together(
        &self,
        py: Python<'_>,
        drafts: &Bound<'_, PyAny>,
        wait: bool,
    ) -> PyResult<Vec<Appended>> {
        let held =
            drafts.try_iter()?.map(|draft| HeldDraft::of(self, &draft?)).collect::<PyResult<Vec<_>>>()?;
        let drafts: Vec<_> = held.iter().map(|held| held.draft(self.store.store_host())).collect();
        let store = self.open()?;
        match py.detach(|| store.put_together(&drafts, wait)) {
            Ok(places) => {
                let appended = |placed| Appended { placed, store: self.store.clone(), count: 1 };
                Ok(places.into_iter().map(appended).collect())
            }
            Err(refusal) => {
                let placed =
                    refusal.placed.map(|placed| Appended { placed, store: self.store.clone(), count: 1 });
                Err(errors::refused(py, &refusal, placed))
            }
        }
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
        let deadline = timeout.map(deadline_in).transpose()?;
        let topic = topic.as_bytes();
        loop {
            let store = self.open()?;
            let slice_end = Instant::now() + SIGNAL_CHECK;
            let until = deadline.map_or(slice_end, |deadline| deadline.min(slice_end));
            if py.detach(|| store.wait_for(topic, queue_id, offset, until)) {
                return Ok(true);
            }
            py.check_signals()?;
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
        }
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
        let deadline = deadline_in(timeout)?;
        py.detach(|| self.store.dispatcher.catch_up());
        loop {
            let store = self.open()?;
            let until = deadline.min(Instant::now() + SIGNAL_CHECK);
            let (slices, next) =
                enter(py, || store.read_log(physical_offset, limit, max_bytes, Some(until)))?;
            if !slices.is_empty() || next > physical_offset || Instant::now() >= deadline {
                return Ok((slices.into_iter().map(Message::in_log).collect(), next));
            }
            py.check_signals()?;
        }
    }

    /// Return the record that starts at this offset, or None when none does.
    fn message_at(&self, py: Python<'_>, physical_offset: u64) -> PyResult<Option<Message>> {
        let store = self.open()?;
        Ok(enter(py, || store.message_at(physical_offset))?.map(Message::in_log))
    }

    /// Return the message with this offset message id; `ValueError` when the id is malformed.
    fn message_by_id(&self, py: Python<'_>, message_id: &str) -> PyResult<Option<Message>> {
        let store = self.open()?;
        let (host, offset) = ids::decode_message_id(message_id.as_bytes())
            .map_err(|bad| PyValueError::new_err(format!("{message_id:?}: {bad}")))?;
        let found = enter(py, || store.message_at(offset.max(0).cast_unsigned()))?;
        let is_it = |slice: &Slice| -> Result<bool> { Ok(slice.record()?.store_host() == Some(host)) };
        Ok(match found {
            Some(slice) if is_it(&slice)? => Some(Message::in_log(slice)),
            _ => None,
        })
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
        let queues = &self.open()?.derived.queues;
        let mut topics = queues.topics();
        topics.sort();
        let dict = PyDict::new(py);
        for topic in topics {
            let ids: Vec<i32> =
                queues.queues_of(topic.as_bytes()).iter().map(|queue| queue.queue_id()).collect();
            dict.set_item(PyString::new(py, &topic), ids)?;
        }
        Ok(dict)
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
        let store = self.open()?;
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

    /// Take what the engine has to say: (`"info" | "warning" | "error"`, text).
    fn notes(&self) -> Vec<(&'static str, String)> {
        let name = |level| match level {
            Level::Info => "info",
            Level::Warning => "warning",
            Level::Error => "error",
        };
        self.store.notes.drain().into_iter().map(|(level, text)| (name(level), text)).collect()
    }

    /// Flush everything and stop; a second call does nothing.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        enter(py, || self.store.close())
    }
}

fn deadline_in(seconds: f64) -> PyResult<Instant> {
    let wait = Duration::try_from_secs_f64(seconds.max(0.0))
        .map_err(|_| PyValueError::new_err(format!("{seconds} seconds is no time to wait")))?;
    Ok(Instant::now() + wait.min(Duration::from_hours(365 * 24)))
}

pub(super) fn push_properties(text: &mut Vec<u8>, mapping: &Bound<'_, PyAny>) -> PyResult<()> {
    let items = if let Ok(dict) = mapping.cast::<PyDict>() {
        dict.clone()
    } else {
        let dict = PyDict::new(mapping.py());
        dict.update(mapping.cast()?)?;
        dict
    };
    for (name, value) in items {
        let (name, value) = (name.cast_into::<PyString>()?, value.cast_into::<PyString>()?);
        push_property(text, name.to_str()?.as_bytes(), value.to_str()?.as_bytes())?;
    }
    Ok(())
}

/// The format has no escapes, so a separator inside a name or value would make other properties of it.
fn push_property(text: &mut Vec<u8>, name: &[u8], value: &[u8]) -> PyResult<()> {
    let separates = |byte: &u8| *byte == property::NAME_END || *byte == property::VALUE_END;
    if name.is_empty() || name.iter().chain(value).any(separates) {
        return Err(PyValueError::new_err(format!(
            "property {:?} cannot be stored: its name is empty, or it holds \\x01 or \\x02",
            String::from_utf8_lossy(name)
        )));
    }
    properties::push(text, name, value);
    Ok(())
}
