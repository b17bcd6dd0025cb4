//! A descriptor that an event loop watches: readable from a ring until it is quiet again.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};

/// An eventfd.
#[derive(Debug)]
pub struct Bell(File);

impl Bell {
    pub fn new() -> io::Result<Self> {
        // SAFETY: a plain system call; the descriptor is ours alone.
        let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above.
        Ok(Self(unsafe { File::from_raw_fd(fd) }))
    }

    pub fn fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }

    pub fn ring(&self) {
        // It refuses only when its counter is full: then it is readable anyway.
        let _ = (&self.0).write(&1_u64.to_ne_bytes());
    }

    pub fn quiet(&self) {
        let _ = (&self.0).read(&mut [0; 8]);
    }
}
