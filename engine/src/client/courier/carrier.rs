//! The courier's thread: it owns the sockets, writes what was collected, and keeps the time.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, ToSocketAddrs};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bumpalo::Bump;
use hashbrown::HashMap;
use mio::net::TcpStream;
use mio::{Events, Interest, Poll, Token};
use rustls::ClientConfig;

use super::config::CourierConfig;
use super::letterbox::{Letter, Letterbox, Order};
use super::link::{Link, Next, Stage};
use super::request::{Errand, Failure, Outcome};

pub const WAKER: Token = Token(0);
const EVENTS_MAX: usize = 256;
const TICK: Duration = Duration::from_secs(1);
/// Deadlines are looked at no more often than this.
const DEADLINE_TICK: Duration = Duration::from_millis(5);
/// A connection on which a request timed out while nothing at all was heard for so long is taken for dead.
const SILENT: Duration = Duration::from_secs(3);
/// Memory for headers beyond this is given back after use.
const KEEP_BYTES: usize = 1 << 20;

/// An errand and its time; the number keeps those of one time in order.
struct Due(Reverse<(Instant, u64)>, Arc<dyn Errand>);

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.cmp(&other.0)
    }
}

pub struct Carrier {
    poll: Poll,
    letterbox: Arc<Letterbox>,
    config: Arc<CourierConfig>,
    tls: Option<Arc<ClientConfig>>,
    links: HashMap<usize, Link>,
    by_address: HashMap<Arc<str>, usize>,
    next_id: usize,
    letters: Vec<Letter>,
    /// Connections with something to write.
    touched: Vec<usize>,
    /// Connections that may have more to read.
    again: Vec<usize>,
    errands: BinaryHeap<Due>,
    errand_count: u64,
    /// No request's time is over before this.
    deadline: Option<Instant>,
    idle_at: Instant,
    stop_at: Option<Instant>,
    bump: Bump,
    now: Instant,
}

impl Carrier {
    pub fn new(
        poll: Poll,
        letterbox: Arc<Letterbox>,
        config: Arc<CourierConfig>,
        tls: Option<Arc<ClientConfig>>,
    ) -> Self {
        let now = Instant::now();
        Self {
            poll,
            letterbox,
            config,
            tls,
            links: HashMap::new(),
            by_address: HashMap::new(),
            next_id: WAKER.0 + 1,
            letters: Vec::new(),
            touched: Vec::new(),
            again: Vec::new(),
            errands: BinaryHeap::new(),
            errand_count: 0,
            deadline: None,
            idle_at: now,
            stop_at: None,
            bump: Bump::new(),
            now,
        }
    }

    pub fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_MAX);
        loop {
            let patience = if self.again.is_empty() && self.letterbox.may_sleep() {
                self.patience()
            } else {
                Duration::ZERO
            };
            if let Err(error) = self.poll.poll(&mut events, Some(patience))
                && error.kind() != ErrorKind::Interrupted
            {
                // Nothing can be waited for any more.
                break;
            }
            self.letterbox.awake();
            self.now = Instant::now();
            for event in &events {
                if event.token() != WAKER {
                    self.on_socket(event.token().0, event.is_writable(), event.is_readable());
                }
            }
            for id in std::mem::take(&mut self.again) {
                self.turn(id);
            }
            self.run_errands(false);
            self.read_letters();
            self.flush_touched();
            self.expire();
            self.close_idle();
            if self.is_done() {
                break;
            }
        }
        self.leave();
    }

    fn leave(mut self) {
        let failure = Failure::send_failed("the client is stopped");
        self.letterbox.refuse();
        self.run_errands(true);
        let links: Vec<usize> = self.links.keys().copied().collect();
        for id in links {
            self.close(id, &failure);
        }
        let mut letters = Vec::new();
        self.letterbox.take(&mut letters);
        for letter in letters {
            match letter {
                Letter::Send(order) => order.waiter.done(Outcome::Failed(failure.clone())),
                Letter::At(_, errand) => errand.run(self.now, true),
                Letter::Resolved(..) | Letter::Disconnect(_) | Letter::Stop(_) => {}
            }
        }
    }

    fn patience(&self) -> Duration {
        let errand = self.errands.peek().map(|Due(Reverse((when, _)), _)| *when);
        let deadline = self.deadline.map(|deadline| deadline.max(self.now + DEADLINE_TICK));
        let opening = self.links.values().filter(|link| matches!(link.stage, Stage::Opening(_)));
        let opening = opening.map(|link| link.open_by).min();
        let idle = (!self.config.idle.is_zero() && !self.links.is_empty()).then_some(self.idle_at);
        let next = [errand, deadline, self.stop_at, opening, idle].into_iter().flatten().min();
        next.map_or(TICK, |next| next.saturating_duration_since(self.now).min(TICK))
    }

    fn on_socket(&mut self, id: usize, writable: bool, readable: bool) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if matches!(link.stage, Stage::Opening(_)) {
            self.connected(id);
        } else if writable {
            self.touched.push(id);
        }
        if readable {
            self.turn(id);
        }
    }

    /// Let a connection read. Whatever goes wrong ends this connection and no other.
    fn turn(&mut self, id: usize) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if matches!(link.stage, Stage::Opening(_)) {
            return;
        }
        let (bytes_max, bump, now) = (self.config.frame_bytes_max, &self.bump, self.now);
        let turned = catch_unwind(AssertUnwindSafe(|| link.turn(bytes_max, bump, now)));
        self.bump.reset();
        if self.bump.allocated_bytes() > KEEP_BYTES {
            self.bump = Bump::new();
        }
        self.touched.push(id);
        self.send_elsewhere(id);
        match turned {
            Ok(Ok(Next::Wait)) => {}
            Ok(Ok(Next::Again)) => self.again.push(id),
            Ok(Err(reason)) => self.close(id, &Failure::send_failed(reason)),
            Err(_) => self.close(id, &Failure::send_failed("an answer could not be taken in")),
        }
    }

    /// A server goes away: what it refused is asked once more, of whoever is at its address then.
    fn send_elsewhere(&mut self, id: usize) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if !link.leaving {
            return;
        }
        let refused = std::mem::take(&mut link.refused);
        let (address, is_over) = (link.address.clone(), link.is_at_rest());
        if self.by_address.get(&address) == Some(&id) {
            self.by_address.remove(&address);
        }
        if is_over {
            self.close(id, &Failure::send_failed("the server goes away"));
        }
        for order in refused {
            self.deliver(order, true);
        }
    }

    fn read_letters(&mut self) {
        let mut letters = std::mem::take(&mut self.letters);
        self.letterbox.take(&mut letters);
        for letter in letters.drain(..) {
            match letter {
                Letter::Send(order) => self.deliver(order, false),
                Letter::At(when, errand) => {
                    self.errand_count += 1;
                    self.errands.push(Due(Reverse((when, self.errand_count)), errand));
                }
                Letter::Resolved(id, found) => self.resolved(id, found),
                Letter::Disconnect(address) => {
                    if let Some(id) = self.by_address.get(&address) {
                        self.close(*id, &Failure::send_failed("the connection was closed"));
                    }
                }
                Letter::Stop(deadline) => {
                    self.stop_at = self.stop_at.into_iter().chain([deadline]).min();
                    self.run_errands(true);
                    self.letterbox.refuse();
                }
            }
        }
        self.letters = letters;
    }

    fn run_errands(&mut self, last: bool) {
        while let Some(due) = self.errands.peek()
            && (last || due.0.0.0 <= self.now)
            && let Some(Due(_, errand)) = self.errands.pop()
        {
            let now = self.now;
            // One that fails must not take the connections with it.
            let _ = catch_unwind(AssertUnwindSafe(|| errand.run(now, last)));
        }
    }

    fn deliver(&mut self, order: Order, resent: bool) {
        let id = match self.by_address.get(&order.address) {
            Some(id) => *id,
            None => match self.open(&order.address) {
                Ok(id) => id,
                Err(failure) => return order.waiter.done(Outcome::Failed(failure)),
            },
        };
        let Some(link) = self.links.get_mut(&id) else { return };
        self.deadline = Some(self.deadline.map_or(order.deadline, |before| before.min(order.deadline)));
        link.add(order, resent, self.now);
        if self.touched.last() != Some(&id) {
            self.touched.push(id);
        }
        self.connect_next(id);
    }

    fn open(&mut self, address: &Arc<str>) -> Result<usize, Failure> {
        let (host, port) = split(address)?;
        let id = self.next_id;
        self.next_id += 1;
        let mut link = Link::new(address.clone(), self.now, self.now + self.config.connect);
        if let Ok(ip) = host.parse() {
            link.stage = Stage::Opening(vec![SocketAddr::new(ip, port)]);
        } else {
            self.look_up(id, host.to_owned(), port)?;
        }
        self.links.insert(id, link);
        self.by_address.insert(address.clone(), id);
        Ok(id)
    }

    /// Looking up a name may take seconds, so others do not wait for it.
    fn look_up(&self, id: usize, host: String, port: u16) -> Result<(), Failure> {
        let letterbox = self.letterbox.clone();
        let work = move || {
            let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
            // A courier that left needs no address.
            let _ = letterbox.put(Letter::Resolved(id, found));
        };
        let builder = std::thread::Builder::new().name("tailfin-lookup".into());
        builder.spawn(work).map(|_| ()).map_err(|error| Failure::send_failed(format!("no thread: {error}")))
    }

    fn resolved(&mut self, id: usize, found: io::Result<Vec<SocketAddr>>) {
        let Some(link) = self.links.get_mut(&id) else { return };
        match found {
            Ok(mut addresses) if !addresses.is_empty() => {
                addresses.reverse();
                link.stage = Stage::Opening(addresses);
                self.connect_next(id);
            }
            Ok(_) => self.refuse(id, "the name has no address"),
            Err(error) => self.refuse(id, &error.to_string()),
        }
    }

    /// Begin to connect to the next address, unless that is under way.
    fn connect_next(&mut self, id: usize) {
        let mut reason = None;
        while let Some(link) = self.links.get_mut(&id)
            && link.socket.is_none()
            && let Stage::Opening(addresses) = &mut link.stage
        {
            let Some(address) = addresses.pop() else { break };
            let interest = Interest::READABLE | Interest::WRITABLE;
            let begun = TcpStream::connect(address).and_then(|mut socket| {
                self.poll.registry().register(&mut socket, Token(id), interest).map(|()| socket)
            });
            match begun {
                Ok(socket) => link.socket = Some(socket),
                Err(error) => reason = Some(error.to_string()),
            }
        }
        if let (Some(link), Some(reason)) = (self.links.get(&id), reason)
            && link.socket.is_none()
        {
            self.refuse(id, &reason);
        }
    }

    /// A socket on its way has something to say: it is connected, or cannot be.
    fn connected(&mut self, id: usize) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let Some(socket) = &mut link.socket else { return };
        let error = match socket.take_error() {
            Ok(None) => match socket.peer_addr() {
                Ok(_) => None,
                Err(error) if error.kind() == ErrorKind::NotConnected => return,
                Err(error) => Some(error),
            },
            Ok(Some(error)) | Err(error) => Some(error),
        };
        let address = link.address.clone();
        let host = split(&address).map_or("", |(host, _)| host);
        let begun = error.map_or_else(|| link.begin(host, self.tls.as_ref(), self.now), Err);
        match (begun, &link.stage) {
            (Ok(()), _) => self.touched.push(id),
            (Err(_), Stage::Opening(others)) if !others.is_empty() => {
                link.socket = None;
                self.connect_next(id);
            }
            (Err(error), _) => self.refuse(id, &error.to_string()),
        }
    }

    fn refuse(&mut self, id: usize, reason: &str) {
        if let Some(link) = self.links.get(&id) {
            let remark = format!("cannot connect to {}: {reason}", link.address);
            self.close(id, &Failure::send_failed(remark));
        }
    }

    fn flush_touched(&mut self) {
        let mut touched = std::mem::take(&mut self.touched);
        for id in touched.drain(..) {
            let Some(link) = self.links.get_mut(&id) else { continue };
            if let Err(error) = link.flush() {
                let remark = format!("the connection to {} was lost: {error}", link.address);
                self.close(id, &Failure::send_failed(remark));
            }
        }
        if self.touched.is_empty() {
            self.touched = touched;
        }
    }

    fn expire(&mut self) {
        let late = |link: &Link| matches!(link.stage, Stage::Opening(_)) && link.open_by <= self.now;
        let late: Vec<usize> = self.links.iter().filter(|(_, link)| late(link)).map(|(id, _)| *id).collect();
        for id in late {
            self.refuse(id, &format!("nothing answers within {} ms", self.config.connect.as_millis()));
        }
        if self.deadline.is_none_or(|deadline| deadline > self.now) {
            return;
        }
        self.deadline = None;
        let mut dead = Vec::new();
        for (id, link) in &mut self.links {
            let (next, silent) = link.expire(self.now);
            self.deadline = self.deadline.into_iter().chain(next).min();
            if silent.is_some_and(|silent| silent >= SILENT) {
                dead.push(*id);
            }
        }
        for id in dead {
            self.close(id, &Failure::send_failed("the connection is silent"));
        }
    }

    fn close_idle(&mut self) {
        let idle = self.config.idle;
        if idle.is_zero() || self.now < self.idle_at {
            return;
        }
        self.idle_at = self.now + (idle / 4).min(TICK);
        let is_idle = |link: &Link| link.is_at_rest() && link.used() + idle <= self.now;
        let quiet: Vec<usize> =
            self.links.iter().filter(|(_, link)| is_idle(link)).map(|(id, _)| *id).collect();
        for id in quiet {
            self.close(id, &Failure::send_failed("the connection was idle"));
        }
    }

    fn close(&mut self, id: usize, failure: &Failure) {
        let Some(mut link) = self.links.remove(&id) else { return };
        if self.by_address.get(&link.address) == Some(&id) {
            self.by_address.remove(&link.address);
        }
        if let Some(mut socket) = link.socket.take() {
            let _: io::Result<()> = self.poll.registry().deregister(&mut socket);
        }
        let _ = catch_unwind(AssertUnwindSafe(|| link.fail(failure)));
    }

    fn is_done(&self) -> bool {
        let Some(deadline) = self.stop_at else { return false };
        self.now >= deadline || (self.letterbox.is_empty() && self.links.values().all(Link::is_drained))
    }
}

/// `host:port`; an IPv6 host may stand in brackets.
fn split(address: &str) -> Result<(&str, u16), Failure> {
    let parts = address.rsplit_once(':').and_then(|(host, port)| Some((host, port.parse().ok()?)));
    match parts {
        Some((host, port)) if !host.is_empty() => {
            Ok((host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host), port))
        }
        _ => {
            let remark = format!("an address is host:port, not {address:?}");
            Err(Failure { code: Failure::ADDRESS, remark })
        }
    }
}
