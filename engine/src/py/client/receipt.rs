//! What became of a message, as Python sees it.

use std::sync::Arc;

use pyo3::prelude::*;

use super::outbox::{address_hash, wait};
use crate::client::outbox::{self, Fate};

/// Someone who wants to hear of the end, kept alive until then.
pub struct Watched(pub Py<Receipt>);

/// The promise of one message's result.
#[pyclass(frozen, module = "tailfin._engine")]
#[derive(Clone)]
pub struct Receipt(pub outbox::Receipt);

#[pymethods]
impl Receipt {
    /// Whether the message is stored, or given up.
    #[getter]
    pub(super) fn done(&self) -> bool {
        self.0.parcel.is_done()
    }

    /// Wait until it is done; false when `timeout` seconds pass first.
    #[pyo3(signature = (timeout=None))]
    pub(super) fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        if self.0.parcel.is_done() {
            return Ok(true);
        }
        wait(py, timeout, |until| self.0.parcel.wait(until))
    }

    /// Have `Courier.take` return this receipt once it is done.
    fn watch(slf: &Bound<'_, Self>) {
        slf.get().0.parcel.watch(Arc::new(Watched(slf.clone().unbind())));
    }

    /// All messages that travel with this one.
    #[getter]
    fn parcel(&self) -> Parcel {
        Parcel(self.0.parcel.clone())
    }

    /// The answer's code; None while there is none.
    #[getter]
    fn code(&self) -> Option<i32> {
        self.fate().map(|fate| fate.code)
    }

    #[getter]
    fn remark(&self) -> String {
        self.fate().map(|fate| fate.remark.clone()).unwrap_or_default()
    }

    #[getter]
    fn topic(&self) -> String {
        self.0.parcel.topic.to_string()
    }

    #[getter]
    fn message_id(&self) -> String {
        self.0.message_id()
    }

    #[getter]
    fn offset_message_id(&self) -> String {
        self.fate().map(|fate| self.0.offset_message_id(&fate).to_owned()).unwrap_or_default()
    }

    #[getter]
    fn broker(&self) -> String {
        self.fate().map(|fate| fate.broker.to_string()).unwrap_or_default()
    }

    #[getter]
    fn queue_id(&self) -> i32 {
        self.fate().map_or(-1, |fate| fate.queue_id)
    }

    #[getter]
    fn queue_offset(&self) -> i64 {
        self.fate().map_or(-1, |fate| self.0.queue_offset(&fate))
    }

    #[getter]
    fn transaction_id(&self) -> Option<String> {
        self.fate().and_then(|fate| fate.transaction_id.clone())
    }

    #[getter]
    fn region_id(&self) -> Option<String> {
        self.fate().and_then(|fate| fate.region_id.clone())
    }

    #[getter]
    fn trace_on(&self) -> bool {
        self.fate().is_none_or(|fate| fate.trace_on)
    }

    #[getter]
    fn recall_handle(&self) -> Option<String> {
        self.fate().and_then(|fate| fate.recall_handle.clone())
    }

    #[getter]
    fn tries(&self) -> u32 {
        self.0.parcel.tries()
    }
}

impl Receipt {
    /// Whether the broker has it, without any doubt.
    pub(super) fn is_stored(&self) -> bool {
        self.fate().is_some_and(|fate| fate.code == 0)
    }

    fn fate(&self) -> Option<Arc<Fate>> {
        self.0.parcel.fate()
    }
}

/// Messages that travel as one request.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Parcel(pub Arc<outbox::Parcel>);

#[pymethods]
impl Parcel {
    #[getter]
    fn topic(&self) -> String {
        self.0.topic.to_string()
    }

    /// Messages in it.
    #[getter]
    fn count(&self) -> u32 {
        self.0.count()
    }

    /// The code of the last try; None while there is none.
    #[getter]
    fn code(&self) -> Option<i32> {
        self.0.fate().map(|fate| fate.code)
    }

    #[getter]
    fn remark(&self) -> String {
        self.0.fate().map(|fate| fate.remark.clone()).unwrap_or_default()
    }

    #[getter]
    fn address(&self) -> String {
        self.0.target().map(|target| target.address.to_string()).unwrap_or_default()
    }

    #[getter]
    fn broker(&self) -> String {
        self.0.target().map(|target| target.broker.to_string()).unwrap_or_default()
    }

    #[getter]
    fn queue_id(&self) -> i32 {
        self.0.target().map_or(-1, |target| target.queue_id)
    }

    /// Whether its queue was chosen, so that no other will do.
    #[getter]
    fn is_bound(&self) -> bool {
        self.0.terms.is_bound
    }

    /// Tries so far.
    #[getter]
    fn tries(&self) -> u32 {
        self.0.tries()
    }

    /// Seconds since the first try.
    #[getter]
    fn age(&self) -> f64 {
        self.0.age().as_secs_f64()
    }

    #[getter]
    fn outbox(&self) -> super::outbox::Outbox {
        super::outbox::Outbox(self.0.outbox().clone())
    }

    fn __eq__(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn __hash__(&self) -> u64 {
        address_hash(&self.0)
    }
}
