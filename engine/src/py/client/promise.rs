//! The result of a message that was sent with others, for a thread that waits.

use pyo3::exceptions::{PyException, PyTimeoutError};
use pyo3::prelude::*;

use super::receipt::Receipt;

/// A receipt together with who reads it: made for each message, so nothing of it is made in Python.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Promise {
    receipt: Receipt,
    /// Turns a receipt that is done into a result, or into the exception that says why there is none.
    judge: Py<PyAny>,
}

#[pymethods]
impl Promise {
    /// Whether the message is stored, or given up.
    #[getter]
    fn done(&self) -> bool {
        self.receipt.done()
    }

    /// Wait until the message is stored, and return its result.
    #[pyo3(signature = (timeout=None))]
    fn result<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        let outcome = self.outcome(py, timeout)?;
        if outcome.is_instance_of::<PyException>() {
            return Err(PyErr::from_value(outcome));
        }
        Ok(outcome)
    }

    /// Wait until the message is stored, and return None; or return why it was given up.
    #[pyo3(signature = (timeout=None))]
    fn exception<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if self.receipt.is_stored() {
            return Ok(None);
        }
        let outcome = self.outcome(py, timeout)?;
        Ok(outcome.is_instance_of::<PyException>().then_some(outcome))
    }
}

impl Promise {
    pub fn new(receipt: Receipt, judge: Py<PyAny>) -> Self {
        Self { receipt, judge }
    }

    fn outcome<'py>(&self, py: Python<'py>, timeout: Option<f64>) -> PyResult<Bound<'py, PyAny>> {
        if !self.receipt.wait(py, timeout)? {
            let seconds = timeout.unwrap_or_default();
            return Err(PyTimeoutError::new_err(format!(
                "the message is still on its way after {seconds} s"
            )));
        }
        self.judge.bind(py).call1((self.receipt.clone(),))
    }
}
