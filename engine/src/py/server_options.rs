//! The options of a server, by RocketMQ's keys.

use std::path::PathBuf;
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::options::Options;
use crate::net::config::{ClientAuth, ServerConfig, TlsConfig, TlsMode};
use crate::net::inbox::Budget;

/// Above the high-water mark a connection is not read; without a choice of the user's it is this.
const HIGH_WATER_BYTES: usize = 1 << 20;

/// Build the configuration from a mapping that must hold every key and no other.
pub fn server_config(options: &Bound<'_, PyAny>) -> PyResult<ServerConfig> {
    let options = Options::of(options)?;
    let bytes = options.take("pythonQueueBytes")?;
    let budget = |key| Ok::<_, PyErr>(Budget { count: options.take(key)?, bytes });
    let high: usize = options.take("writeBufferHighWaterMark")?;
    let low: usize = options.take("writeBufferLowWaterMark")?;
    let high_water = if high == 0 { HIGH_WATER_BYTES } else { high };
    let config = ServerConfig {
        threads: options.take("serverSelectorThreads")?,
        idle: Duration::from_secs(options.take("serverChannelMaxIdleTimeSeconds")?),
        frame_bytes_max: options.take("frameMaxLength")?,
        partial_bytes_max: options.take("partialFrameBytes")?,
        high_water,
        low_water: if low == 0 { high_water / 2 } else { low.min(high_water) },
        backlog: options.take("serverSocketBacklog")?,
        send_buffer: options.take("serverSocketSndBufSize")?,
        receive_buffer: options.take("serverSocketRcvBufSize")?,
        budgets: [
            budget("clientManagerThreadPoolQueueCapacity")?,
            budget("adminBrokerThreadPoolQueueCapacity")?,
            budget("queryThreadPoolQueueCapacity")?,
            budget("defaultThreadPoolQueueCapacity")?,
        ],
        tls: tls_config(&options)?,
    };
    options.done()?;
    Ok(config)
}

fn tls_config(options: &Options<'_>) -> PyResult<TlsConfig> {
    let path = |key| options.take::<String>(key).map(|path| (!path.is_empty()).then(|| PathBuf::from(path)));
    let wrong = |key: &str, word: &str| PyValueError::new_err(format!("{key} cannot be {word:?}"));
    let mode = match options.take::<String>("tlsServerMode")?.as_str() {
        "disabled" => TlsMode::Disabled,
        "permissive" => TlsMode::Permissive,
        "enforcing" => TlsMode::Enforcing,
        other => return Err(wrong("tlsServerMode", other)),
    };
    let client_auth = match options.take::<String>("tlsServerNeedClientAuth")?.as_str() {
        "none" => ClientAuth::None,
        "optional" => ClientAuth::Optional,
        "require" => ClientAuth::Require,
        other => return Err(wrong("tlsServerNeedClientAuth", other)),
    };
    let identity = match (path("tlsServerCertPath")?, path("tlsServerKeyPath")?) {
        (Some(chain), Some(key)) => Some((chain, key)),
        (None, None) => None,
        _ => return Err(PyValueError::new_err("tlsServerCertPath and tlsServerKeyPath go together")),
    };
    let check_clients = options.take("tlsServerAuthClient")?;
    Ok(TlsConfig {
        mode,
        identity,
        self_signed: options.take("tlsTestModeEnable")?,
        // Java's rule: without `authClient` a certificate is asked for at most, and anyone will do.
        client_auth: if check_clients { client_auth } else { ClientAuth::None },
        trusted: path("tlsServerTrustCertPath")?,
    })
}
