//! Waiting for sockets, with a timeout in nanoseconds: an open loop at 10,000 messages a second needs that.

use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

#[derive(Default)]
pub struct Poll {
    watched: Vec<libc::pollfd>,
}

impl Poll {
    /// Watch a descriptor for input; it is known by its place in the order of these calls.
    pub fn add(&mut self, descriptor: &impl AsRawFd) {
        self.watched.push(libc::pollfd { fd: descriptor.as_raw_fd(), events: libc::POLLIN, revents: 0 });
    }

    pub fn want_output(&mut self, index: usize, wanted: bool) {
        self.watched[index].events = if wanted { libc::POLLIN | libc::POLLOUT } else { libc::POLLIN };
    }

    /// Wait until something is ready or the time is over.
    pub fn wait(&mut self, timeout: Duration) -> io::Result<()> {
        let timeout = libc::timespec {
            tv_sec: timeout.as_secs() as libc::time_t,
            tv_nsec: libc::c_long::from(timeout.subsec_nanos()),
        };
        let watched = self.watched.as_mut_ptr();
        // SAFETY: the array and its length belong together, and no signal mask is given.
        let ready = unsafe {
            libc::ppoll(watched, self.watched.len() as libc::nfds_t, &raw const timeout, std::ptr::null())
        };
        if ready >= 0 {
            return Ok(());
        }
        match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => {
                self.watched.iter_mut().for_each(|entry| entry.revents = 0);
                Ok(())
            }
            error => Err(error),
        }
    }

    /// Whether there is input to read, an end and an error being input too.
    pub fn is_readable(&self, index: usize) -> bool {
        self.watched[index].revents & (libc::POLLIN | libc::POLLERR | libc::POLLHUP) != 0
    }
}

/// Let this thread's timeouts be exact: by default the kernel may add 50 µs.
pub fn exact_timeouts() {
    // SAFETY: changes nothing but this thread's timer slack.
    unsafe {
        libc::prctl(libc::PR_SET_TIMERSLACK, 1);
    }
}
