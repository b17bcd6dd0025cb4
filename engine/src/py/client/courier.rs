//! A client's connections, as Python sees them.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

use super::super::enter::enter;
use super::super::options::Options;
use super::outbox::{Outbox, wait};
use super::reader::Reader;
use super::receipt::{Parcel, Watched};
use super::rows::decoded;
use crate::client::courier::{self, CourierConfig, Keys, Notice, TlsConfig};
use crate::client::endings::{Endings, Word};
use crate::client::outbox;
use crate::message::layout::sys_flag;

/// Connections to servers on a thread of their own.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct Courier(pub Arc<courier::Courier>);

#[pymethods]
impl Courier {
    #[new]
    fn new(py: Python<'_>, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        let config = config(options)?;
        enter(py, || courier::Courier::new(config)).map(|courier| Self(Arc::new(courier)))
    }

    /// Readable while `take` has something.
    fn fileno(&self) -> i32 {
        self.0.fd()
    }

    /// Take what Python has to look at, oldest first.
    #[pyo3(signature = (limit=256))]
    fn take<'py>(&self, py: Python<'py>, limit: usize) -> PyResult<Vec<Bound<'py, PyAny>>> {
        self.0.take(limit).into_iter().filter_map(|notice| seen(py, notice).transpose()).collect()
    }

    /// Close the connection to a server; the next request opens another.
    fn disconnect(&self, address: &str) {
        self.0.disconnect(&address.into());
    }

    /// End many transactions of one topic at a broker.
    #[pyo3(signature = (
        address, handles, *, group, topic, commits, id, as_asked=false, window=1024, timeout_ms=10_000
    ))]
    #[allow(clippy::too_many_arguments)] // the request's own
    fn end_transactions(
        &self,
        py: Python<'_>,
        address: &str,
        handles: &[u8],
        group: String,
        topic: String,
        commits: bool,
        id: String,
        as_asked: bool,
        window: usize,
        timeout_ms: u64,
    ) -> PyResult<Vec<(i64, i64, i32, String)>> {
        let word = Word {
            address: address.into(),
            group,
            topic,
            ends_with: if commits { sys_flag::TRANSACTION_COMMIT } else { sys_flag::TRANSACTION_ROLLBACK },
            as_asked,
            id,
            window,
            timeout: Duration::from_millis(timeout_ms),
        };
        let endings = Endings::new(word, decoded(handles)?);
        wait(py, None, |until| endings.work(&self.0, until))?;
        let unended = endings.unended().into_iter();
        Ok(unended
            .map(|each| (each.handle.log_offset, each.handle.queue_offset, each.code, each.remark))
            .collect())
    }

    /// Take no more requests, and wait up to `drain` seconds for the answers to those under way.
    fn stop(&self, py: Python<'_>, drain: f64) -> PyResult<()> {
        let drain = Duration::try_from_secs_f64(drain)
            .map_err(|_| PyValueError::new_err(format!("{drain} is no possible time in seconds")))?;
        py.detach(|| {
            self.0.stop(drain);
            give_up_all(&self.0);
        });
        Ok(())
    }
}

/// The Python object of a notice, unless nobody has it any more.
fn seen(py: Python<'_>, notice: Notice) -> PyResult<Option<Bound<'_, PyAny>>> {
    let notice = match Reader::of_notice(py, notice) {
        Ok(reader) => return Ok(reader),
        Err(notice) => notice,
    };
    let notice = match notice.downcast::<Watched>() {
        Ok(watched) => return Ok(Some(watched.0.bind(py).clone().into_any())),
        Err(notice) => notice,
    };
    let notice = match notice.downcast::<outbox::Parcel>() {
        Ok(parcel) => return Ok(Some(Bound::new(py, Parcel(parcel))?.into_any())),
        Err(notice) => notice,
    };
    match notice.downcast::<outbox::Outbox>() {
        Ok(outbox) => Ok(Some(Bound::new(py, Outbox(outbox))?.into_any())),
        Err(_) => Err(PyRuntimeError::new_err("a notice of a kind that Python does not know")),
    }
}

/// Nobody decides about failures any more: they are the end of what failed.
fn give_up_all(courier: &courier::Courier) {
    let mut others = Vec::new();
    for notice in courier.take(usize::MAX) {
        match notice.downcast::<outbox::Parcel>() {
            Ok(parcel) => parcel.give_up(),
            Err(notice) => others.push(notice),
        }
    }
    courier.notify(others);
}

/// Build the configuration from a mapping that must hold every key and no other.
fn config(options: &Bound<'_, PyAny>) -> PyResult<CourierConfig> {
    let options = Options::of(options)?;
    let text = |key| options.take::<String>(key).map(|text| (!text.is_empty()).then_some(text));
    let keys = match (text("access_key")?, text("secret_key")?, text("security_token")?) {
        (Some(access_key), Some(secret_key), security_token) => {
            Some(Keys { access_key, secret_key, security_token })
        }
        (None, None, None) => None,
        _ => return Err(PyValueError::new_err("access_key and secret_key go together")),
    };
    let config = CourierConfig {
        connect: options.millis("connect_ms")?,
        idle: options.millis("idle_ms")?,
        frame_bytes_max: options.take("max_frame_bytes")?,
        binary: options.take("binary")?,
        tls: tls_config(&options)?,
        keys,
    };
    options.done()?;
    Ok(config)
}

fn tls_config(options: &Options<'_>) -> PyResult<Option<TlsConfig>> {
    let path = |key| options.take::<String>(key).map(|path| (!path.is_empty()).then(|| PathBuf::from(path)));
    let (wanted, insecure): (bool, bool) = (options.take("tls")?, options.take("tls_insecure")?);
    let trusted = path("tls_ca")?;
    let check_host = options.take("tls_check_host")?;
    let identity = match (path("tls_cert")?, path("tls_key")?) {
        (Some(chain), Some(key)) => Some((chain, key)),
        (None, None) => None,
        _ => return Err(PyValueError::new_err("tls_cert and tls_key go together")),
    };
    if !wanted {
        return Ok(None);
    }
    if trusted.is_none() && !insecure {
        return Err(PyValueError::new_err(
            "TLS needs tls_ca, a PEM file of the certificates to trust; tls_insecure trusts every server",
        ));
    }
    Ok(Some(TlsConfig { trusted: trusted.filter(|_| !insecure), check_host, identity }))
}
