//! A reader of one queue, as Python sees it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyWeakrefMethods, PyWeakrefReference};

use super::super::arrow::{ArrowBatch, chosen};
use super::courier::Courier;
use super::received::{BODY_BYTES_MAX, as_list, tags_of};
use crate::arrow::Origin;
use crate::client::courier::Notice;
use crate::client::reader::{self, Amount, Filter, Gathering, ReaderConfig};
use crate::client::received::Reading;

/// How long a wait lasts before signals are looked at.
const WAIT_SLICE: Duration = Duration::from_millis(100);

/// Pulls one queue ahead of whoever takes its messages.
#[pyclass(frozen, weakref, module = "tailfin._engine")]
pub struct Reader {
    reader: Arc<reader::Reader>,
    /// Whether `Courier.take` is to return it. Whoever has batches gathered waits for them, and is not told.
    notices: bool,
}

impl Reader {
    /// The Python object of a notice, if it is a reader's; `None` when nobody has that any more.
    pub fn of_notice(py: Python<'_>, notice: Notice) -> Result<Option<Bound<'_, PyAny>>, Notice> {
        let reader = notice.downcast::<reader::Reader>()?;
        reader.state().seen();
        let face = reader.face().get().and_then(|face| face.downcast_ref::<Py<PyWeakrefReference>>());
        Ok(face.and_then(|face| face.bind(py).upgrade()))
    }

    /// Wait without the interpreter, and look at signals now and then.
    fn wait_in_slices(
        &self,
        py: Python<'_>,
        timeout: f64,
        wait: impl Fn(Duration) -> bool + Sync,
    ) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(timeout)
            .map_err(|_| PyValueError::new_err(format!("{timeout} is no possible time in seconds")))?;
        let end = Instant::now().checked_add(timeout);
        loop {
            let left = end.map_or(WAIT_SLICE, |end| end.saturating_duration_since(Instant::now()));
            if py.detach(|| wait(left.min(WAIT_SLICE))) {
                return Ok(true);
            }
            py.check_signals()?;
            if left.is_zero() || self.reader.state().is_closed() {
                return Ok(false);
            }
        }
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.reader.close();
    }
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (courier, address, *, group, topic, broker, queue_id, offset, expression="*", expression_type="TAG",
        sub_version=0, send_expression=false, tags=None, batch=32, batch_bytes=None, suspend_ms=15_000, timeout_ms=30_000,
        max_messages=1000, max_bytes=100 << 20, lite=false, namespace=None, check_crc=true, body_bytes_max=BODY_BYTES_MAX,
        until=None, gather=None))]
    #[allow(clippy::too_many_arguments)] // one keyword for each thing a pull can say
    fn new(
        courier: &Courier,
        address: &str,
        group: String,
        topic: String,
        broker: String,
        queue_id: i32,
        offset: i64,
        expression: &str,
        expression_type: &str,
        sub_version: i64,
        send_expression: bool,
        tags: Option<Vec<String>>,
        batch: i32,
        batch_bytes: Option<i32>,
        suspend_ms: u64,
        timeout_ms: u64,
        max_messages: usize,
        max_bytes: usize,
        lite: bool,
        namespace: Option<&str>,
        check_crc: bool,
        body_bytes_max: usize,
        until: Option<i64>,
        gather: Option<(usize, usize, Vec<String>)>,
    ) -> PyResult<Self> {
        if batch < 1 || max_messages < 1 || max_bytes < 1 {
            return Err(PyValueError::new_err("batch, max_messages and max_bytes must be at least 1"));
        }
        if timeout_ms <= suspend_ms {
            let text = format!("timeout_ms must be more than suspend_ms ({suspend_ms}), not {timeout_ms}");
            return Err(PyValueError::new_err(text));
        }
        let reading = Reading {
            broker: broker.as_str().into(),
            namespace: namespace.map(Into::into),
            check_crc,
            body_bytes_max,
        };
        let filter = Filter {
            expression: expression.into(),
            kind: expression_type.into(),
            version: sub_version,
            is_sent: send_expression,
            tags: tags_of(tags),
        };
        let gathering = gather
            .map(|(rows, bytes, names)| {
                let full = Amount { messages: rows.max(1), bytes: bytes.max(1) };
                let origin =
                    Origin { broker: Some(reading.broker.clone()), namespace: reading.namespace.clone() };
                chosen(Some(names)).map(|chosen| Gathering { full, chosen, origin })
            })
            .transpose()?;
        let notices = gathering.is_none();
        let config = ReaderConfig {
            group,
            topic,
            broker,
            queue_id,
            filter,
            batch,
            batch_bytes,
            suspend: Duration::from_millis(suspend_ms),
            timeout: Duration::from_millis(timeout_ms),
            limit: Amount { messages: max_messages, bytes: max_bytes },
            is_lite: lite,
            until: until.unwrap_or(i64::MAX),
            gathering,
        };
        let reader = reader::Reader::new(courier.0.clone(), config, reading, address.into(), offset);
        Ok(Self { reader: Arc::new(reader), notices })
    }

    /// Start, go on after a pause, or go on after trouble.
    #[pyo3(signature = (*, offset=None, address=None))]
    fn resume(slf: &Bound<'_, Self>, offset: Option<i64>, address: Option<&str>) -> PyResult<()> {
        let Self { reader, notices } = slf.get();
        if *notices && reader.face().get().is_none() {
            let face = PyWeakrefReference::new(slf)?.unbind();
            // Two threads may come here; they would tell of the same object.
            let _ = reader.face().set(Box::new(face));
        }
        reader.resume(offset, address.map(Into::into));
        Ok(())
    }

    /// Begin no more pulls; what is under way still arrives.
    fn pause(&self) {
        self.reader.state().pause();
    }

    /// Begin again at `offset`; what is ready or under way is dropped.
    fn seek(&self, offset: i64) {
        self.reader.seek(offset);
    }

    /// Stop for good; what is ready or under way is dropped.
    fn close(&self) {
        self.reader.close();
    }

    /// Take the next messages, up to `limit`.
    #[pyo3(signature = (limit=1024, *, release=false))]
    fn take<'py>(&self, py: Python<'py>, limit: usize, release: bool) -> PyResult<Bound<'py, PyList>> {
        as_list(py, self.reader.take(limit, release))
    }

    /// Say that messages were dealt with, which makes room for others.
    fn release(&self, messages: usize, bytes: usize) {
        self.reader.release(Amount { messages, bytes });
    }

    /// Wait for messages or trouble; return whether there is something.
    fn wait(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        self.wait_in_slices(py, timeout, |slice| self.reader.wait(slice))
    }

    /// Wait for a whole batch of what is gathered, and take it.
    #[pyo3(signature = (timeout=30.0))]
    fn collect(&self, py: Python<'_>, timeout: f64) -> PyResult<Option<ArrowBatch>> {
        self.wait_in_slices(py, timeout, |slice| self.reader.wait(slice))?;
        Ok(self.reader.collect().and_then(|columns| ArrowBatch::of(py, columns)))
    }

    /// Whether everything before `until` was pulled and taken.
    #[getter]
    fn finished(&self) -> bool {
        self.reader.state().is_finished()
    }

    /// Why it stopped: code, remark, and where the broker would go on.
    #[getter]
    fn trouble(&self) -> Option<(i32, String, i64)> {
        let state = self.reader.state();
        state.trouble().map(|trouble| (trouble.code, trouble.remark.clone(), trouble.next_offset))
    }

    #[getter]
    fn topic(&self) -> &str {
        &self.reader.config().topic
    }

    #[getter]
    fn broker(&self) -> &str {
        &self.reader.config().broker
    }

    #[getter]
    fn queue_id(&self) -> i32 {
        self.reader.config().queue_id
    }

    /// Where the next pull begins.
    #[getter]
    fn offset(&self) -> i64 {
        self.reader.state().offset()
    }

    /// Messages that can be taken.
    #[getter]
    fn ready(&self) -> usize {
        self.reader.state().ready()
    }

    /// Messages and bytes that count for the limits: those that are ready, and those taken and not released.
    #[getter]
    fn held(&self) -> (usize, usize) {
        let held = self.reader.state().held();
        (held.messages, held.bytes)
    }

    #[getter]
    fn min_offset(&self) -> Option<i64> {
        self.reader.state().bounds().map(|bounds| bounds.0)
    }

    #[getter]
    fn max_offset(&self) -> Option<i64> {
        self.reader.state().bounds().map(|bounds| bounds.1)
    }

    /// The id of the broker that the last answer said to ask next time; 0 is the master.
    #[getter]
    fn suggested_broker_id(&self) -> Option<i64> {
        self.reader.state().suggested_broker()
    }

    #[getter]
    fn running(&self) -> bool {
        self.reader.state().is_running()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.reader.state().is_closed()
    }

    fn __repr__(&self) -> String {
        let state = self.reader.state();
        let config = self.reader.config();
        format!(
            "Reader(topic={:?}, broker={:?}, queue_id={}, offset={}, ready={})",
            config.topic,
            config.broker,
            config.queue_id,
            state.offset(),
            state.ready()
        )
    }
}
