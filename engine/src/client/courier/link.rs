//! One connection to a server: what waits to be written, and who waits for an answer.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bumpalo::Bump;
use hashbrown::HashMap;
use mio::net::TcpStream;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection};

use super::intake::Intake;
use super::letterbox::Order;
use super::request::{Failure, Outcome, Waiter};
use crate::net::encode::Head;
use crate::net::frame::{Frame, Malformed};
use crate::net::header::{Encoding, FLAG_RESPONSE};
use crate::net::outgoing::{Body, Outgoing};
use crate::net::transport::{Got, Transport};

const GO_AWAY: i32 = 1500;
const NOT_SUPPORTED: i32 = 3;
/// Reads before the other connections get their turn.
const READS_PER_TURN: usize = 8;

#[derive(Debug)]
pub enum Stage {
    /// Addresses to try, the next one last; none while the name is looked up.
    Opening(Vec<SocketAddr>),
    Open,
}

/// A request without its answer.
pub struct Pending {
    pub order: Order,
    /// When it was handed to the connection.
    since: Instant,
    /// A server that goes away had it first.
    resent: bool,
}

/// What a turn left to do.
pub enum Next {
    Wait,
    /// There may be more to read.
    Again,
}

pub struct Link {
    pub address: Arc<str>,
    pub stage: Stage,
    /// When it has to be open.
    pub open_by: Instant,
    pub socket: Option<TcpStream>,
    transport: Transport,
    out: Outgoing,
    input: Intake,
    pending: HashMap<i32, Pending>,
    oneways: Vec<(Instant, Arc<dyn Waiter>)>,
    /// The server goes away: nothing new is sent here.
    pub leaving: bool,
    /// Requests that a server which goes away did not serve.
    pub refused: Vec<Order>,
    heard: Instant,
    /// When the first request was sent that timed out while nothing at all was heard.
    unheard: Option<Instant>,
    used: Instant,
}

impl Link {
    pub fn new(address: Arc<str>, now: Instant, open_by: Instant) -> Self {
        Self {
            address,
            stage: Stage::Opening(Vec::new()),
            open_by,
            socket: None,
            transport: Transport::Plain,
            out: Outgoing::default(),
            input: Intake::default(),
            pending: HashMap::new(),
            oneways: Vec::new(),
            leaving: false,
            refused: Vec::new(),
            heard: now,
            unheard: None,
            used: now,
        }
    }

    /// Queue a request; it is written with the next flush.
    pub fn add(&mut self, order: Order, resent: bool, now: Instant) {
        self.out.encoded(&order.head, Body::Shared(&order.body));
        self.used = now;
        if order.oneway {
            self.oneways.push((order.deadline, order.waiter));
        } else {
            self.pending.insert(order.opaque, Pending { order, since: now, resent });
        }
    }

    /// The socket is connected.
    pub fn begin(&mut self, host: &str, tls: Option<&Arc<ClientConfig>>, now: Instant) -> io::Result<()> {
        if let Some(config) = tls {
            let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
            let tls = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
            self.transport = Transport::Tls(Box::new(tls.into()));
        }
        if let Some(socket) = &self.socket {
            socket.set_nodelay(true)?;
        }
        self.stage = Stage::Open;
        self.heard = now;
        Ok(())
    }

    pub fn flush(&mut self) -> io::Result<()> {
        let (Stage::Open, Some(socket)) = (&self.stage, &mut self.socket) else { return Ok(()) };
        if self.transport.flush(socket, &mut self.out)? {
            for (_, waiter) in self.oneways.drain(..) {
                waiter.done(Outcome::Sent);
            }
        }
        Ok(())
    }

    /// Read what has come and tell who waits for it; the error is why the connection ends.
    pub fn turn(&mut self, bytes_max: usize, bump: &Bump, now: Instant) -> Result<Next, String> {
        for _ in 0..READS_PER_TURN {
            let Some(socket) = &mut self.socket else { return Ok(Next::Wait) };
            let got = self.transport.read(socket, self.input.space());
            match got.map_err(|error| format!("the connection to {} was lost: {error}", self.address))? {
                Got::End => return Err(format!("{} closed the connection", self.address)),
                Got::Nothing => return Ok(Next::Wait),
                Got::Bytes { count, drained } => {
                    self.input.filled(count);
                    (self.heard, self.unheard, self.used) = (now, None, now);
                    self.receive(bytes_max, bump).map_err(|Malformed(what)| {
                        format!("{} sent something that is no RocketMQ frame: {what}", self.address)
                    })?;
                    if drained {
                        return Ok(Next::Wait);
                    }
                }
            }
        }
        Ok(Next::Again)
    }

    fn receive(&mut self, bytes_max: usize, bump: &Bump) -> Result<(), Malformed> {
        let Self { input, pending, out, leaving, refused, .. } = self;
        input.frames(bytes_max, bump, |frame| {
            if !frame.is_response() {
                return decline(out, frame);
            }
            let Some(pending) = pending.remove(&frame.header.opaque) else { return };
            if frame.header.code == GO_AWAY {
                *leaving = true;
                if !pending.resent {
                    return refused.push(pending.order);
                }
            }
            let Order { waiter, body, .. } = pending.order;
            // So that its owner is the only one who has it, and can use the memory again.
            drop(body);
            waiter.done(Outcome::Answered(frame));
        })
    }

    /// Tell those whose time is over. Returns the next deadline, and how long nothing was heard while they waited.
    pub fn expire(&mut self, now: Instant) -> (Option<Instant>, Option<std::time::Duration>) {
        let mut silent = None;
        let heard = self.heard;
        let late = self.pending.extract_if(|_, each| each.order.deadline <= now);
        let mut late: Vec<Pending> = late.map(|(_, pending)| pending).collect();
        late.sort_by_key(|pending| pending.order.opaque);
        for each in late {
            if each.since >= heard {
                // Short tries one after the other tell as much as a long one.
                let first = self.unheard.map_or(each.since, |first| first.min(each.since));
                self.unheard = Some(first);
                silent = Some(now - first);
            }
            let failure = time_out(&self.address, now - each.since);
            each.order.waiter.done(Outcome::Failed(failure));
        }
        for (_, waiter) in self.oneways.extract_if(.., |(deadline, _)| *deadline <= now) {
            let failure = time_out(&self.address, now - self.used);
            waiter.done(Outcome::Failed(failure));
        }
        let deadlines = self.pending.values().map(|each| each.order.deadline);
        (deadlines.chain(self.oneways.iter().map(|(deadline, _)| *deadline)).min(), silent)
    }

    /// Give up on everything that waits.
    pub fn fail(self, failure: &Failure) {
        let mut pending: Vec<Pending> = self.pending.into_values().collect();
        pending.sort_by_key(|each| each.order.opaque);
        let waiters = pending.into_iter().map(|each| each.order.waiter);
        let refused = self.refused.into_iter().map(|order| order.waiter);
        for waiter in refused.chain(waiters).chain(self.oneways.into_iter().map(|(_, waiter)| waiter)) {
            waiter.done(Outcome::Failed(failure.clone()));
        }
    }

    /// Whether a stop need not wait for it.
    pub fn is_drained(&self) -> bool {
        self.oneways.is_empty() && !self.pending.values().any(|each| each.order.drains)
    }

    pub fn is_at_rest(&self) -> bool {
        self.oneways.is_empty() && self.pending.is_empty() && self.refused.is_empty()
    }

    pub fn used(&self) -> Instant {
        self.used
    }
}

fn time_out(address: &str, after: std::time::Duration) -> Failure {
    let remark = format!("no answer from {address} within {} ms", after.as_millis());
    Failure { code: Failure::TIME_OUT, remark }
}

/// Whatever a server asks us here: such requests are for the connection that brokers know us by.
fn decline(out: &mut Outgoing, request: &Frame<'_>) {
    if request.is_oneway() {
        return;
    }
    let remark = format!(" request type {} not supported", request.header.code);
    let head = Head {
        encoding: Encoding::Json,
        code: NOT_SUPPORTED,
        opaque: request.header.opaque,
        flag: FLAG_RESPONSE,
        remark: Some(&remark),
        fields: &[],
    };
    out.frame(&head, Body::NONE);
}
