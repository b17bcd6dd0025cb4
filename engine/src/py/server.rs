//! The remoting server in Python. Its threads never touch Python: they leave items, and Python takes them.

use std::sync::Arc;
use std::time::Duration;

use bumpalo::Bump;
use parking_lot::Mutex;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use super::enter::enter;
use super::hot::HotPath;
use super::server_options::server_config;
use crate::net::encode::HEADER_BYTES_MAX;
use crate::net::hot::{Hot, Reply, ReplyHandle};
use crate::net::inbox::{Item, OwnedFrame};
use crate::net::outgoing::Body;
use crate::net::peer::Peer;
use crate::net::server::{self, Place};
use crate::net::text::Value;

/// One frame from a client that the engine leaves to Python.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Request {
    frame: OwnedFrame,
    peer: Arc<Peer>,
    /// Until it is answered, or the hot path has taken it.
    due: Mutex<Option<Due>>,
}

struct Due {
    handle: ReplyHandle,
    /// Held for its end: until then it counts as under way.
    _place: Place,
}

#[pymethods]
impl Request {
    /// Number of the connection, unique for the life of the process.
    #[getter]
    fn connection(&self) -> u64 {
        self.peer.connection()
    }

    #[getter]
    fn code(&self) -> i32 {
        self.frame.code
    }

    #[getter]
    fn opaque(&self) -> i32 {
        self.frame.opaque
    }

    #[getter]
    fn flag(&self) -> i32 {
        self.frame.flag
    }

    #[getter]
    fn oneway(&self) -> bool {
        self.frame.is_oneway()
    }

    #[getter]
    fn version(&self) -> i32 {
        self.frame.version
    }

    /// Name of the client's language; `OTHER` for one we do not know.
    #[getter]
    fn language(&self) -> &'static str {
        self.frame.language.name()
    }

    #[getter]
    fn remark(&self) -> Option<String> {
        remark(&self.frame)
    }

    /// The header's `extFields`, as a new dict.
    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fields(py, Some(&self.frame))
    }

    /// The body, empty when there is none.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.frame.body())
    }

    /// `address:port` of the client (of the real one behind a PROXY header).
    #[getter]
    fn peer(&self) -> String {
        self.peer.remote().to_string()
    }

    /// `address:port` the client dialled.
    #[getter]
    fn local(&self) -> String {
        self.peer.local().to_string()
    }

    fn __repr__(&self) -> String {
        format!("Request(code={}, opaque={}, peer={})", self.frame.code, self.frame.opaque, self.peer())
    }
}

/// Something that happened to a connection: `"opened"`, `"closed"`, or `"answered"`.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Event {
    kind: &'static str,
    peer: Arc<Peer>,
    opaque: i32,
    answer: Option<OwnedFrame>,
    reason: Option<&'static str>,
}

#[pymethods]
impl Event {
    #[getter]
    fn kind(&self) -> &'static str {
        self.kind
    }

    #[getter]
    fn connection(&self) -> u64 {
        self.peer.connection()
    }

    #[getter]
    fn peer(&self) -> String {
        self.peer.remote().to_string()
    }

    #[getter]
    fn opaque(&self) -> i32 {
        self.opaque
    }

    #[getter]
    fn code(&self) -> Option<i32> {
        self.answer.as_ref().map(|frame| frame.code)
    }

    /// What the response says, or why we closed the connection.
    #[getter]
    fn remark(&self) -> Option<String> {
        self.answer.as_ref().map_or_else(|| self.reason.map(str::to_owned), remark)
    }

    #[getter]
    fn fields<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        fields(py, self.answer.as_ref())
    }

    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.answer.as_ref().map_or(&[], OwnedFrame::body))
    }

    fn __repr__(&self) -> String {
        format!("Event({}, connection={}, peer={})", self.kind, self.connection(), self.peer())
    }
}

/// A remoting server: sockets, frames, TLS, and the hot requests, on threads that never touch Python.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Server {
    server: server::Server,
    frame_bytes_max: usize,
}

#[pymethods]
impl Server {
    #[new]
    #[pyo3(signature = (options, hot=None))]
    fn new(py: Python<'_>, options: &Bound<'_, PyAny>, hot: Option<&HotPath>) -> PyResult<Self> {
        let hot = hot.map(|hot| hot.shared() as Arc<dyn Hot>);
        let config = server_config(options)?;
        let frame_bytes_max = config.frame_bytes_max;
        let server = enter(py, || server::Server::start(config, hot))?;
        Ok(Self { server, frame_bytes_max })
    }

    /// Bind (port 0: any free one), accept from now on, and return the port. May be called again.
    fn listen(&self, py: Python<'_>, host: &str, port: u16) -> PyResult<u16> {
        enter(py, || self.server.listen(host, port))
    }

    /// Descriptor that is readable while `take` has something to give.
    fn fileno(&self) -> i32 {
        self.server.inbox().fd()
    }

    /// Take what waits for Python: oldest first, but no kind of request keeps the others waiting.
    #[pyo3(signature = (limit=256))]
    fn take<'py>(&self, py: Python<'py>, limit: usize) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        for item in py.detach(|| self.server.take(limit)) {
            let event = |kind, peer, opaque, answer, reason| Event { kind, peer, opaque, answer, reason };
            match item {
                Item::Request(frame, handle) => {
                    let peer = handle.peer().clone();
                    let due = Due { handle, _place: self.server.place(&frame) };
                    list.append(Bound::new(py, Request { frame, peer, due: Mutex::new(Some(due)) })?)?;
                }
                Item::Opened(peer) => list.append(Bound::new(py, event("opened", peer, 0, None, None))?)?,
                Item::Closed(peer, reason) => {
                    list.append(Bound::new(py, event("closed", peer, 0, None, reason))?)?;
                }
                Item::Answered(peer, opaque, answer) => {
                    list.append(Bound::new(py, event("answered", peer, opaque, answer, None))?)?;
                }
            }
        }
        Ok(list)
    }

    /// Answer a request; nothing happens when it was oneway or its connection is gone.
    #[pyo3(signature = (request, code, *, remark=None, fields=None, body=b"".as_slice()))]
    fn answer(
        &self,
        request: &Request,
        code: i32,
        remark: Option<&str>,
        fields: Option<&Bound<'_, PyAny>>,
        body: &[u8],
    ) -> PyResult<()> {
        let texts = texts(fields)?;
        self.check_size(&texts, remark, body)?;
        // Taken only now: after an error the request can still be answered.
        let Some(due) = request.due.lock().take() else { return Ok(()) };
        due.handle.reply(&Reply { code, remark, fields: &values(&texts), body: Body::Bytes(body) });
        Ok(())
    }

    /// Let the hot path serve a request after all, now that its rulebook has what was missing.
    fn hand_back(&self, py: Python<'_>, request: &Request) -> bool {
        let Some(due) = request.due.lock().take() else { return true };
        let taken = py.detach(|| self.server.hand_back(&request.frame, &due.handle));
        if !taken {
            *request.due.lock() = Some(due);
        }
        taken
    }

    /// Send the client a request of ours; return its opaque, or None when the connection is gone.
    #[pyo3(signature = (connection, code, *, fields=None, body=b"".as_slice(), oneway=false))]
    fn call(
        &self,
        connection: u64,
        code: i32,
        fields: Option<&Bound<'_, PyAny>>,
        body: &[u8],
        oneway: bool,
    ) -> PyResult<Option<i32>> {
        let texts = texts(fields)?;
        self.check_size(&texts, None, body)?;
        Ok(self.server.call(connection, code, &values(&texts), body, oneway))
    }

    /// Wait no longer for the response to a request of ours; one that still comes is ignored.
    fn forget_call(&self, connection: u64, opaque: i32) {
        self.server.forget_call(connection, opaque);
    }

    fn disconnect(&self, connection: u64) {
        self.server.disconnect(connection);
    }

    /// Read the TLS files again, for connections to come; `ValueError` when they do not fit together.
    fn reload_tls(&self, py: Python<'_>) -> PyResult<()> {
        Ok(py.detach(|| self.server.reload_tls())?)
    }

    fn connections(&self) -> usize {
        self.server.connections()
    }

    /// Counters since start: connections, frames and bytes both ways, refused frames, paused reads.
    fn stats<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let stats = PyDict::new(py);
        stats.set_item("connections", self.server.connections())?;
        for (name, count) in self.server.counters().named() {
            stats.set_item(name, count)?;
        }
        Ok(stats)
    }

    /// Stop accepting, answer what is under way for up to `drain` seconds, close everything.
    #[pyo3(signature = (drain=3.0))]
    fn stop(&self, py: Python<'_>, drain: f64) -> PyResult<()> {
        let drain = Duration::try_from_secs_f64(drain)
            .map_err(|_| PyValueError::new_err(format!("drain cannot be {drain}")))?;
        py.detach(|| self.server.stop(drain));
        Ok(())
    }
}

impl Server {
    /// A frame that no client would accept is our mistake, not the client's.
    fn check_size(&self, texts: &[(String, String)], remark: Option<&str>, body: &[u8]) -> PyResult<()> {
        // Each byte of text can become six in JSON; the rest of a header is short.
        let text: usize = texts.iter().map(|(key, value)| key.len() + value.len() + 6).sum();
        let header = 6 * (text + remark.map_or(0, str::len)) + 256;
        if texts.iter().any(|(key, _)| key.len() > i16::MAX as usize)
            || header > HEADER_BYTES_MAX
            || header + body.len() > self.frame_bytes_max
        {
            return Err(PyValueError::new_err(format!(
                "a frame has at most {} bytes; this one would have about {}",
                self.frame_bytes_max,
                header + body.len()
            )));
        }
        Ok(())
    }
}

fn texts(fields: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, String)>> {
    let Some(fields) = fields else { return Ok(Vec::new()) };
    if let Ok(dict) = fields.cast::<PyDict>() {
        return dict.iter().map(|(key, value)| Ok((key.extract()?, value.extract()?))).collect();
    }
    fields.call_method0("items")?.try_iter()?.map(|item| item?.extract()).collect()
}

fn values(texts: &[(String, String)]) -> Vec<(&str, Value<'_>)> {
    texts.iter().map(|(key, value)| (key.as_str(), Value::Text(value))).collect()
}

fn remark(frame: &OwnedFrame) -> Option<String> {
    let bump = Bump::new();
    frame.decode(&bump).ok()?.header.remark.map(|text| text.to_str().into_owned())
}

fn fields<'py>(py: Python<'py>, frame: Option<&OwnedFrame>) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    let bump = Bump::new();
    if let Some(Ok(frame)) = frame.map(|frame| frame.decode(&bump)) {
        for field in frame.header.fields {
            dict.set_item(field.key.to_str(), field.value.to_str())?;
        }
    }
    Ok(dict)
}
