//! A message that is about to be sent, as its user makes it.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyByteArray, PyBytes, PyDict, PyMemoryView, PyString};

use crate::client::outbox::{Draft, Unsendable};

/// Properties that say when a message is delivered.
const LEVEL: &str = "DELAY";
const AFTER: &str = "TIMER_DELAY_MS";
const AT: &str = "TIMER_DELIVER_MS";

const KEYWORDS: [&str; 11] = [
    "topic",
    "body",
    "tags",
    "keys",
    "properties",
    "flag",
    "delay_level",
    "delay",
    "deliver_at",
    "sharding_key",
    "wait",
];

impl From<Unsendable> for PyErr {
    fn from(error: Unsendable) -> Self {
        PyValueError::new_err(error.to_string())
    }
}

/// A message to send.
#[pyclass(module = "tailfin._engine")]
pub struct OutgoingMessage {
    #[pyo3(get, set)]
    pub topic: Py<PyString>,
    #[pyo3(get)]
    pub body: Py<PyBytes>,
    #[pyo3(get, set)]
    flag: i32,
    /// What `WAIT` says, as long as there is no dict of properties.
    waits: bool,
    /// All properties, made when there is anything to put into it.
    properties: Option<Py<PyDict>>,
}

#[pymethods]
impl OutgoingMessage {
    #[new]
    #[pyo3(signature = (
        topic, body, *, tags=None, keys=None, properties=None, flag=0, delay_level=None, delay=None,
        deliver_at=None, sharding_key=None, wait=true, **unknown
    ), text_signature = "(topic, body, *, tags=None, keys=None, properties=None, flag=0, delay_level=None, \
        delay=None, deliver_at=None, sharding_key=None, wait=True)")]
    #[allow(clippy::too_many_arguments)] // the user's keywords
    fn new(
        py: Python<'_>,
        topic: Py<PyString>,
        body: &Bound<'_, PyAny>,
        tags: Option<&Bound<'_, PyString>>,
        keys: Option<&Bound<'_, PyAny>>,
        properties: Option<&Bound<'_, PyAny>>,
        flag: i32,
        delay_level: Option<i64>,
        delay: Option<&Bound<'_, PyAny>>,
        deliver_at: Option<&Bound<'_, PyAny>>,
        sharding_key: Option<&Bound<'_, PyString>>,
        wait: bool,
        unknown: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        if let Some(unknown) = unknown {
            return Err(no_such_keyword(unknown)?);
        }
        let mut message = Self { topic, body: bytes(body)?, flag, waits: wait, properties: None };
        if let Some(properties) = properties {
            message.properties(py)?.update(properties.cast()?)?;
        }
        if let Some(tags) = tags {
            message.set(py, intern!(py, "TAGS"), tags)?;
        }
        if keys.is_some() {
            message.set_keys(py, keys)?;
        }
        if delay_level.is_some() {
            message.set_delay_level(py, delay_level)?;
        }
        if delay.is_some() {
            message.set_delay(py, delay)?;
        }
        if deliver_at.is_some() {
            message.set_deliver_at(py, deliver_at)?;
        }
        if let Some(key) = sharding_key {
            message.set(py, intern!(py, "__SHARDINGKEY"), key)?;
        }
        Ok(message)
    }

    #[setter]
    fn set_body(&mut self, body: &Bound<'_, PyAny>) -> PyResult<()> {
        self.body = bytes(body)?;
        Ok(())
    }

    /// All properties, those behind `tags`, `keys` and the others too; changing the dict changes the message.
    #[getter]
    pub fn properties<'py>(&mut self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        if let Some(properties) = &self.properties {
            return Ok(properties.bind(py).clone());
        }
        let made = PyDict::new(py);
        made.set_item(intern!(py, "WAIT"), word(py, self.waits))?;
        self.properties = Some(made.clone().unbind());
        Ok(made)
    }

    #[setter]
    fn set_properties(&mut self, properties: &Bound<'_, PyAny>) -> PyResult<()> {
        let made = PyDict::new(properties.py());
        made.update(properties.cast()?)?;
        self.properties = Some(made.unbind());
        Ok(())
    }

    #[getter]
    fn tags(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.property(py, intern!(py, "TAGS"))
    }

    #[setter]
    fn set_tags(&mut self, py: Python<'_>, tags: Option<&Bound<'_, PyString>>) -> PyResult<()> {
        self.put(py, intern!(py, "TAGS"), tags)
    }

    #[getter]
    fn keys(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let keys = self.property(py, intern!(py, "KEYS"))?.unwrap_or_default();
        Ok(keys.split_ascii_whitespace().map(str::to_owned).collect())
    }

    #[setter]
    fn set_keys(&mut self, py: Python<'_>, keys: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let Some(keys) = keys else { return self.put::<&str>(py, intern!(py, "KEYS"), None) };
        if let Ok(key) = keys.cast::<PyString>() {
            return self.set(py, intern!(py, "KEYS"), key);
        }
        let each: Vec<String> = keys.try_iter()?.map(|key| key?.extract()).collect::<PyResult<_>>()?;
        self.set(py, intern!(py, "KEYS"), each.join(" "))
    }

    #[getter]
    fn delay_level(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.number(py, intern!(py, LEVEL))
    }

    #[setter]
    fn set_delay_level(&mut self, py: Python<'_>, level: Option<i64>) -> PyResult<()> {
        if let Some(level) = level {
            self.only(py, LEVEL)?;
            if level < 0 {
                return Err(PyValueError::new_err(format!(
                    "delay_level is one of the broker's levels, from 1 on, or 0 for none, not {level}"
                )));
            }
        }
        self.put(py, intern!(py, LEVEL), level.map(|level| level.to_string()))
    }

    /// Seconds.
    #[getter]
    #[allow(clippy::cast_precision_loss)] // delays stay far below 2^52 ms
    fn delay(&self, py: Python<'_>) -> PyResult<Option<f64>> {
        Ok(self.number(py, intern!(py, AFTER))?.map(|ms| ms as f64 / 1e3))
    }

    #[setter]
    fn set_delay(&mut self, py: Python<'_>, delay: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let ms = delay.map(|delay| {
            self.only(py, AFTER)?;
            match millis(delay, "total_seconds") {
                Some(ms) if ms >= 0 => Ok(ms),
                _ => Err(PyValueError::new_err(format!(
                    "delay is a number of seconds, 0 or more, or a timedelta, not {}",
                    delay.repr()?
                ))),
            }
        });
        self.put(py, intern!(py, AFTER), ms.transpose()?.map(|ms| ms.to_string()))
    }

    /// Milliseconds since the epoch.
    #[getter]
    fn deliver_at(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.number(py, intern!(py, AT))
    }

    #[setter]
    fn set_deliver_at(&mut self, py: Python<'_>, moment: Option<&Bound<'_, PyAny>>) -> PyResult<()> {
        let ms = moment.map(|moment| {
            self.only(py, AT)?;
            match moment.extract::<i64>().ok().or_else(|| millis(moment, "timestamp")) {
                Some(ms) => Ok(ms),
                None => Err(PyValueError::new_err(format!(
                    "deliver_at is a datetime, or a number of milliseconds since 1970, not {}",
                    moment.repr()?
                ))),
            }
        });
        self.put(py, intern!(py, AT), ms.transpose()?.map(|ms| ms.to_string()))
    }

    #[getter]
    fn sharding_key(&self, py: Python<'_>) -> PyResult<Option<String>> {
        self.property(py, intern!(py, "__SHARDINGKEY"))
    }

    #[setter]
    fn set_sharding_key(&mut self, py: Python<'_>, key: Option<&Bound<'_, PyString>>) -> PyResult<()> {
        self.put(py, intern!(py, "__SHARDINGKEY"), key)
    }

    #[getter]
    fn wait(&self, py: Python<'_>) -> PyResult<bool> {
        Ok(match &self.properties {
            Some(_) => {
                self.property(py, intern!(py, "WAIT"))?.is_none_or(|wait| wait.eq_ignore_ascii_case("true"))
            }
            None => self.waits,
        })
    }

    #[setter]
    fn set_wait(&mut self, py: Python<'_>, wait: bool) -> PyResult<()> {
        self.waits = wait;
        match &self.properties {
            Some(properties) => properties.bind(py).set_item(intern!(py, "WAIT"), word(py, wait)),
            None => Ok(()),
        }
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let properties = self.properties.as_ref().map(|dict| dict.bind(py).repr()).transpose()?;
        let properties = properties.map_or_else(String::new, |text| format!(", properties={text}"));
        let len = self.body.bind(py).len()?;
        Ok(format!("<Message to {} with {len} bytes{properties}>", self.topic.bind(py).repr()?))
    }
}

impl OutgoingMessage {
    /// Let `with` have the message as the outbox takes it; `scratch` lends memory for its properties.
    pub fn draft<'a>(&self, py: Python<'_>, body: &'a [u8], scratch: &'a mut Vec<u8>) -> PyResult<Draft<'a>> {
        let mut draft = Draft::new(body, self.flag, scratch);
        let Some(properties) = &self.properties else {
            draft.push("WAIT", if self.waits { "true" } else { "false" })?;
            return Ok(draft);
        };
        for (name, value) in properties.bind(py) {
            let (Ok(name), Ok(value)) = (name.cast::<PyString>(), value.cast::<PyString>()) else {
                return Err(PyTypeError::new_err(format!(
                    "properties are text, not {}={}",
                    name.repr()?,
                    value.repr()?
                )));
            };
            draft.push(name.to_str()?, value.to_str()?)?;
        }
        Ok(draft)
    }

    /// Refuse one way to say when a message is delivered while another is set.
    fn only(&self, py: Python<'_>, own: &str) -> PyResult<()> {
        let Some(properties) = &self.properties else { return Ok(()) };
        let properties = properties.bind(py);
        for (property, name) in [(LEVEL, "delay_level"), (AFTER, "delay"), (AT, "deliver_at")] {
            if property != own && properties.contains(property)? {
                return Err(PyValueError::new_err(format!(
                    "one of delay_level, delay and deliver_at says when a message is delivered: {name} is set, \
                     so set it to None before you set another"
                )));
            }
        }
        Ok(())
    }

    fn set<'py, V: IntoPyObject<'py>>(
        &mut self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        value: V,
    ) -> PyResult<()> {
        self.properties(py)?.set_item(name, value)
    }

    /// Set a property, or take it away.
    fn put<'py, V: IntoPyObject<'py>>(
        &mut self,
        py: Python<'py>,
        name: &Bound<'py, PyString>,
        value: Option<V>,
    ) -> PyResult<()> {
        let Some(value) = value else {
            let properties = self.properties(py)?;
            return if properties.contains(name)? { properties.del_item(name) } else { Ok(()) };
        };
        self.set(py, name, value)
    }

    fn property(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<Option<String>> {
        let Some(properties) = &self.properties else { return Ok(None) };
        properties.bind(py).get_item(name)?.map(|value| value.extract()).transpose()
    }

    fn number(&self, py: Python<'_>, name: &Bound<'_, PyString>) -> PyResult<Option<i64>> {
        Ok(self.property(py, name)?.and_then(|text| text.parse().ok()))
    }
}

/// What properties say for yes and no.
fn word(py: Python<'_>, yes: bool) -> &Bound<'_, PyString> {
    if yes { intern!(py, "true") } else { intern!(py, "false") }
}

/// A body: bytes, or something that is as good.
fn bytes(body: &Bound<'_, PyAny>) -> PyResult<Py<PyBytes>> {
    if let Ok(bytes) = body.cast::<PyBytes>() {
        return Ok(bytes.clone().unbind());
    }
    if body.is_instance_of::<PyByteArray>() || body.is_instance_of::<PyMemoryView>() {
        let bytes = body.py().get_type::<PyBytes>().call1((body,))?;
        return Ok(bytes.cast_into::<PyBytes>()?.unbind());
    }
    let kind = body.get_type().name()?;
    Err(PyTypeError::new_err(format!("a body is bytes, not {kind}; text is made bytes by text.encode()")))
}

/// Seconds, or an object with a method that says them, as milliseconds; None for anything else.
fn millis(value: &Bound<'_, PyAny>, method: &str) -> Option<i64> {
    let seconds: f64 = match value.getattr_opt(method).ok()? {
        Some(method) => method.call0().ok()?.extract().ok()?,
        None => value.extract().ok()?,
    };
    seconds.is_finite().then(|| (seconds * 1e3).round() as i64)
}

/// What to say to a keyword that a message does not have: the nearest one that it has.
fn no_such_keyword(unknown: &Bound<'_, PyDict>) -> PyResult<PyErr> {
    let py = unknown.py();
    let name = unknown.keys().get_item(0)?;
    let nearest = py.import("difflib")?.call_method1("get_close_matches", (&name, KEYWORDS, 1))?;
    let hint = match nearest.get_item(0) {
        Ok(nearest) => format!("did you mean {}?", nearest.repr()?),
        Err(_) => "give it as one of properties={...}".to_owned(),
    };
    Ok(PyTypeError::new_err(format!("a message has no {}: {hint}", name.repr()?)))
}
