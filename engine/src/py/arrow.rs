//! Arrow's columns, to Python and from it.

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi};
use arrow_array::{Array, ArrayRef, StructArray, make_array};
use arrow_schema::DataType;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyTuple};

use crate::arrow::{Chosen, Columns};

/// Bytes of a batch, about, unless told otherwise.
pub const COLLECTED_BYTES: usize = 64 << 20;

/// The columns with these names; the usual ones without.
pub fn chosen(names: Option<Vec<String>>) -> PyResult<Chosen> {
    names
        .map_or_else(|| Ok(Chosen::usual()), |names| Chosen::by_names(&names))
        .map_err(|bad| PyValueError::new_err(bad.to_string()))
}

/// Rows as the columns of an Arrow table, which `pyarrow.record_batch` takes without a copy.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct ArrowBatch {
    rows: StructArray,
}

impl ArrowBatch {
    pub fn new(rows: StructArray) -> Self {
        Self { rows }
    }

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
        schema_capsule(py, self.rows.data_type())
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    fn __repr__(&self) -> String {
        format!("ArrowBatch(rows={})", self.rows.len())
    }
}

/// A type by Arrow's C data interface.
pub fn schema_capsule<'py>(py: Python<'py>, kind: &DataType) -> PyResult<Bound<'py, PyCapsule>> {
    let schema = FFI_ArrowSchema::try_from(kind).map_err(|error| PyValueError::new_err(error.to_string()))?;
    PyCapsule::new_with_value(py, schema, c"arrow_schema")
}

/// Take an array over by Arrow's C data interface, without a copy; `wanted` is what its type is called.
pub fn array_of(
    value: &Bound<'_, PyAny>,
    wanted: &str,
    is_wanted: impl FnOnce(&DataType) -> bool,
) -> PyResult<ArrayRef> {
    let Some(export) = value.getattr_opt("__arrow_c_array__")? else {
        let kind = value.get_type().name()?;
        return Err(PyTypeError::new_err(format!("{wanted} is wanted, not {kind}")));
    };
    let pair = export.call0()?.cast_into::<PyTuple>()?;
    let (schema, array) = (pair.get_item(0)?, pair.get_item(1)?);
    let schema = schema.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_schema"))?;
    let array = array.cast::<PyCapsule>()?.pointer_checked(Some(c"arrow_array"))?;
    // SAFETY: capsules of these names hold these structures, which are taken out of them, so that nobody else
    // releases them; and whoever exports an array promises that it is what its schema says.
    let data = unsafe {
        let schema = FFI_ArrowSchema::from_raw(schema.cast().as_ptr());
        let array = FFI_ArrowArray::from_raw(array.cast().as_ptr());
        from_ffi(array, &schema)
    };
    let data = data.map_err(|error| PyValueError::new_err(format!("{wanted} is wanted: {error}")))?;
    if !is_wanted(data.data_type()) {
        return Err(PyTypeError::new_err(format!("{wanted} is wanted, not {}", data.data_type())));
    }
    Ok(make_array(data))
}
