//! The result of a read in Python.

use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use super::message::Message;
use crate::log::read;

/// Messages of one queue, in order, and where to go on. A sequence of `Message`.
#[pyclass(frozen, sequence, module = "tailfin._engine")]
pub struct ReadResult {
    inner: read::ReadResult,
}

impl From<read::ReadResult> for ReadResult {
    fn from(inner: read::ReadResult) -> Self {
        Self { inner }
    }
}

#[pymethods]
impl ReadResult {
    /// RocketMQ's get status: `"FOUND"`, `"NO_MATCHED_MESSAGE"`, `"OFFSET_OVERFLOW_ONE"`, ...
    #[getter]
    fn status(&self) -> &'static str {
        self.inner.status.name()
    }

    #[getter]
    fn next_offset(&self) -> i64 {
        self.inner.next_offset
    }

    #[getter]
    fn min_offset(&self) -> i64 {
        self.inner.min_offset
    }

    #[getter]
    fn max_offset(&self) -> i64 {
        self.inner.max_offset
    }

    /// Whether the reader is so far behind that a slave should serve it.
    #[getter]
    fn suggest_slave(&self) -> bool {
        self.inner.suggest_slave
    }

    /// Bytes of all records together.
    #[getter]
    fn size(&self) -> usize {
        self.inner.bytes
    }

    fn __len__(&self) -> usize {
        self.inner.len()
    }

    fn __getitem__(&self, index: isize) -> PyResult<Message> {
        let place =
            if index < 0 { self.inner.len().checked_add_signed(index) } else { Some(index.unsigned_abs()) };
        let slice = place.and_then(|place| self.inner.get(place));
        slice.map(Message::in_log).ok_or_else(|| PyIndexError::new_err("no such message in this read"))
    }

    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyIterator>> {
        let messages = self.inner.slices().map(Message::in_log);
        PyList::new(py, messages.map(|message| Py::new(py, message)).collect::<PyResult<Vec<_>>>()?)?
            .try_iter()
    }

    fn __repr__(&self) -> String {
        format!(
            "ReadResult(status={:?}, messages={}, next_offset={})",
            self.inner.status.name(),
            self.inner.len(),
            self.inner.next_offset
        )
    }
}
