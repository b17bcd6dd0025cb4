//! Messages that come as record batches, and what became of them, as Python sees it.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::outbox::wait;
use crate::client::handles::{self, Handle};
use crate::client::outbox::{self, BadRow};
use crate::py::arrow::array_of;

impl From<BadRow> for PyErr {
    fn from(error: BadRow) -> Self {
        PyValueError::new_err(error.to_string())
    }
}

/// Counts messages that are posted together.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Tally(pub Arc<outbox::Tally>);

#[pymethods]
impl Tally {
    #[new]
    #[pyo3(signature = (*, handles=false))]
    fn new(handles: bool) -> Self {
        Self(outbox::Tally::new(handles))
    }

    /// Messages under way.
    #[getter]
    fn pending(&self) -> usize {
        self.0.under_way()
    }

    /// Messages that are stored.
    #[getter]
    fn stored(&self) -> u64 {
        self.0.stored()
    }

    /// Wait until nothing is under way; false when `timeout` seconds pass first.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        wait(py, timeout, |until| self.0.wait(0, until))
    }

    /// Of the first message that failed: code, remark, topic, broker, queue id, tries.
    #[getter]
    fn failure(&self) -> Option<(i32, String, String, String, i32, u32)> {
        let failed = self.0.first_failed()?;
        let fate = &failed.fate;
        Some((
            fate.code,
            fate.remark.clone(),
            failed.topic.to_string(),
            fate.broker.to_string(),
            fate.queue_id,
            failed.tries,
        ))
    }

    /// Where halves stand: broker, topic and their handles.
    fn handles<'py>(&self, py: Python<'py>) -> Vec<(String, String, Bound<'py, PyBytes>)> {
        let each = |mut halves: outbox::Halves| {
            let bytes = py.detach(|| handles::encode(&mut halves.handles));
            (halves.broker.to_string(), halves.topic.to_string(), PyBytes::new(py, &bytes))
        };
        self.0.halves().into_iter().map(each).collect()
    }
}

/// Encode where halves stand, each an offset in the log and one in the queue of halves.
#[pyfunction]
pub fn encode_handles(py: Python<'_>, handles: Vec<(i64, i64)>) -> Bound<'_, PyBytes> {
    let each = |(log_offset, queue_offset)| Handle { log_offset, queue_offset };
    let mut handles: Vec<Handle> = handles.into_iter().map(each).collect();
    PyBytes::new(py, &handles::encode(&mut handles))
}

/// Decode what `encode_handles` or a tally made.
#[pyfunction]
pub fn decode_handles(handles: &[u8]) -> PyResult<Vec<(i64, i64)>> {
    Ok(decoded(handles)?.into_iter().map(|each| (each.log_offset, each.queue_offset)).collect())
}

pub fn decoded(handles: &[u8]) -> PyResult<Vec<Handle>> {
    handles::decode(handles).map_err(|bad| PyValueError::new_err(bad.to_string()))
}

/// Take a record batch over by Arrow's C data interface, without a copy.
pub fn record_batch(batch: &Bound<'_, PyAny>) -> PyResult<RecordBatch> {
    let rows = array_of(batch, "a record batch", |kind| matches!(kind, DataType::Struct(_)))?;
    Ok(RecordBatch::from(rows.as_struct()))
}
