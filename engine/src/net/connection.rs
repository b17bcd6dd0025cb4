//! One client's socket: its bytes become frames, its answers become bytes.

use std::io::{self, Read};
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;

use bumpalo::Bump;
use bumpalo::collections::Vec as BumpVec;
use mio::net::TcpStream;
use rustls::ServerConnection;

use super::config::TlsMode;
use super::frame::{Frame, Malformed, frame_len, next_frame};
use super::held::Held;
use super::hot::Outbox;
use super::inbox::{Item, OwnedFrame};
use super::mailbox::Mailbox;
use super::outgoing::Outgoing;
use super::peer::Peer;
use super::probe::{Start, probe};
use super::room::Room;
use super::shared::{Counters, Shared};
use super::transport::{Got, Transport};

/// Most bytes taken from a socket at once. All frames in them are served together.
const READ_BYTES: usize = 256 << 10;
/// A longer frame is gathered in memory of its own; a shorter one is moved to the front of the next read.
const GATHER_BYTES: usize = 16 << 10;
/// Reads of one connection before the others get their turn.
const READS_PER_TURN: usize = 4;
/// Memory for headers or answers beyond this is given back after use.
const KEEP_BYTES: usize = 1 << 20;

/// What the connections of one thread share.
pub struct Desk {
    buffer: Box<[u8]>,
    kit: Kit,
}

struct Kit {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    bump: Bump,
    spare: Vec<u8>,
    now_ms: u64,
}

impl Desk {
    pub fn new(shared: Arc<Shared>, mailbox: Arc<Mailbox>) -> Self {
        let kit = Kit { shared, mailbox, bump: Bump::new(), spare: Vec::new(), now_ms: 0 };
        Self { buffer: vec![0; READ_BYTES].into_boxed_slice(), kit }
    }

    pub fn set_now(&mut self, now_ms: u64) {
        self.kit.now_ms = now_ms;
    }
}

/// Why a connection ends.
#[derive(Debug)]
pub enum End {
    /// The client closed, or the network did.
    Gone,
    /// What the client sent cannot be.
    Malformed(Malformed),
}

impl From<Malformed> for End {
    fn from(malformed: Malformed) -> Self {
        Self::Malformed(malformed)
    }
}

impl From<io::Error> for End {
    fn from(_: io::Error) -> Self {
        Self::Gone
    }
}

/// What to do with a connection after its turn.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Wait for the socket.
    Wait,
    /// There may be more to read.
    Again,
    /// Read no more until somebody else has caught up.
    Pause(Pause),
}

/// Whom a connection waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pause {
    /// Python has too much of what it sends.
    Python,
    /// The dispatcher or the disk cannot follow what it sends.
    Store,
    /// Other connections hold all the memory there is for frames that are not complete.
    Room,
}

#[allow(clippy::struct_excessive_bools)] // each is a state of its own, and all may be true at once
pub struct Connection {
    id: u64,
    pub socket: TcpStream,
    transport: Transport,
    /// There from the first bytes on, when it is known who speaks.
    peer: Option<Arc<Peer>>,
    proxied: Option<(SocketAddr, SocketAddr)>,
    past_proxy: bool,
    held: Held,
    out: Outgoing,
    /// The socket takes no more for now.
    blocked: bool,
    /// Unsent bytes went over the mark and are not yet below the lower one.
    choked: bool,
    pub waits_for: Option<Pause>,
    /// It is among those whose turn comes next.
    pub is_next: bool,
    /// The hot path wants to be called when the answers have left.
    calls_after: bool,
    /// The client sends no more.
    pub ended: bool,
    pub active_ms: u64,
}

impl Connection {
    pub fn new(id: u64, socket: TcpStream, room: Arc<Room>, now_ms: u64) -> Self {
        Self {
            id,
            socket,
            transport: Transport::Plain,
            peer: None,
            proxied: None,
            past_proxy: false,
            held: Held::new(id, room),
            out: Outgoing::default(),
            blocked: false,
            choked: false,
            waits_for: None,
            is_next: false,
            calls_after: false,
            ended: false,
            active_ms: now_ms,
        }
    }

    pub fn has_unsent(&self) -> bool {
        self.blocked || !self.out.is_empty()
    }

    /// Give it a place among those whose turn comes next, one and no more: others wait for each of these turns.
    pub fn go_on(&mut self, next: &mut Vec<u64>) {
        if !std::mem::replace(&mut self.is_next, true) {
            next.push(self.id);
        }
    }

    pub fn peer(&self) -> Option<&Arc<Peer>> {
        self.peer.as_ref()
    }

    /// Read, serve and answer. On an error what was answered before it has been offered to the socket.
    pub fn turn(&mut self, desk: &mut Desk) -> Result<Next, End> {
        if self.choked || self.waits_for.is_some() {
            return Ok(Next::Wait);
        }
        self.out.lend(std::mem::take(&mut desk.kit.spare));
        let read = self.read(desk);
        let flushed = self.flush(desk);
        if std::mem::take(&mut self.calls_after)
            && let Some(hot) = &desk.kit.shared.hot
        {
            hot.after_answers();
        }
        let next = read?;
        flushed?;
        if !matches!(next, Next::Pause(_)) && self.choked {
            // Whoever empties the queue comes back to read.
            return Ok(Next::Wait);
        }
        Ok(next)
    }

    fn read(&mut self, desk: &mut Desk) -> Result<Next, End> {
        for _ in 0..READS_PER_TURN {
            let got = if self.gathers(&desk.kit)? { self.gather(&mut desk.kit)? } else { self.fill(desk)? };
            match (got, self.waits_for) {
                (Got::End, _) => return Err(End::Gone),
                (_, Some(pause)) => return Ok(Next::Pause(pause)),
                // After the client's end there is at least that end to be read.
                (Got::Bytes { drained: true, .. }, _) if self.ended => {}
                (Got::Nothing | Got::Bytes { drained: true, .. }, _) => return Ok(Next::Wait),
                (Got::Bytes { .. }, _) if self.out.len() > desk.kit.shared.config.high_water => break,
                (Got::Bytes { .. }, _) => {}
            }
        }
        Ok(Next::Again)
    }

    /// Whether the frame that began is long enough to be gathered on its own.
    fn gathers(&self, kit: &Kit) -> Result<bool, Malformed> {
        if self.peer.is_none() {
            return Ok(false);
        }
        let len = frame_len(&self.held, kit.shared.config.frame_bytes_max)?;
        Ok(len.is_some_and(|len| len > GATHER_BYTES))
    }

    /// Read into the thread's buffer, behind the piece of a frame that is held.
    fn fill(&mut self, desk: &mut Desk) -> Result<Got, End> {
        let held = self.held.len();
        desk.buffer[..held].copy_from_slice(&self.held);
        // What is read and is no whole frame has to be kept somewhere.
        let most = if desk.kit.shared.room.is_full() { held + GATHER_BYTES } else { READ_BYTES };
        let got = self.transport.read(&mut self.socket, &mut desk.buffer[held..most.min(READ_BYTES)])?;
        if let Got::Bytes { count, .. } = got {
            self.note_read(count, &desk.kit);
            let bytes = &desk.buffer[..held + count];
            let used = self.consume(bytes, &mut desk.kit)?;
            self.held.keep(&bytes[used..]);
        }
        Ok(got)
    }

    /// Read more of a long frame, and no byte beyond it.
    fn gather(&mut self, kit: &mut Kit) -> Result<Got, End> {
        let want = frame_len(&self.held, kit.shared.config.frame_bytes_max)?.unwrap_or(self.held.len());
        let Some(space) = self.held.space(want) else {
            self.waits_for = Some(Pause::Room);
            return Ok(Got::Nothing);
        };
        let got = self.transport.read(&mut self.socket, space);
        let count = if let Ok(Got::Bytes { count, .. }) = got { count } else { 0 };
        self.held.fill(count);
        self.note_read(count, kit);
        if self.held.len() == want {
            let frame = self.held.take();
            self.consume(&frame, kit)?;
        }
        Ok(got?)
    }

    fn note_read(&mut self, count: usize, kit: &Kit) {
        if count > 0 {
            self.active_ms = kit.now_ms;
            Counters::add(&kit.shared.counters.bytes_in, count);
        }
    }

    /// Serve what is complete; return how many bytes that was.
    fn consume(&mut self, bytes: &[u8], kit: &mut Kit) -> Result<usize, End> {
        let Some(peer) = self.peer.clone() else { return self.begin(bytes, kit) };
        let mut bump = std::mem::take(&mut kit.bump);
        let consumed = self.serve(bytes, &peer, kit, &bump);
        bump.reset();
        if bump.allocated_bytes() <= KEEP_BYTES {
            kit.bump = bump;
        }
        Ok(consumed?)
    }

    fn serve(&mut self, bytes: &[u8], peer: &Arc<Peer>, kit: &Kit, bump: &Bump) -> Result<usize, Malformed> {
        let shared = &*kit.shared;
        let mut rest = bytes;
        let mut requests: BumpVec<'_, Frame<'_>> = BumpVec::new_in(bump);
        let mut count = 0;
        let broken = loop {
            match next_frame(&mut rest, shared.config.frame_bytes_max, bump) {
                Ok(Some(frame)) if frame.is_response() => {
                    count += 1;
                    answered(shared, peer, &frame);
                }
                Ok(Some(frame)) => {
                    count += 1;
                    requests.push(frame);
                }
                Ok(None) => break None,
                Err(malformed) => break Some(malformed),
            }
        };
        if count > 0 {
            Counters::add(&shared.counters.frames_in, count);
        }
        if !requests.is_empty() {
            let mut out = Outbox {
                out: &mut self.out,
                peer,
                inbox: Some(&shared.inbox),
                given_back: false,
                pause: None,
                calls_after: false,
            };
            match &shared.hot {
                Some(hot) => hot.serve(&requests, peer, &mut out),
                None => requests.iter().for_each(|frame| out.to_python(frame)),
            }
            self.waits_for = out.pause;
            self.calls_after |= out.calls_after;
        }
        broken.map_or(Ok(bytes.len() - rest.len()), Err)
    }

    /// The first bytes: find out who speaks and how, then go on with the rest.
    fn begin(&mut self, bytes: &[u8], kit: &mut Kit) -> Result<usize, End> {
        let start = probe(bytes)?;
        match start {
            Start::Unknown => return Ok(0),
            Start::Proxy(len, addresses) if !self.past_proxy => {
                self.past_proxy = true;
                self.proxied = addresses;
                return Ok(len + self.begin(&bytes[len..], kit)?);
            }
            Start::Tls => return self.begin_tls(bytes, kit),
            Start::Plain | Start::Proxy(..) => {}
        }
        if kit.shared.config.tls.mode == TlsMode::Enforcing {
            return Err(Malformed("only TLS is served here").into());
        }
        self.introduce(kit)?;
        self.consume(bytes, kit)
    }

    fn begin_tls(&mut self, bytes: &[u8], kit: &mut Kit) -> Result<usize, End> {
        let config = kit.shared.tls.read().clone().ok_or(Malformed("TLS is not served here"))?;
        let tls = ServerConnection::new(config).map_err(|_| End::Gone)?;
        self.transport = Transport::Tls(Box::new(tls.into()));
        self.introduce(kit)?;
        self.transport.accept(bytes).map_err(|_| Malformed("the TLS hello is not one"))?;
        Ok(bytes.len())
    }

    /// Make the connection known to Python and to other threads.
    fn introduce(&mut self, kit: &Kit) -> io::Result<()> {
        let (remote, local) = match self.proxied {
            Some(addresses) => addresses,
            None => (self.socket.peer_addr()?, self.socket.local_addr()?),
        };
        let peer = Arc::new(Peer::new(self.id, plain_v4(remote), plain_v4(local), kit.mailbox.clone()));
        kit.shared.peers.lock().insert(self.id, peer.clone());
        kit.shared.inbox.put_event(Item::Opened(peer.clone()));
        self.peer = Some(peer);
        Ok(())
    }

    /// Let go of the client so that what was sent still reaches it: closing with unread bytes would undo that.
    pub fn part(&mut self, desk: &mut Desk) {
        // Whatever fails here, the socket is closed next.
        if self.socket.shutdown(Shutdown::Write).is_ok() {
            for _ in 0..READS_PER_TURN {
                if !matches!(self.socket.read(&mut desk.buffer), Ok(1..)) {
                    break;
                }
            }
        }
    }

    /// Queue what another thread has for this client.
    pub fn send(&mut self, out: Outgoing) {
        self.out.append(out);
    }

    /// Send what the socket takes; true when reading may go on that was stopped by unsent bytes.
    pub fn flush(&mut self, desk: &mut Desk) -> io::Result<bool> {
        let kit = &mut desk.kit;
        let frames = self.out.take_frames() as usize;
        let before = self.out.len();
        self.blocked = !self.transport.flush(&mut self.socket, &mut self.out)?;
        let sent = before - self.out.len();
        if sent > 0 {
            self.active_ms = kit.now_ms;
            Counters::add(&kit.shared.counters.bytes_out, sent);
        }
        if frames > 0 {
            Counters::add(&kit.shared.counters.frames_out, frames);
        }
        let spare = self.out.reclaim();
        if (1..=KEEP_BYTES).contains(&spare.capacity()) {
            kit.spare = spare;
        }
        let config = &kit.shared.config;
        let was_choked = self.choked;
        self.choked = self.out.len() > if was_choked { config.low_water } else { config.high_water };
        if self.choked && !was_choked {
            Counters::add(&kit.shared.counters.paused, 1);
        }
        Ok(was_choked && !self.choked)
    }
}

/// A response to one of our requests; anybody else's is ignored.
fn answered(shared: &Shared, peer: &Arc<Peer>, frame: &Frame<'_>) {
    let opaque = frame.header.opaque;
    if peer.end_call(opaque) {
        shared.inbox.put_event(Item::Answered(peer.clone(), opaque, Some(OwnedFrame::new(frame))));
    }
}

/// An IPv4 client of an IPv6 socket is still an IPv4 client.
fn plain_v4(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
