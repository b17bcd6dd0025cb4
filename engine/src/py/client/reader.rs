//! A reader of one queue, as Python sees it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyWeakrefMethods, PyWeakrefReference};

use super::courier::Courier;
use super::received::{BODY_BYTES_MAX, as_list, tags_of};
use crate::client::courier::Notice;
use crate::client::reader::{self, Amount, Filter, ReaderConfig};
use crate::client::received::Reading;

/// How long a wait lasts before signals are looked at.
const WAIT_SLICE: Duration = Duration::from_millis(100);

/// Pulls one queue ahead of whoever takes its messages.
#[pyclass(frozen, weakref, module = "tailfin._engine")]
pub struct Reader(Arc<reader::Reader>);

impl Reader {
    /// The Python object of a notice, if it is a reader's; `None` when nobody has that any more.
    pub fn of_notice(py: Python<'_>, notice: Notice) -> Result<Option<Bound<'_, PyAny>>, Notice> {
        let reader = notice.downcast::<reader::Reader>()?;
        reader.state().seen();
        let face = reader.face().get().and_then(|face| face.downcast_ref::<Py<PyWeakrefReference>>());
        Ok(face.and_then(|face| face.bind(py).upgrade()))
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        self.0.close();
    }
}

#[pymethods]
impl Reader {
    #[new]
    #[pyo3(signature = (courier, address, *, group, topic, broker, queue_id, offset, expression="*", expression_type="TAG",
        sub_version=0, send_expression=false, tags=None, batch=32, batch_bytes=None, suspend_ms=15_000, timeout_ms=30_000,
        max_messages=1000, max_bytes=100 << 20, lite=false, namespace=None, check_crc=true, body_bytes_max=BODY_BYTES_MAX))]
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
        };
        let reader = reader::Reader::new(courier.0.clone(), config, reading, address.into(), offset);
        Ok(Self(Arc::new(reader)))
    }

    /// Start, go on after a pause, or go on after trouble.
    #[pyo3(signature = (*, offset=None, address=None))]
    fn resume(slf: &Bound<'_, Self>, offset: Option<i64>, address: Option<&str>) -> PyResult<()> {
        let reader = &slf.get().0;
        if reader.face().get().is_none() {
            let face = PyWeakrefReference::new(slf)?.unbind();
            // Two threads may come here; they would tell of the same object.
            let _ = reader.face().set(Box::new(face));
        }
        reader.resume(offset, address.map(Into::into));
        Ok(())
    }

    /// Begin no more pulls; what is under way still arrives.
    fn pause(&self) {
        self.0.state().pause();
    }

    /// Begin again at `offset`; what is ready or under way is dropped.
    fn seek(&self, offset: i64) {
        self.0.seek(offset);
    }

    /// Stop for good; what is ready or under way is dropped.
    fn close(&self) {
        self.0.close();
    }

    /// Take the next messages, up to `limit`.
    #[pyo3(signature = (limit=1024, *, release=false))]
    fn take<'py>(&self, py: Python<'py>, limit: usize, release: bool) -> PyResult<Bound<'py, PyList>> {
        as_list(py, self.0.take(limit, release))
    }

    /// Say that messages were dealt with, which makes room for others.
    fn release(&self, messages: usize, bytes: usize) {
        self.0.release(Amount { messages, bytes });
    }

    /// Wait for messages or trouble; return whether there is something.
    fn wait(&self, py: Python<'_>, timeout: f64) -> PyResult<bool> {
        let timeout = Duration::try_from_secs_f64(timeout)
            .map_err(|_| PyValueError::new_err(format!("{timeout} is no possible time in seconds")))?;
        let end = Instant::now().checked_add(timeout);
        loop {
            let left = end.map_or(WAIT_SLICE, |end| end.saturating_duration_since(Instant::now()));
            if py.detach(|| self.0.wait(left.min(WAIT_SLICE))) {
                return Ok(true);
            }
            py.check_signals()?;
            if left.is_zero() || self.0.state().is_closed() {
                return Ok(false);
            }
        }
    }

    /// Let the pulls to come tell the broker that the group has consumed up to `offset`.
    fn set_commit(&self, offset: Option<i64>) {
        self.0.state().set_commit(offset);
    }

    /// Why it stopped: code, remark, and where the broker would go on.
    #[getter]
    fn trouble(&self) -> Option<(i32, String, i64)> {
        let state = self.0.state();
        state.trouble().map(|trouble| (trouble.code, trouble.remark.clone(), trouble.next_offset))
    }

    #[getter]
    fn topic(&self) -> &str {
        &self.0.config().topic
    }

    #[getter]
    fn broker(&self) -> &str {
        &self.0.config().broker
    }

    #[getter]
    fn queue_id(&self) -> i32 {
        self.0.config().queue_id
    }

    /// Where the next pull begins.
    #[getter]
    fn offset(&self) -> i64 {
        self.0.state().offset()
    }

    /// Messages that can be taken.
    #[getter]
    fn ready(&self) -> usize {
        self.0.state().ready()
    }

    /// Messages and bytes that count for the limits: those that are ready, and those taken and not released.
    #[getter]
    fn held(&self) -> (usize, usize) {
        let held = self.0.state().held();
        (held.messages, held.bytes)
    }

    #[getter]
    fn min_offset(&self) -> Option<i64> {
        self.0.state().bounds().map(|bounds| bounds.0)
    }

    #[getter]
    fn max_offset(&self) -> Option<i64> {
        self.0.state().bounds().map(|bounds| bounds.1)
    }

    /// The id of the broker that the last answer said to ask next time; 0 is the master.
    #[getter]
    fn suggested_broker_id(&self) -> Option<i64> {
        self.0.state().suggested_broker()
    }

    #[getter]
    fn running(&self) -> bool {
        self.0.state().is_running()
    }

    #[getter]
    fn closed(&self) -> bool {
        self.0.state().is_closed()
    }

    fn __repr__(&self) -> String {
        let state = self.0.state();
        let config = self.0.config();
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
