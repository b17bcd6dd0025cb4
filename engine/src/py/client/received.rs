//! A received message in Python: a view into the answer it came in, which decodes what is asked for.

use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, OnceLock};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBytes, PyDict, PyList, PyString};

use super::super::errors::damaged_message;
use super::super::message::text;
use crate::client::received::{Answer, Damage, Reading, Received, Tags};
use crate::message::host::shown as host;
use crate::message::layout::property;
use crate::message::{Compression, Record};

/// What a compressed body may grow to, unless told otherwise.
pub const BODY_BYTES_MAX: usize = 64 << 20;
/// Bytes of a body that its message shows when it is printed.
const SHOWN_BYTES: usize = 40;

/// One message as it was received.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct ReceivedMessage {
    message: Received,
    /// Python's own lock would leave and enter the interpreter each time.
    body: OnceLock<Py<PyBytes>>,
    /// Tries since it came here, which the broker does not know of.
    tries_here: AtomicI32,
}

impl ReceivedMessage {
    pub fn new(message: Received) -> Self {
        Self { message, body: OnceLock::new(), tries_here: AtomicI32::new(0) }
    }

    fn record(&self) -> Record<'_> {
        self.message.record()
    }

    fn value(&self, py: Python<'_>, name: &[u8]) -> Option<Py<PyString>> {
        self.message.property(name).map(|value| text(py, &value))
    }

    fn damaged(&self, damage: &Damage) -> PyErr {
        damaged_message(format!(
            "message {} of {}, queue {} on {}, cannot be read: {damage}",
            self.message.queue_offset(),
            self.message.topic(),
            self.record().queue_id(),
            self.message.broker(),
        ))
    }
}

#[pymethods]
impl ReceivedMessage {
    /// The topic that was subscribed to, also when the message comes from the group's retry topic.
    #[getter]
    fn topic(&self, py: Python<'_>) -> Py<PyString> {
        PyString::new(py, &self.message.topic()).unbind()
    }

    /// The topic whose queue it was read from.
    #[getter]
    fn stored_topic(&self, py: Python<'_>) -> Py<PyString> {
        text(py, self.record().topic())
    }

    #[getter]
    fn broker(&self) -> &str {
        self.message.broker()
    }

    #[getter]
    fn queue_id(&self) -> i32 {
        self.record().queue_id()
    }

    #[getter]
    fn queue_offset(&self) -> i64 {
        self.message.queue_offset()
    }

    #[getter]
    fn physical_offset(&self) -> i64 {
        self.record().physical_offset()
    }

    /// The queue it was read from, as a `tailfin.Queue`.
    #[getter]
    fn queue<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        static QUEUE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let queue = QUEUE.import(py, "tailfin.client.queues", "Queue")?;
        queue.call1((self.stored_topic(py), self.broker(), self.queue_id()))
    }

    /// Bytes it takes here, as the limits of a reader count them.
    #[getter]
    fn size(&self) -> usize {
        self.message.size()
    }

    /// The body as it was sent; decompressed and checked at the first look.
    #[getter]
    fn body(&self, py: Python<'_>) -> PyResult<Py<PyBytes>> {
        if let Some(body) = self.body.get() {
            return Ok(body.clone_ref(py));
        }
        let body = self.message.body().map_err(|damage| self.damaged(&damage))?;
        let body = PyBytes::new(py, &body).unbind();
        Ok(self.body.get_or_init(|| body).clone_ref(py))
    }

    #[getter]
    fn flag(&self) -> i32 {
        self.message.flag()
    }

    #[getter]
    fn sys_flag(&self) -> i32 {
        self.record().sys_flag()
    }

    #[getter]
    fn born_timestamp(&self) -> i64 {
        self.record().born_timestamp()
    }

    #[getter]
    fn born_host(&self) -> String {
        host(self.record().born_host())
    }

    #[getter]
    fn store_timestamp(&self) -> i64 {
        self.record().store_timestamp()
    }

    #[getter]
    fn store_host(&self) -> String {
        host(self.record().store_host())
    }

    /// How often it was tried before; who tries it again on the spot counts that here.
    #[getter]
    fn reconsume_times(&self) -> i32 {
        self.record().reconsume_times().saturating_add(self.tries_here.load(Ordering::Relaxed))
    }

    #[setter]
    fn set_reconsume_times(&self, times: i32) {
        self.tries_here.store(times.saturating_sub(self.record().reconsume_times()), Ordering::Relaxed);
    }

    #[getter]
    fn prepared_offset(&self) -> i64 {
        self.record().prepared_offset()
    }

    /// All properties, as a new dict.
    #[getter]
    fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let dict = PyDict::new(py);
        for (name, value) in self.message.properties() {
            dict.set_item(text(py, &name), text(py, &value))?;
        }
        Ok(dict)
    }

    /// Return one property without decoding the others.
    fn property(&self, py: Python<'_>, name: &str) -> Option<Py<PyString>> {
        self.value(py, name.as_bytes())
    }

    #[getter]
    fn tags(&self, py: Python<'_>) -> Option<Py<PyString>> {
        self.value(py, property::TAGS)
    }

    #[getter]
    fn keys<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let keys = self.message.property(property::KEYS).unwrap_or_default();
        let keys = keys.split(|&byte| byte == b' ').filter(|key| !key.is_empty());
        PyList::new(py, keys.map(|key| text(py, key)).collect::<Vec<_>>())
    }

    /// The id its sender gave it (`UNIQ_KEY`), else the broker's.
    #[getter]
    fn message_id(&self) -> String {
        self.message.message_id()
    }

    /// The broker's id: store host and physical offset in hex.
    #[getter]
    fn offset_message_id(&self) -> String {
        self.record().offset_message_id()
    }

    #[getter]
    fn transaction_id(&self) -> Option<String> {
        self.message.transaction_id()
    }

    fn __repr__(&self) -> String {
        let record = self.record();
        let body = match self.message.body() {
            Ok(body) if body.len() <= SHOWN_BYTES => format!("b'{}'", body.escape_ascii()),
            Ok(body) => format!("b'{}'... ({} bytes)", body[..SHOWN_BYTES].escape_ascii(), body.len()),
            Err(damage) => format!("<{damage}>"),
        };
        let named = |name: &str, value: &[u8]| {
            let value = self.message.property(value)?;
            Some(format!(", {name}={:?}", String::from_utf8_lossy(&value)))
        };
        format!(
            "ReceivedMessage(topic={:?}, broker={:?}, queue_id={}, queue_offset={}{}{}, message_id={:?}, body={body})",
            self.message.topic(),
            self.message.broker(),
            record.queue_id(),
            self.message.queue_offset(),
            named("tags", property::TAGS).unwrap_or_default(),
            named("keys", property::KEYS).unwrap_or_default(),
            self.message.message_id(),
        )
    }
}

/// The tags a subscription names, as they are compared.
pub fn tags_of(tags: Option<Vec<String>>) -> Tags {
    tags.unwrap_or_default().into_iter().map(|tag| tag.into_bytes().into()).collect()
}

/// Decode the records of an answer: of a pull, a query, a message that was looked up.
#[pyfunction]
#[pyo3(signature = (data, *, broker="", namespace=None, tags=None, check_crc=true, body_bytes_max=BODY_BYTES_MAX))]
pub fn decode_messages<'py>(
    py: Python<'py>,
    data: &[u8],
    broker: &str,
    namespace: Option<&str>,
    tags: Option<Vec<String>>,
    check_crc: bool,
    body_bytes_max: usize,
) -> PyResult<Bound<'py, PyList>> {
    let namespace = namespace.map(Into::into);
    let reading = Reading { broker: broker.into(), namespace, check_crc, body_bytes_max };
    let answer =
        Arc::new(Answer { reading: reading.into(), bytes: data.into(), bounds: None, offset_delta: 0 });
    match answer.messages(i64::MIN..i64::MAX, &tags_of(tags)) {
        (messages, None) => as_list(py, messages),
        (messages, Some(bad)) => {
            Err(PyValueError::new_err(format!("after {} messages there is none: {bad}", messages.len())))
        }
    }
}

pub fn as_list(py: Python<'_>, messages: Vec<Received>) -> PyResult<Bound<'_, PyList>> {
    let list = PyList::new(py, messages.into_iter().map(ReceivedMessage::new))?;
    for message in &list {
        // SAFETY: it is a whole object. It refers to nothing but bytes, so it is in no cycle, and the collector need
        // not walk over thousands of them again and again.
        unsafe { pyo3::ffi::PyObject_GC_UnTrack(message.as_ptr().cast()) };
    }
    Ok(list)
}

/// Compress a body; `"zlib"`, `"lz4"` or `"zstd"`.
#[pyfunction]
#[pyo3(signature = (body, compression, level=5))]
pub fn compress_body<'py>(
    py: Python<'py>,
    body: &[u8],
    compression: &str,
    level: u32,
) -> PyResult<(Bound<'py, PyBytes>, i32)> {
    let format = Compression::named(compression).ok_or_else(|| {
        PyValueError::new_err(format!("compression {compression:?} is none of zlib, lz4, zstd"))
    })?;
    let packed = py.detach(|| format.compress(body, level));
    Ok((PyBytes::new(py, &packed), format.sys_flag()))
}
