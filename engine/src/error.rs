//! The engine's errors. Each becomes one Python exception, in `py/errors.rs` and nowhere else.

use std::io;
use std::path::{Path, PathBuf};

/// What can go wrong below the store's face.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The operating system refused an operation on a file.
    #[error("{action} {}: {source}", path.display())]
    Io {
        /// What was being done, as a verb: "open", "read", "sync".
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A file's content or set of files is not what the format allows.
    #[error("{}: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    /// Another store, in this or another process, holds the directory.
    #[error("{} is in use by another store (lock file held); stop it first", path.display())]
    Locked { path: PathBuf },
    /// A setting cannot work.
    #[error("{0}")]
    Config(String),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub fn io(action: &'static str, path: &Path, source: io::Error) -> Self {
        Self::Io { action, path: path.to_path_buf(), source }
    }

    pub fn damaged(path: &Path, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_path_buf(), what: what.into() }
    }
}
