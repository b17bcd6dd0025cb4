//! What a producer sends, as Python sees it.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyBytes};

use super::super::options::Options;
use super::courier::Courier;
use super::message::OutgoingMessage;
use super::promise::Promise;
use super::receipt::{Parcel, Receipt};
use super::rows::{Tally, record_batch};
use crate::client::outbox::{self, Course, OutboxConfig, Posted, Progress, Rows, Target};
use crate::message::Compression;

/// While Python waits here it looks this often whether it was interrupted.
const SIGNALS: Duration = Duration::from_millis(100);
/// A longer body is copied without the GIL.
const LONG_BYTES: usize = 64 << 10;

thread_local! {
    /// Memory for a message's properties.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Collects messages into batches, and sends them.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Outbox(pub Arc<outbox::Outbox>);

#[pymethods]
impl Outbox {
    #[new]
    fn new(courier: &Courier, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self(outbox::Outbox::new(courier.0.clone(), config(options)?)))
    }

    /// Let posts to a topic go round these queues, and chosen ones to any of `every`.
    #[pyo3(signature = (topic, queues, *, wire_topic=None, every=None))]
    fn set_route(
        &self,
        topic: &str,
        queues: Vec<(String, String, i32)>,
        wire_topic: Option<&str>,
        every: Option<Vec<(String, String, i32)>>,
    ) {
        let targets = |queues: Vec<(String, String, i32)>| -> Vec<Target> {
            let each =
                |(address, broker, queue_id): (String, String, i32)| target(&address, &broker, queue_id);
            queues.into_iter().map(each).collect()
        };
        let queues = targets(queues);
        let every = every.map_or_else(|| queues.clone(), targets);
        self.0.set_route(topic, wire_topic.unwrap_or(topic), queues, every);
    }

    /// Send a message with others of its topic.
    fn post(
        &self,
        py: Python<'_>,
        judge: Py<PyAny>,
        message: &Bound<'_, OutgoingMessage>,
    ) -> PyResult<Option<Promise>> {
        loop {
            match self.put(py, message)? {
                Posted::Accepted(receipt) => return Ok(Some(Promise::new(Receipt(receipt), judge))),
                Posted::NoRoute | Posted::NoQueue => return Ok(None),
                Posted::NoRoom(bytes) => {
                    py.detach(|| self.0.wait_for_room(bytes, Instant::now() + SIGNALS));
                    py.check_signals()?;
                }
            }
        }
    }

    /// As `post`, but `False` when there is no room.
    fn try_post<'py>(
        &self,
        py: Python<'py>,
        message: &Bound<'py, OutgoingMessage>,
    ) -> PyResult<Bound<'py, PyAny>> {
        loop {
            match self.put(py, message)? {
                Posted::Accepted(receipt) => return Ok(Bound::new(py, Receipt(receipt))?.into_any()),
                Posted::NoRoute | Posted::NoQueue => return Ok(py.None().into_bound(py)),
                Posted::NoRoom(bytes) if self.0.ask_for_room(bytes) => {
                    return Ok(PyBool::new(py, false).to_owned().into_any());
                }
                Posted::NoRoom(_) => {}
            }
        }
    }

    /// Send the rows of a record batch, each with others of its topic.
    #[pyo3(signature = (batch, tally, *, start=0, topic=None, properties=None, left_out=None, window=0))]
    #[allow(clippy::too_many_arguments)] // what all rows have in common
    fn post_arrow(
        &self,
        py: Python<'_>,
        batch: &Bound<'_, PyAny>,
        tally: &Tally,
        start: usize,
        topic: Option<String>,
        properties: Option<HashMap<String, String>>,
        left_out: Option<HashSet<String>>,
        window: usize,
    ) -> PyResult<Option<(usize, String)>> {
        let rows = Rows::of(&record_batch(batch)?)?;
        let mut marks: Vec<(String, String)> = properties.unwrap_or_default().into_iter().collect();
        marks.sort_unstable();
        let left_out = left_out.unwrap_or_default();
        let course = Course { topic, marks, left_out, window };
        let mut row = start;
        loop {
            let until = Instant::now() + SIGNALS;
            match py.detach(|| self.0.post_rows(&rows, row, &course, &tally.0, until))? {
                Progress::Over => return Ok(None),
                Progress::NoRoute(row, topic) => return Ok(Some((row, topic))),
                Progress::NotYet(next) => row = next,
            }
            py.check_signals()?;
        }
    }

    /// Send a message at once.
    #[pyo3(signature = (message, address, broker, queue_id, timeout_ms, *, oneway=false, wire_topic=None))]
    #[allow(clippy::too_many_arguments)] // a send's own
    fn send(
        &self,
        py: Python<'_>,
        message: &Bound<'_, OutgoingMessage>,
        address: &str,
        broker: &str,
        queue_id: i32,
        timeout_ms: u64,
        oneway: bool,
        wire_topic: Option<&str>,
    ) -> PyResult<Receipt> {
        let message = message.borrow();
        let topic = wire_topic.map_or_else(|| message.topic.bind(py).to_str(), Ok)?;
        let target = target(address, broker, queue_id);
        let (body, mut scratch) = (message.body.clone_ref(py), Vec::new());
        let draft = message.draft(py, body.as_bytes(py), &mut scratch)?;
        let work = || {
            let timeout = Duration::from_millis(timeout_ms);
            self.0.send(topic.into(), draft, target, timeout, oneway)
        };
        let receipt = if self.is_long(&body, py) { py.detach(work) } else { work() };
        Ok(Receipt(receipt?))
    }

    /// Send messages at once, as one batch.
    #[pyo3(signature = (messages, address, broker, queue_id, timeout_ms, *, oneway=false, wire_topic=None))]
    #[allow(clippy::too_many_arguments, clippy::needless_pass_by_value)] // a send's own, as they come
    fn send_batch(
        &self,
        py: Python<'_>,
        messages: Vec<PyRef<'_, OutgoingMessage>>,
        address: &str,
        broker: &str,
        queue_id: i32,
        timeout_ms: u64,
        oneway: bool,
        wire_topic: Option<&str>,
    ) -> PyResult<Vec<Receipt>> {
        let Some(first) = messages.first() else { return Err(outbox::Unsendable::NoMessages.into()) };
        let first_topic = first.topic.bind(py).to_str()?;
        let mut batch = self.0.batch(wire_topic.unwrap_or(first_topic).into(), oneway);
        let mut scratch = Vec::new();
        for (index, message) in messages.iter().enumerate() {
            if message.topic.bind(py).to_str()? != first_topic {
                return Err(PyValueError::new_err(format!(
                    "message {index} has another topic than the first"
                )));
            }
            batch.push(message.draft(py, message.body.as_bytes(py), &mut scratch)?)?;
        }
        let sent = batch.send(target(address, broker, queue_id), Duration::from_millis(timeout_ms))?;
        Ok(sent.into_iter().map(Receipt).collect())
    }

    /// Set the unique key of a message that has none; return its key.
    fn stamp(&self, py: Python<'_>, message: &Bound<'_, OutgoingMessage>) -> PyResult<String> {
        let properties = message.borrow_mut().properties(py)?;
        if let Some(key) = properties.get_item("UNIQ_KEY")? {
            return key.extract();
        }
        let keys = self.0.keys();
        let key = keys.key(keys.stamp()).as_str().to_owned();
        properties.set_item("UNIQ_KEY", &key)?;
        Ok(key)
    }

    /// Send a failed parcel once more; false when it is stored, given up or under way.
    fn retry(
        &self,
        py: Python<'_>,
        parcel: &Parcel,
        address: &str,
        broker: &str,
        queue_id: i32,
        timeout_ms: u64,
    ) -> PyResult<bool> {
        let parcel = self.own(parcel)?;
        let target = target(address, broker, queue_id);
        Ok(py.detach(|| parcel.retry(target, Duration::from_millis(timeout_ms))))
    }

    /// Let a parcel's failure be the end of it.
    fn give_up(&self, parcel: &Parcel) -> PyResult<()> {
        self.own(parcel)?.give_up();
        Ok(())
    }

    /// Send what is collected and wait for everything under way.
    #[pyo3(signature = (timeout=None))]
    fn flush(&self, py: Python<'_>, timeout: Option<f64>) -> PyResult<bool> {
        wait(py, timeout, |until| self.0.flush(until))
    }

    /// Messages under way.
    fn pending(&self) -> usize {
        self.0.room().messages()
    }

    /// Bytes under way.
    fn pending_bytes(&self) -> usize {
        self.0.room().bytes()
    }

    /// Posted messages that are stored, and those that were given up.
    fn counts(&self) -> (u64, u64) {
        self.0.room().counts()
    }

    fn __eq__(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    fn __hash__(&self) -> u64 {
        address_hash(&self.0)
    }
}

impl Outbox {
    #[inline]
    fn put(&self, py: Python<'_>, message: &Bound<'_, OutgoingMessage>) -> PyResult<Posted> {
        let message = message.borrow();
        let topic = message.topic.bind(py).to_str()?;
        if self.is_long(&message.body, py) {
            let (body, mut scratch) = (message.body.clone_ref(py), Vec::new());
            let draft = message.draft(py, body.as_bytes(py), &mut scratch)?;
            return Ok(py.detach(|| self.0.post(topic, draft))?);
        }
        SCRATCH.with_borrow_mut(|scratch| {
            let draft = message.draft(py, message.body.as_bytes(py), scratch)?;
            Ok(self.0.post(topic, draft)?)
        })
    }

    fn own<'a>(&self, parcel: &'a Parcel) -> PyResult<&'a Arc<outbox::Parcel>> {
        if Arc::ptr_eq(&self.0, parcel.0.outbox()) {
            return Ok(&parcel.0);
        }
        Err(PyValueError::new_err("the parcel is of another outbox: ask `parcel.outbox`"))
    }

    fn is_long(&self, body: &Py<PyBytes>, py: Python<'_>) -> bool {
        let (len, config) = (body.as_bytes(py).len(), self.0.config());
        len >= LONG_BYTES || (config.compression.is_some() && len >= config.compress_over)
    }
}

pub fn address_hash<T>(shared: &Arc<T>) -> u64 {
    let mut hasher = std::hash::DefaultHasher::new();
    Arc::as_ptr(shared).hash(&mut hasher);
    hasher.finish()
}

fn target(address: &str, broker: &str, queue_id: i32) -> Target {
    Target { address: address.into(), broker: broker.into(), queue_id }
}

/// Wait without the GIL, and look now and then whether the user has had enough.
pub fn wait(py: Python<'_>, timeout: Option<f64>, work: impl Fn(Instant) -> bool + Sync) -> PyResult<bool> {
    let timeout = timeout.map(|seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| PyValueError::new_err(format!("{seconds} is no possible time in seconds")))
    });
    let end = timeout.transpose()?.and_then(|timeout| Instant::now().checked_add(timeout));
    loop {
        let step = Instant::now() + SIGNALS;
        let until = end.map_or(step, |end| end.min(step));
        if py.detach(|| work(until)) {
            return Ok(true);
        }
        py.check_signals()?;
        if end.is_some_and(|end| Instant::now() >= end) {
            return Ok(false);
        }
    }
}

/// Build the configuration from a mapping that must hold every key and no other.
fn config(options: &Bound<'_, PyAny>) -> PyResult<OutboxConfig> {
    let options = Options::of(options)?;
    let compression: String = options.take("compression")?;
    let compression = match compression.as_str() {
        "none" => None,
        name => Some(Compression::named(name).ok_or_else(|| {
            PyValueError::new_err(format!("compression cannot be {name:?}: zlib, lz4, zstd or none"))
        })?),
    };
    let client_ip: String = options.take("client_ip")?;
    let config = OutboxConfig {
        group: options.take("group")?,
        linger: options.millis("linger_ms")?,
        batch_bytes: options.take("batch_bytes")?,
        batch_count: options.take("batch_count")?,
        room_bytes: options.take("room_bytes")?,
        compression,
        compression_level: options.take("compression_level")?,
        compress_over: options.take("compress_over")?,
        max_message_size: options.take("max_message_size")?,
        timeout: options.millis("timeout_ms")?,
        default_topic: options.take("default_topic")?,
        default_queues: options.take("default_queues")?,
        unit_mode: options.take("unit_mode")?,
        instance_id: options.take("instance_id")?,
        client_ip: client_ip
            .parse()
            .map_err(|_| PyValueError::new_err(format!("client_ip is an IP address, not {client_ip:?}")))?,
    };
    options.done()?;
    Ok(config)
}
