//! Messages on their way into the log.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString, PyTuple};

use super::super::codec::parse_host;
use super::super::errors;
use super::super::held_draft::HeldDraft;
use super::LogStore;
use crate::log::append::Placed;
use crate::log::clock::now_ms;
use crate::log::store::Store;
use crate::message::layout::property;
use crate::message::{Draft, ids, properties};

/// Where an acknowledged message, or batch of messages, now stands.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Appended {
    pub(super) placed: Placed,
    pub(super) store: Arc<Store>,
    pub(super) count: usize,
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
        Ok(ids::join_message_ids(&host, &offsets))
    }

    fn __repr__(&self) -> String {
        format!(
            "Appended(queue_offset={}, physical_offset={}, count={})",
            self.placed.queue_offset, self.placed.physical_offset, self.count
        )
    }
}

impl LogStore {
    pub(super) fn put(&self, py: Python<'_>, drafts: &[Draft<'_>], wait: bool) -> PyResult<Appended> {
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

    /// What the messages of a batch have in common.
    pub(super) fn common<'a>(
        &self,
        topic: &'a str,
        queue_id: i32,
        (born_timestamp, born_host): (i64, std::net::SocketAddr),
    ) -> Draft<'a> {
        Draft {
            topic: topic.as_bytes(),
            queue_id,
            flag: 0,
            sys_flag: 0,
            born_timestamp,
            born_host,
            store_host: self.store.store_host(),
            reconsume_times: 0,
            prepared_offset: 0,
            body: &[],
            properties: &[],
        }
    }

    pub(in crate::py) fn born(
        &self,
        timestamp: Option<i64>,
        host: Option<&str>,
    ) -> PyResult<(i64, std::net::SocketAddr)> {
        let host = host.map_or_else(|| Ok(self.store.store_host()), parse_host)?;
        Ok((timestamp.unwrap_or_else(now_ms), host))
    }

    /// Append messages of any queues as one unit.
    pub(super) fn put_together(
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
}

/// The properties of a message, tags and keys among them, as they are stored.
pub(super) fn property_text(
    properties: Option<&Bound<'_, PyAny>>,
    tags: Option<&str>,
    keys: Option<&str>,
) -> PyResult<Vec<u8>> {
    let mut text = Vec::new();
    if let Some(properties) = properties {
        push_properties(&mut text, properties)?;
    }
    for (name, value) in [(property::TAGS, tags), (property::KEYS, keys)] {
        if let Some(value) = value {
            push_property(&mut text, name, value.as_bytes())?;
        }
    }
    Ok(text)
}

/// The messages of a batch: bodies, or bodies with properties.
pub(super) fn bodies_with_properties<'py>(
    messages: &Bound<'py, PyAny>,
) -> PyResult<Vec<(Bound<'py, PyBytes>, Vec<u8>)>> {
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
    Ok(held)
}

pub(in crate::py) fn push_properties(text: &mut Vec<u8>, mapping: &Bound<'_, PyAny>) -> PyResult<()> {
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
