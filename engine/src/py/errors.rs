//! The engine's errors as Python exceptions, mapped here and nowhere else.

use pyo3::IntoPyObjectExt;
use pyo3::create_exception;
use pyo3::exceptions::{PyConnectionError, PyException, PyOSError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;

use super::store::Appended;
use crate::error::Error;
use crate::filter;
use crate::hot::sent::put_code;
use crate::load::LoadError;
use crate::log::put::Refusal;

create_exception!(
    tailfin._engine,
    StoreError,
    PyException,
    "Base of what the engine raises about a store; an operating system error is an `OSError`."
);
create_exception!(
    tailfin._engine,
    StoreDamaged,
    StoreError,
    "A file is not what the format allows; the text names the file and the position."
);
create_exception!(
    tailfin._engine,
    StoreLocked,
    StoreError,
    "Another store, here or in another process, holds the directory."
);
create_exception!(tailfin._engine, StoreClosed, StoreError, "The store was closed.");
create_exception!(
    tailfin._engine,
    AppendRefused,
    StoreError,
    "An append that was not acknowledged; `status` is RocketMQ's put status."
);

create_exception!(
    tailfin._engine,
    LoadFailed,
    PyException,
    "A load run that could not be carried out; trouble with a connection is a `ConnectionError`."
);

create_exception!(
    tailfin._engine,
    BadExpression,
    PyValueError,
    "A filter expression that cannot be read; `position` is the character where that shows, the first being 1."
);

create_exception!(
    tailfin._engine,
    DamagedMessage,
    PyValueError,
    "A received message whose body cannot be had: damaged, or longer than allowed; the text names it."
);

pub fn damaged_message(text: String) -> PyErr {
    DamagedMessage::new_err(text)
}

/// A refused expression, with its place.
pub fn bad_expression(py: Python<'_>, bad: &filter::BadExpression) -> PyErr {
    let error = BadExpression::new_err(bad.to_string());
    let filled = error.value(py).setattr("position", bad.position);
    filled.map_or_else(|failure| failure, |()| error)
}

impl From<LoadError> for PyErr {
    fn from(error: LoadError) -> Self {
        let text = error.to_string();
        match error {
            LoadError::Connect { .. } | LoadError::Lost { .. } => PyConnectionError::new_err(text),
            LoadError::Silent { .. } => PyTimeoutError::new_err(text),
            LoadError::Io { .. } => PyOSError::new_err(text),
            LoadError::NotRocketMq { .. }
            | LoadError::Refused { .. }
            | LoadError::Nothing(_)
            | LoadError::Options(_) => LoadFailed::new_err(text),
        }
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Io { action, path, source } => match source.raw_os_error() {
                Some(errno) => PyOSError::new_err((
                    errno,
                    format!("cannot {action}: {source}"),
                    path.to_string_lossy().into_owned(),
                )),
                None => PyOSError::new_err(text),
            },
            Error::Damaged { .. } => StoreDamaged::new_err(text),
            Error::Locked { .. } => StoreLocked::new_err(text),
            Error::Config(_) => PyValueError::new_err(text),
            Error::Closed => StoreClosed::new_err(text),
        }
    }
}

/// An error of opening a store, with the notes that were made until then.
pub fn with_notes(py: Python<'_>, error: PyErr, notes: Vec<(&'static str, String)>) -> PyErr {
    let filled = error.value(py).setattr("notes", notes);
    filled.map_or_else(|failure| failure, |()| error)
}

/// A refused append, with its status and, if the messages are in the log after all, where.
pub fn refused(py: Python<'_>, refusal: &Refusal, placed: Option<Appended>) -> PyErr {
    let error = AppendRefused::new_err(format!("{}: {}", refusal.status.name(), refusal.reason));
    let result = placed.map_or_else(|| Ok(py.None()), |placed| placed.into_py_any(py));
    let value = error.value(py);
    let filled = value
        .setattr("status", refusal.status.name())
        .and_then(|()| value.setattr("code", put_code(refusal.status)))
        .and_then(|()| value.setattr("remark", refusal.remark()))
        .and_then(|()| result.and_then(|result| value.setattr("result", result)));
    filled.map_or_else(|failure| failure, |()| error.clone_ref(py))
}
