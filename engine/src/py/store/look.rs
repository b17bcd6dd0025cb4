//! Looking for messages, and waiting for them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::super::enter::enter;
use super::super::message::Message;
use super::LogStore;
use crate::error::Result;
use crate::log::queue::ConsumeQueue;
use crate::log::view::Slice;
use crate::message::ids;

/// Waiting calls look for signals this often, so that Ctrl-C works.
const SIGNAL_CHECK: Duration = Duration::from_millis(100);

impl LogStore {
    pub(super) fn queue(&self, topic: &str, queue_id: i32) -> PyResult<Option<Arc<ConsumeQueue>>> {
        Ok(self.open()?.derived.queues.get(topic.as_bytes(), queue_id))
    }

    /// The queue, once everything acknowledged to it is in it: a writer reads what it wrote.
    pub(super) fn settled_queue(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: i32,
    ) -> PyResult<Option<Arc<ConsumeQueue>>> {
        let queue = self.queue(topic, queue_id)?;
        if queue.as_ref().is_some_and(|queue| queue.next() > queue.max_offset()) {
            py.detach(|| self.store.dispatcher.catch_up());
        }
        Ok(queue)
    }

    pub(super) fn wait_until_there(
        &self,
        py: Python<'_>,
        topic: &str,
        queue_id: i32,
        offset: i64,
        timeout: Option<f64>,
    ) -> PyResult<bool> {
        let deadline = timeout.map(deadline_in).transpose()?;
        let topic = topic.as_bytes();
        loop {
            let store = self.open()?;
            let slice_end = Instant::now() + SIGNAL_CHECK;
            let until = deadline.map_or(slice_end, |deadline| deadline.min(slice_end));
            if py.detach(|| store.wait_for(topic, queue_id, offset, until)) {
                return Ok(true);
            }
            py.check_signals()?;
            if deadline.is_some_and(|deadline| Instant::now() >= deadline) {
                return Ok(false);
            }
        }
    }

    pub(super) fn records_from(
        &self,
        py: Python<'_>,
        physical_offset: u64,
        limit: usize,
        max_bytes: usize,
        timeout: f64,
    ) -> PyResult<(Vec<Message>, u64)> {
        let deadline = deadline_in(timeout)?;
        py.detach(|| self.store.dispatcher.catch_up());
        loop {
            let store = self.open()?;
            let until = deadline.min(Instant::now() + SIGNAL_CHECK);
            let (slices, next) =
                enter(py, || store.read_log(physical_offset, limit, max_bytes, Some(until)))?;
            if !slices.is_empty() || next > physical_offset || Instant::now() >= deadline {
                return Ok((slices.into_iter().map(Message::in_log).collect(), next));
            }
            py.check_signals()?;
        }
    }

    pub(super) fn find_by_id(&self, py: Python<'_>, message_id: &str) -> PyResult<Option<Message>> {
        let store = self.open()?;
        let (host, offset) = ids::decode_message_id(message_id.as_bytes())
            .map_err(|bad| PyValueError::new_err(format!("{message_id:?}: {bad}")))?;
        let found = enter(py, || store.message_at(offset.max(0).cast_unsigned()))?;
        let is_it = |slice: &Slice| -> Result<bool> { Ok(slice.record()?.store_host() == Some(host)) };
        Ok(match found {
            Some(slice) if is_it(&slice)? => Some(Message::in_log(slice)),
            _ => None,
        })
    }
}

fn deadline_in(seconds: f64) -> PyResult<Instant> {
    let wait = Duration::try_from_secs_f64(seconds.max(0.0))
        .map_err(|_| PyValueError::new_err(format!("{seconds} seconds is no time to wait")))?;
    Ok(Instant::now() + wait.min(Duration::from_hours(365 * 24)))
}
