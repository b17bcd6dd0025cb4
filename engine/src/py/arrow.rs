//! Messages as an Arrow batch, in Python.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema};
use arrow_array::{Array, StructArray};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;

use crate::arrow::{Chosen, Columns};

/// Bytes of a batch, about, unless told otherwise.
pub const COLLECTED_BYTES: usize = 64 << 20;

/// The columns with these names; the usual ones without.
pub fn chosen(names: Option<Vec<String>>) -> PyResult<Chosen> {
    names
        .map_or_else(|| Ok(Chosen::usual()), |names| Chosen::by_names(&names))
        .map_err(|bad| PyValueError::new_err(bad.to_string()))
}

/// Messages as the columns of an Arrow table, which `pyarrow.record_batch` takes without a copy.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct ArrowBatch {
    rows: StructArray,
}

impl ArrowBatch {
    /// `None` for no rows.
    pub fn of(py: Python<'_>, columns: Columns) -> Option<Self> {
        (!columns.is_empty()).then(|| Self { rows: py.detach(|| columns.finish()) })
    }
}

#[pymethods]
impl ArrowBatch {
    /// The batch, by Arrow's C data interface; it is never given as another type.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_array__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<(Bound<'py, PyCapsule>, Bound<'py, PyCapsule>)> {
        drop(requested_schema);
        let array = FFI_ArrowArray::new(&self.rows.to_data());
        let array = PyCapsule::new_with_value(py, array, c"arrow_array")?;
        Ok((self.__arrow_c_schema__(py)?, array))
    }

    /// The columns and their types, by Arrow's C data interface.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(self.rows.data_type())
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    fn __repr__(&self) -> String {
        format!("ArrowBatch(rows={})", self.rows.len())
    }
}
