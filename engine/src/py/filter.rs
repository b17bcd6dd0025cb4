//! Filters by properties in Python.

use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::errors::bad_expression;
use crate::filter;

/// An SQL92 expression over a message's properties, ready to judge messages.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct SqlFilter {
    filter: Arc<filter::SqlFilter>,
}

#[pymethods]
impl SqlFilter {
    #[new]
    fn new(py: Python<'_>, expression: &str) -> PyResult<Self> {
        let filter = filter::SqlFilter::compile(expression).map_err(|bad| bad_expression(py, &bad))?;
        Ok(Self { filter: Arc::new(filter) })
    }

    /// The end of the text, if RocketMQ's parser does not read it.
    #[getter]
    fn unread(&self) -> Option<&str> {
        self.filter.unread()
    }

    /// Judge a message by its properties text; None is SQL's null.
    fn evaluate(&self, properties: &[u8]) -> PyResult<Option<bool>> {
        self.filter.evaluate(properties).map_err(|error| PyValueError::new_err(error.to_string()))
    }

    /// Whether a message with this properties text is let through.
    fn matches(&self, properties: &[u8]) -> bool {
        self.filter.matches(properties)
    }
}

impl SqlFilter {
    pub(super) fn shared(&self) -> Arc<filter::SqlFilter> {
        self.filter.clone()
    }
}
