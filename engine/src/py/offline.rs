//! A commit log without its store, in Python.

use std::path::Path;

use pyo3::prelude::*;

use super::arrow::{ArrowBatch, COLLECTED_BYTES, chosen};
use super::client::received::BODY_BYTES_MAX;
use super::enter::enter;
use super::message::Message;
use crate::arrow::Origin;
use crate::log::offline::{self, Located};
use crate::log::offline_columns::{Topics, Wanted};
use crate::log::view::Slice;

/// The commit log of a store directory, read-only and without a running store.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct OfflineLog {
    inner: offline::OfflineLog,
}

fn raw(name: String) -> Box<[u8]> {
    name.into_bytes().into()
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

    /// Read on from an offset, as columns: a batch, where to go on, and the damage found there, if any.
    #[pyo3(signature = (start, end, *, topics=None, without=vec![], without_prefix=vec![], without_suffix=vec![],
        stored_from=i64::MIN, stored_before=i64::MAX, broker=None, halves=false, columns=None, rows=10_000,
        bytes=COLLECTED_BYTES, body_bytes_max=BODY_BYTES_MAX))]
    #[allow(clippy::too_many_arguments)] // one keyword for each thing that can be wanted
    fn scan_arrow(
        &self,
        py: Python<'_>,
        start: u64,
        end: u64,
        topics: Option<Vec<String>>,
        without: Vec<String>,
        without_prefix: Vec<String>,
        without_suffix: Vec<String>,
        stored_from: i64,
        stored_before: i64,
        broker: Option<&str>,
        halves: bool,
        columns: Option<Vec<String>>,
        rows: usize,
        bytes: usize,
        body_bytes_max: usize,
    ) -> PyResult<(Option<ArrowBatch>, u64, Option<String>)> {
        let wanted = Wanted {
            range: start..end,
            stored: stored_from..stored_before,
            topics: Topics {
                only: topics.map(|topics| topics.into_iter().map(raw).collect()),
                without: without.into_iter().map(raw).collect(),
                without_prefix: without_prefix.into_iter().map(raw).collect(),
                without_suffix: without_suffix.into_iter().map(raw).collect(),
            },
            halves,
            origin: Origin { broker: broker.map(Into::into), namespace: None },
            chosen: chosen(columns)?,
            rows: rows.max(1),
            bytes: bytes.max(1),
            body_bytes_max,
        };
        let (columns, end) = enter(py, || self.inner.columns(&wanted))?;
        Ok((ArrowBatch::of(py, columns), end.next, end.damage))
    }

    fn message_at(&self, py: Python<'_>, physical_offset: u64) -> PyResult<Option<Message>> {
        Ok(enter(py, || self.inner.record_at(physical_offset))?.map(message))
    }
}
