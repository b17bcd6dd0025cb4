//! A commit log without its store, in Python.

use std::path::Path;

use pyo3::prelude::*;

use super::enter::enter;
use super::message::Message;
use crate::log::offline::{self, Located};
use crate::log::view::Slice;

/// The commit log of a store directory, read-only and without a running store.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct OfflineLog {
    inner: offline::OfflineLog,
}

fn message(located: Located) -> Message {
    Message::in_log(Slice::new(located.mapping, located.range.start, located.range.len()))
}

#[pymethods]
impl OfflineLog {
    #[new]
    fn new(py: Python<'_>, path: &str) -> PyResult<Self> {
        Ok(Self { inner: enter(py, || offline::OfflineLog::open(Path::new(path)))? })
    }

    /// Files in order: start offset, size, path.
    fn files(&self) -> Vec<(u64, u64, String)> {
        let files = self.inner.files().iter();
        files.map(|file| (file.start, file.size, file.path.to_string_lossy().into_owned())).collect()
    }

    #[getter]
    fn min_offset(&self) -> u64 {
        self.inner.min_offset()
    }

    #[getter]
    fn end_of_files(&self) -> u64 {
        self.inner.end_of_files()
    }

    /// Read on from an offset: records, where to go on, and the damage found there, if any.
    #[pyo3(signature = (physical_offset, limit=4096))]
    fn scan(
        &self,
        py: Python<'_>,
        physical_offset: u64,
        limit: usize,
    ) -> PyResult<(Vec<Message>, u64, Option<String>)> {
        let scan = enter(py, || self.inner.scan(physical_offset, limit))?;
        Ok((scan.records.into_iter().map(message).collect(), scan.next, scan.damage))
    }

    /// Find the first intact record after an offset.
    fn next_record(&self, py: Python<'_>, physical_offset: u64) -> PyResult<Option<u64>> {
        enter(py, || self.inner.next_record(physical_offset))
    }

    fn message_at(&self, py: Python<'_>, physical_offset: u64) -> PyResult<Option<Message>> {
        Ok(enter(py, || self.inner.record_at(physical_offset))?.map(message))
    }
}
