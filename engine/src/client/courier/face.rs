//! The courier as others see it.

use std::os::fd::RawFd;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use mio::{Poll, Waker};
use parking_lot::Mutex;
use rustls::ClientConfig;

use super::carrier::{Carrier, WAKER};
use super::config::CourierConfig;
use super::letterbox::{Letter, Letterbox, Order};
use super::notices::{Notice, Notices};
use super::request::{Errand, Failure, Outcome, Request};
use super::signing::Signer;
use super::tls::client_config;
use crate::error::{Error, Result};
use crate::log::fork;
use crate::net::encode::{self, Fields, Head};
use crate::net::header::{Encoding, FLAG_ONEWAY};

static NO_BODY: LazyLock<Arc<Vec<u8>>> = LazyLock::new(Arc::default);

/// A client's connections. Its thread starts with the first request.
pub struct Courier {
    config: Arc<CourierConfig>,
    signer: Option<Signer>,
    tls: Option<Arc<ClientConfig>>,
    notices: Notices,
    opaque: AtomicI32,
    stopping: AtomicBool,
    letterbox: OnceLock<Arc<Letterbox>>,
    state: Mutex<State>,
    /// A forked child has the parent's sockets but not its thread, and must keep its hands off.
    generation: u32,
}

#[derive(Default)]
struct State {
    thread: Option<JoinHandle<()>>,
    stopped: bool,
}

impl Courier {
    pub fn new(config: CourierConfig) -> Result<Self> {
        let unusable = |error| Error::Config(format!("no descriptor for a client: {error}"));
        Ok(Self {
            signer: config.keys.as_ref().map(Signer::new),
            tls: config.tls.as_ref().map(client_config).transpose()?,
            config: Arc::new(config),
            notices: Notices::new().map_err(unusable)?,
            opaque: AtomicI32::new(0),
            stopping: AtomicBool::new(false),
            letterbox: OnceLock::new(),
            state: Mutex::default(),
            generation: fork::generation(),
        })
    }

    /// The body of a request that has none.
    pub fn no_body() -> Arc<Vec<u8>> {
        NO_BODY.clone()
    }

    /// Send a request; its waiter is told what became of it, also when that is nothing.
    pub fn send(&self, request: Request<'_>) {
        let letterbox = match self.letterbox() {
            Ok(letterbox) => letterbox,
            Err(failure) => return request.waiter.done(Outcome::Failed(failure)),
        };
        let opaque = self.opaque.fetch_add(1, Ordering::Relaxed) & i32::MAX;
        let order = Order {
            address: request.address.clone(),
            opaque,
            head: self.head(&request, opaque),
            body: request.body,
            deadline: request.deadline,
            oneway: request.oneway,
            drains: request.drains,
            waiter: request.waiter,
        };
        if let Err(Letter::Send(order)) = letterbox.put(Letter::Send(order)) {
            order.waiter.done(Outcome::Failed(stopped()));
        }
    }

    fn head(&self, request: &Request<'_>, opaque: i32) -> Vec<u8> {
        let write = |fields: Fields<'_>| {
            let head = Head {
                encoding: if self.config.binary { Encoding::Binary } else { Encoding::Json },
                code: request.code,
                opaque,
                flag: if request.oneway { FLAG_ONEWAY } else { 0 },
                remark: None,
                fields,
            };
            let mut out = Vec::with_capacity(512);
            encode::head(&mut out, &head, request.body.len());
            out
        };
        match &self.signer {
            Some(signer) => signer.sign(request.fields, &request.body, write),
            None => write(request.fields),
        }
    }

    /// Run an errand on the courier's thread; false when it has stopped.
    pub fn at(&self, when: Instant, errand: Arc<dyn Errand>) -> bool {
        self.letterbox().is_ok_and(|letterbox| letterbox.put(Letter::At(when, errand)).is_ok())
    }

    /// Close the connection to an address; the next request opens another.
    pub fn disconnect(&self, address: &Arc<str>) {
        if let Some(letterbox) = self.letterbox.get()
            && !self.is_parents()
        {
            // Without a thread there is no connection.
            let _ = letterbox.put(Letter::Disconnect(address.clone()));
        }
    }

    /// Readable while [`Courier::take`] has something.
    pub fn fd(&self) -> RawFd {
        self.notices.fd()
    }

    /// Leave things for Python.
    pub fn notify(&self, notices: impl IntoIterator<Item = Notice>) {
        self.notices.put(notices);
    }

    pub fn take(&self, limit: usize) -> Vec<Notice> {
        if self.is_parents() { Vec::new() } else { self.notices.take(limit) }
    }

    /// Take no more requests and wait up to `drain` for answers to those under way; the others fail.
    pub fn stop(&self, drain: Duration) {
        if self.is_parents() {
            return;
        }
        let thread = self.end(drain);
        if let Some(thread) = thread {
            // It can only have panicked, which ended it as well.
            let _ = thread.join();
        }
    }

    fn end(&self, drain: Duration) -> Option<JoinHandle<()>> {
        let mut state = self.state.lock();
        state.stopped = true;
        self.stopping.store(true, Ordering::Release);
        if let Some(letterbox) = self.letterbox.get() {
            // A second stop finds nobody.
            let _ = letterbox.put(Letter::Stop(Instant::now() + drain));
        }
        state.thread.take()
    }

    /// Whether a stop has begun: nobody will decide about failures any more.
    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Acquire) || self.is_parents()
    }

    /// Whether it belongs to the process this one was forked from.
    pub fn is_parents(&self) -> bool {
        fork::generation() != self.generation
    }

    fn letterbox(&self) -> std::result::Result<&Arc<Letterbox>, Failure> {
        if self.is_parents() {
            return Err(Failure::send_failed(
                "the client belongs to the process that this one was forked from; make a new one",
            ));
        }
        match self.letterbox.get() {
            Some(letterbox) => Ok(letterbox),
            None => self.start(),
        }
    }

    #[cold]
    fn start(&self) -> std::result::Result<&Arc<Letterbox>, Failure> {
        let mut state = self.state.lock();
        if state.stopped {
            return Err(stopped());
        }
        if let Some(letterbox) = self.letterbox.get() {
            return Ok(letterbox);
        }
        let failed = |error| Failure::send_failed(format!("the client's thread cannot start: {error}"));
        let poll = Poll::new().map_err(failed)?;
        let letterbox = Arc::new(Letterbox::new(Waker::new(poll.registry(), WAKER).map_err(failed)?));
        let carrier = Carrier::new(poll, letterbox.clone(), self.config.clone(), self.tls.clone());
        let builder = std::thread::Builder::new().name("tailfin-courier".into());
        state.thread = Some(builder.spawn(move || carrier.run()).map_err(failed)?);
        Ok(self.letterbox.get_or_init(|| letterbox))
    }
}

fn stopped() -> Failure {
    Failure::send_failed("the client is stopped")
}

impl Drop for Courier {
    fn drop(&mut self) {
        // Not waited for: this may be the thread itself.
        if !self.is_parents() {
            self.end(Duration::ZERO);
        }
    }
}
