//! What a server is told. Python owns the keys, their defaults and their meaning.

use std::path::PathBuf;
use std::time::Duration;

use super::inbox::Budget;
use super::kind::KINDS;

/// Who may speak TLS on the port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TlsMode {
    Disabled,
    /// TLS or plain, by the first byte.
    Permissive,
    Enforcing,
}

/// Whether a client must show a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClientAuth {
    None,
    Optional,
    Require,
}

#[derive(Clone, Debug)]
pub struct TlsConfig {
    pub mode: TlsMode,
    /// PEM files of the certificate chain and of its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// Without an identity make a certificate up.
    pub self_signed: bool,
    pub client_auth: ClientAuth,
    pub trusted: Option<PathBuf>,
}

#[derive(Clone, Debug)]
pub struct ServerConfig {
    pub threads: usize,
    /// A connection without a byte either way for this long is closed; zero: never.
    pub idle: Duration,
    pub frame_bytes_max: usize,
    /// Memory for frames of all connections that are not complete.
    pub partial_bytes_max: usize,
    /// With more unsent bytes than `high` a connection is not read, until at most `low` are left.
    pub high_water: usize,
    pub low_water: usize,
    pub backlog: i32,
    /// Sizes of the kernel's buffers; zero: the kernel's choice.
    pub send_buffer: usize,
    pub receive_buffer: usize,
    pub budgets: [Budget; KINDS],
    pub tls: TlsConfig,
}
