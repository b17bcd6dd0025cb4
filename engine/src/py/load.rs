//! The load generator, and the server that it is measured against.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::codec::parse_host;
use super::options::Options;
use crate::load::{self, Mode, Phase, Progress, Report, Tally};

/// Carry out one run; `progress` is told of phases and a few times a second, and ends the run by `False`.
#[pyfunction]
#[pyo3(signature = (options, progress=None))]
pub fn run_load<'py>(
    py: Python<'py>,
    options: &Bound<'py, PyAny>,
    progress: Option<&Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyDict>> {
    let options = load_options(options)?;
    let progress = progress.map(|callable| callable.clone().unbind());
    let mut raised = None;
    let outcome = py.detach(|| {
        load::run(&options, &mut |at| {
            let Some(progress) = &progress else { return raised.is_none() };
            match Python::attach(|py| ask(py, progress, at)) {
                Ok(goes_on) => goes_on,
                Err(error) => {
                    raised = Some(error);
                    false
                }
            }
        })
    });
    if let Some(error) = raised {
        return Err(error);
    }
    report(py, &outcome?)
}

fn ask(py: Python<'_>, progress: &Py<PyAny>, at: Progress) -> PyResult<bool> {
    let phase = match at.phase {
        Phase::WarmUp => "warm-up",
        Phase::Measure => "measure",
        Phase::Drain => "drain",
    };
    py.check_signals()?;
    progress.bind(py).call1((phase, at.seconds, at.messages))?.extract()
}

fn load_options(options: &Bound<'_, PyAny>) -> PyResult<load::Options> {
    let options = Options::of(options)?;
    let mode: String = options.take("mode")?;
    let mode = Mode::of_name(&mode).ok_or_else(|| PyValueError::new_err(format!("no mode {mode:?}")))?;
    let seconds =
        |key| -> PyResult<Option<Duration>> { options.take::<Option<f64>>(key)?.map(duration).transpose() };
    let parsed = load::Options {
        mode,
        address: parse_host(&options.take::<String>("address")?)?,
        topic: options.take("topic")?,
        topics: options.take("topics")?,
        queues: options.take("queues")?,
        group: options.take("group")?,
        connections: options.take("connections")?,
        in_flight: options.take("in_flight")?,
        threads: options.take("threads")?,
        body_bytes: options.take("body_bytes")?,
        batch: options.take("batch")?,
        properties: options.take("properties")?,
        rate: options.take("rate")?,
        warm_up: seconds("warm_up")?.unwrap_or_default(),
        duration: seconds("duration")?,
        count: options.take("count")?,
        pull_batch: options.take("pull_batch")?,
        binary: options.take("binary")?,
        consumable: options.take("consumable")?,
        patience: seconds("patience")?.unwrap_or(Duration::MAX),
    };
    options.done()?;
    Ok(parsed)
}

fn duration(seconds: f64) -> PyResult<Duration> {
    Duration::try_from_secs_f64(seconds)
        .map_err(|_| PyValueError::new_err(format!("{seconds} is no possible time in seconds")))
}

fn report<'py>(py: Python<'py>, report: &Report) -> PyResult<Bound<'py, PyDict>> {
    let dict = tally(py, &report.tally, report.seconds)?;
    dict.set_item("seconds", report.seconds)?;
    dict.set_item("interrupted", report.interrupted)?;
    if let Some(received) = &report.received {
        dict.set_item("received", tally(py, received, report.seconds)?)?;
    }
    if let Some(seconds) = report.consumable_seconds {
        dict.set_item("consumable_seconds", seconds)?;
    }
    Ok(dict)
}

#[allow(clippy::cast_precision_loss)] // counts stay far below 2^52
fn tally<'py>(py: Python<'py>, tally: &Tally, seconds: f64) -> PyResult<Bound<'py, PyDict>> {
    let per_second = |count: u64| if seconds > 0.0 { count as f64 / seconds } else { 0.0 };
    let dict = PyDict::new(py);
    dict.set_item("requests", tally.requests)?;
    dict.set_item("messages", tally.messages)?;
    dict.set_item("messages_ever", tally.messages_ever)?;
    dict.set_item("messages_per_second", per_second(tally.messages))?;
    dict.set_item("body_bytes_per_second", per_second(tally.bytes))?;
    let ms = |nanoseconds: u64| nanoseconds as f64 / 1e6;
    for (name, quantile) in [("p50_ms", 0.5), ("p99_ms", 0.99), ("p999_ms", 0.999)] {
        dict.set_item(name, ms(tally.latency.value_at_quantile(quantile)))?;
    }
    dict.set_item("max_ms", ms(tally.latency.max()))?;
    dict.set_item("mean_ms", tally.latency.mean() / 1e6)?;
    let refused: BTreeMap<i32, (u64, &str)> = tally
        .refused
        .iter()
        .map(|(code, refused)| (*code, (refused.count, refused.remark.as_str())))
        .collect();
    dict.set_item("refused", refused)?;
    Ok(dict)
}

/// A server that only decodes the frame, copies the body into a mapped file and says yes.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct LimitServer(load::LimitServer);

#[pymethods]
impl LimitServer {
    /// Serve `address:port` from now on (port 0: any free one).
    #[new]
    fn new(py: Python<'_>, address: &str, directory: &str) -> PyResult<Self> {
        let address = parse_host(address)?;
        Ok(Self(py.detach(|| load::LimitServer::start(address, Path::new(directory)))?))
    }

    /// Where it listens, as `address:port`.
    #[getter]
    fn address(&self) -> String {
        self.0.address().to_string()
    }

    /// Close everything; a second call does nothing.
    fn stop(&self, py: Python<'_>) {
        py.detach(|| self.0.stop());
    }
}
