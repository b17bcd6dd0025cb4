//! What a courier is told. Python owns the defaults.

use std::path::PathBuf;
use std::time::Duration;

/// What requests are signed with.
#[derive(Clone, Debug)]
pub struct Keys {
    pub access_key: String,
    pub secret_key: String,
    pub security_token: Option<String>,
}

#[derive(Clone, Debug)]
pub struct TlsConfig {
    /// A PEM file of the certificates that are trusted; without one every server is believed.
    pub trusted: Option<PathBuf>,
    /// Whether a certificate must be for the host that was asked for; RocketMQ's own clients do not care.
    pub check_host: bool,
    /// PEM files of our certificate chain and of its key.
    pub identity: Option<(PathBuf, PathBuf)>,
}

#[derive(Clone, Debug)]
pub struct CourierConfig {
    pub connect: Duration,
    /// A connection that nobody used for this long is closed; zero: never.
    pub idle: Duration,
    pub frame_bytes_max: usize,
    /// Whether headers are written in RocketMQ's binary form instead of JSON.
    pub binary: bool,
    pub tls: Option<TlsConfig>,
    pub keys: Option<Keys>,
}
