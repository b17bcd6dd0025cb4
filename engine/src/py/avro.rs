//! Bodies of Avro in Python.

use arrow_array::cast::AsArray;
use arrow_schema::DataType;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use super::arrow::{ArrowBatch, array_of, schema_capsule};
use crate::arrow::avro::{Bad, Decoder, Framing};

/// An Avro schema, ready to decode bodies to columns.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct AvroDecoder {
    decoder: Decoder,
}

#[pymethods]
impl AvroDecoder {
    #[new]
    #[pyo3(signature = (schema, framing="plain"))]
    fn new(schema: &str, framing: &str) -> PyResult<Self> {
        let framing = Framing::named(framing)
            .ok_or_else(|| PyValueError::new_err(format!("there is no framing {framing:?}")))?;
        let refused = |bad: Bad| PyValueError::new_err(bad.to_string());
        Ok(Self { decoder: Decoder::new(schema, framing).map_err(refused)? })
    }

    /// The columns and their types, by Arrow's C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        schema_capsule(py, &self.decoder.data_type())
    }

    /// Decode bodies: a row for each, and the reasons of those that are bad, whose rows are null.
    fn decode(
        &self,
        py: Python<'_>,
        bodies: &Bound<'_, PyAny>,
    ) -> PyResult<(ArrowBatch, Vec<(usize, String)>)> {
        let bodies = array_of(bodies, "an array of binary", |kind| *kind == DataType::Binary)?;
        let (rows, bad) = py.detach(|| self.decoder.decode(bodies.as_binary()));
        let bad = bad.into_iter().map(|(row, why)| (row, why.to_string())).collect();
        Ok((ArrowBatch::new(rows), bad))
    }
}
