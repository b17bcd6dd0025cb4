//! A stored message in Python: a view that decodes what is asked for.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyString};

use crate::log::view::Slice;
use crate::message::host::shown as host;
use crate::message::layout::property;
use crate::message::{Record, properties};

/// One stored message: a view of the log, decoded field by field when asked.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Message {
    source: Source,
}

enum Source {
    Log(Slice),
    Copy(Box<[u8]>),
}

impl Message {
    pub fn in_log(slice: Slice) -> Self {
        Self { source: Source::Log(slice) }
    }

    fn record(&self) -> PyResult<Record<'_>> {
        match &self.source {
            Source::Log(slice) => Ok(slice.record()?),
            Source::Copy(bytes) => Record::parse(bytes).map_err(|bad| PyValueError::new_err(bad.to_string())),
        }
    }

    fn property(&self, py: Python<'_>, name: &[u8]) -> PyResult<Option<Py<PyString>>> {
        Ok(properties::find(self.record()?.properties(), name).map(|value| text(py, value)))
    }
}

/// Text as Java would read it: malformed bytes are replaced, never refused.
pub fn text(py: Python<'_>, bytes: &[u8]) -> Py<PyString> {
    PyString::new(py, &String::from_utf8_lossy(bytes)).unbind()
}

#[pymethods]
impl Message {
    /// Decode one stored record; `ValueError` says what is wrong with it. The body's CRC is checked.
    #[staticmethod]
    fn decode(data: &[u8]) -> PyResult<Self> {
        let record = Record::parse(data).map_err(|bad| PyValueError::new_err(bad.to_string()))?;
        if !record.body_is_intact() {
            return Err(PyValueError::new_err("the body does not fit its checksum"));
        }
        Ok(Self { source: Source::Copy(record.bytes().into()) })
    }

    #[getter]
    fn topic(&self, py: Python<'_>) -> PyResult<Py<PyString>> {
        Ok(text(py, self.record()?.topic()))
    }

    #[getter]
    fn queue_id(&self) -> PyResult<i32> {
        Ok(self.record()?.queue_id())
    }

    #[getter]
    fn queue_offset(&self) -> PyResult<i64> {
        Ok(self.record()?.queue_offset())
    }

    #[getter]
    fn physical_offset(&self) -> PyResult<i64> {
        Ok(self.record()?.physical_offset())
    }

    /// Bytes of the whole record.
    #[getter]
    fn size(&self) -> PyResult<usize> {
        Ok(self.record()?.size())
    }

    /// The body as stored (a compressed one stays compressed).
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.record()?.body()))
    }

    #[getter]
    fn body_crc(&self) -> PyResult<u32> {
        Ok(self.record()?.body_crc())
    }

    #[getter]
    fn flag(&self) -> PyResult<i32> {
        Ok(self.record()?.flag())
    }

    #[getter]
    fn sys_flag(&self) -> PyResult<i32> {
        Ok(self.record()?.sys_flag())
    }

    #[getter]
    fn born_timestamp(&self) -> PyResult<i64> {
        Ok(self.record()?.born_timestamp())
    }

    /// `address:port`, IPv6 in brackets.
    #[getter]
    fn born_host(&self) -> PyResult<String> {
        Ok(host(self.record()?.born_host()))
    }

    #[getter]
    fn store_timestamp(&self) -> PyResult<i64> {
        Ok(self.record()?.store_timestamp())
    }

    #[getter]
    fn store_host(&self) -> PyResult<String> {
        Ok(host(self.record()?.store_host()))
    }

    #[getter]
    fn reconsume_times(&self) -> PyResult<i32> {
        Ok(self.record()?.reconsume_times())
    }

    #[getter]
    fn prepared_offset(&self) -> PyResult<i64> {
        Ok(self.record()?.prepared_offset())
    }

    /// All properties, as a new dict.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in properties::iter(self.record()?.properties()) {
            dict.set_item(text(py, name), text(py, value))?;
        }
        Ok(dict)
    }

    /// Return one property without decoding the others.
    fn get_property(&self, py: Python<'_>, name: &str) -> PyResult<Option<Py<PyString>>> {
        self.property(py, name.as_bytes())
    }

    #[getter]
    fn tags(&self, py: Python<'_>) -> PyResult<Option<Py<PyString>>> {
        self.property(py, property::TAGS)
    }

    /// The `KEYS` property: keys separated by blanks.
    #[getter]
    fn keys(&self, py: Python<'_>) -> PyResult<Option<Py<PyString>>> {
        self.property(py, property::KEYS)
    }

    /// The client's message id (`UNIQ_KEY`).
    #[getter]
    fn unique_key(&self, py: Python<'_>) -> PyResult<Option<Py<PyString>>> {
        self.property(py, property::UNIQ_KEY)
    }

    /// RocketMQ's offset message id: store host and physical offset in hex.
    #[getter]
    fn message_id(&self) -> PyResult<String> {
        Ok(self.record()?.offset_message_id())
    }

    /// The record's bytes, as they stand in the log.
    #[getter]
    fn raw<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, self.record()?.bytes()))
    }

    fn __repr__(&self) -> PyResult<String> {
        let record = self.record()?;
        Ok(format!(
            "Message(topic={:?}, queue_id={}, queue_offset={}, body={} bytes)",
            String::from_utf8_lossy(record.topic()),
            record.queue_id(),
            record.queue_offset(),
            record.body().len()
        ))
    }
}
