//! The one door out of the interpreter: waiting, disk and locks happen behind it.

use pyo3::marker::Ungil;
use pyo3::{PyResult, Python};

use crate::error::Result;

/// Work without the GIL, and turn the engine's error into Python's.
pub fn enter<T: Ungil + Send>(
    py: Python<'_>,
    work: impl Ungil + Send + FnOnce() -> Result<T>,
) -> PyResult<T> {
    py.detach(work).map_err(Into::into)
}
