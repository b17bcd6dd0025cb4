//! Delivery of delayed messages, on Python's orders.

use std::collections::BTreeMap;
use std::path::PathBuf;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::enter::enter;
use super::store::LogStore;
use crate::delay::levels::{Levels, Order};
use crate::delay::onward::Counts;
use crate::delay::timer::{self, TimerConfig};

/// A timer log must hold some entries.
const FILE_BYTES_MIN: u64 = 128;

/// Messages stored and their bytes, by topic.
pub type PyCounts = Vec<(String, u64, u64)>;

pub fn counted(counts: Counts) -> PyCounts {
    counts.into_iter().map(|(topic, (messages, bytes))| (topic, messages, bytes)).collect()
}

/// Lets messages of delay levels go on to where they belong.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct DelayLevels {
    levels: Levels,
}

#[pymethods]
impl DelayLevels {
    #[new]
    #[pyo3(signature = (store, *, delivered_from=None))]
    fn new(py: Python<'_>, store: &LogStore, delivered_from: Option<u64>) -> PyResult<Self> {
        let store = store.shared();
        Ok(Self { levels: enter(py, || Levels::new(store, delivered_from))? })
    }

    /// Let what is due of a queue go on; return its new head, when that is due, what was stored, and trouble.
    #[pyo3(signature = (topic, queue_id, offset, *, now, delay, limit))]
    #[allow(clippy::too_many_arguments)] // keywords
    fn deliver(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: i32,
        offset: i64,
        now: i64,
        delay: i64,
        limit: usize,
    ) -> PyResult<(i64, Option<i64>, PyCounts, Option<String>)> {
        let order =
            Order { topic: topic.as_bytes(), queue_id, offset, now, delay_ms: delay, count_max: limit };
        let progress = enter(py, || self.levels.deliver(&order))?;
        Ok((progress.offset, progress.due, counted(progress.counts), progress.refusal))
    }

    /// Deliveries found in the log at the start that were not met again yet.
    #[getter]
    fn delivered_before(&self) -> usize {
        self.levels.delivered_before()
    }

    /// Say that all that was due at the start is dealt with.
    fn forget_delivered(&self) {
        self.levels.forget();
    }
}

/// Lets timed messages go on to where they belong.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Timer {
    timer: timer::Timer,
}

#[pymethods]
impl Timer {
    #[new]
    #[pyo3(signature = (store, *, wheel, log, checkpoint, log_file_size, precision, roll_slots, waiting, now))]
    #[allow(clippy::too_many_arguments)] // keywords
    fn new(
        py: Python<'_>,
        store: &LogStore,
        wheel: PathBuf,
        log: PathBuf,
        checkpoint: PathBuf,
        log_file_size: u64,
        precision: i64,
        roll_slots: i64,
        waiting: BTreeMap<String, i64>,
        now: i64,
    ) -> PyResult<Self> {
        if precision <= 0 || log_file_size < FILE_BYTES_MIN {
            let text =
                format!("a precision of {precision} ms and timer logs of {log_file_size} bytes cannot work");
            return Err(PyValueError::new_err(text));
        }
        let config = TimerConfig {
            wheel_path: wheel,
            log_dir: log,
            checkpoint_path: checkpoint,
            log_file_bytes: log_file_size,
            precision_ms: precision,
            roll_slots,
        };
        let store = store.shared();
        Ok(Self { timer: enter(py, || timer::Timer::open(store, config, waiting, now))? })
    }

    /// Take in what has arrived, and let what is due go on; return whether that is all for now, what was stored,
    /// and trouble.
    #[pyo3(signature = (now, *, limit, enqueue=true, dequeue=true))]
    fn work(
        &self,
        py: Python<'_>,
        now: i64,
        limit: usize,
        enqueue: bool,
        dequeue: bool,
    ) -> PyResult<(bool, PyCounts, Option<String>)> {
        let order = timer::Order { enqueue, dequeue, count_max: limit };
        let worked = enter(py, || self.timer.work(now, order))?;
        Ok((worked.idle, counted(worked.counts), worked.refusal))
    }

    /// Make what was done so far survive a crash; false when there was nothing to write.
    #[pyo3(signature = (*, even_if_idle=false))]
    fn flush(&self, py: Python<'_>, even_if_idle: bool) -> PyResult<bool> {
        enter(py, || self.timer.flush(even_if_idle))
    }

    /// How far it is, in the 56 bytes that RocketMQ's file and its slaves know.
    #[getter]
    fn checkpoint<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.timer.checkpoint().image())
    }

    /// The time whose messages are delivered next.
    #[getter]
    fn read_time(&self) -> i64 {
        self.timer.checkpoint().read_time_ms
    }

    /// Messages that arrived and are not in the wheel yet.
    #[getter]
    fn behind(&self) -> i64 {
        self.timer.behind()
    }

    /// Messages that wait for the slot of a time.
    fn waiting_at(&self, time: i64) -> PyResult<i32> {
        Ok(self.timer.waiting_at(time)?)
    }

    /// Waiting messages by the topic they belong to.
    fn waiting(&self) -> BTreeMap<String, i64> {
        self.timer.waiting()
    }

    /// Remove files of the timer log whose messages are gone; return how many.
    fn remove_expired(&self, py: Python<'_>) -> PyResult<usize> {
        enter(py, || self.timer.remove_expired())
    }
}
