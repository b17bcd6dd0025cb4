//! The server's face: starting, listening, calling clients, stopping.

use std::io;
use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::num::NonZero;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bumpalo::Bump;
use hashbrown::HashMap;
use mio::{Poll, Waker};
use parking_lot::{Mutex, RwLock};
use socket2::{Domain, Socket, Type};

use super::config::ServerConfig;
use super::encode::{Fields, Head};
use super::header::{Encoding, FLAG_ONEWAY};
use super::hot::{Hot, Outbox, ReplyHandle};
use super::inbox::{Inbox, Item, OwnedFrame};
use super::kind::Kind;
use super::mailbox::{Mail, Mailbox};
use super::outgoing::{Body, Outgoing};
use super::peer::THREADS_MAX;
use super::room::Room;
use super::shared::{Counters, Shared};
use super::tls;
use super::worker::{WAKER, Worker};
use crate::error::{Error, Result};

/// Threads beyond the cores take turns with each other: each serves less at a time, and wakes up more often.
fn thread_count(wanted: usize) -> usize {
    let cores = thread::available_parallelism().map_or(THREADS_MAX, NonZero::get);
    wanted.clamp(1, cores.min(THREADS_MAX))
}

pub struct Server {
    shared: Arc<Shared>,
    threads: Mutex<Vec<JoinHandle<()>>>,
}

impl Server {
    /// Start the threads; nothing is accepted yet.
    pub fn start(config: ServerConfig, hot: Option<Arc<dyn Hot>>) -> Result<Self> {
        let failed = |error| Error::io("start", Path::new("server"), error);
        let tls = tls::server_config(&config.tls)?;
        let (polls, mailboxes): (Vec<_>, Vec<_>) = (0..thread_count(config.threads))
            .map(|_| mailbox())
            .collect::<io::Result<Vec<_>>>()
            .map_err(failed)?
            .into_iter()
            .unzip();
        let shared = Arc::new(Shared {
            inbox: Inbox::new(config.budgets).map_err(failed)?,
            room: Arc::new(Room::new(config.partial_bytes_max)),
            config,
            hot,
            tls: RwLock::new(tls),
            mailboxes,
            peers: Mutex::new(HashMap::new()),
            counters: Counters::default(),
        });
        let threads = polls
            .into_iter()
            .enumerate()
            .map(|(index, poll)| {
                let worker = Worker::new(index, poll, shared.clone());
                thread::Builder::new().name(format!("tailfin-net-{index}")).spawn(|| worker.run())
            })
            .collect::<io::Result<_>>()
            .map_err(failed)?;
        Ok(Self { shared, threads: Mutex::new(threads) })
    }

    /// Bind, accept from now on, and return the port.
    pub fn listen(&self, host: &str, port: u16) -> Result<u16> {
        if self.threads.lock().is_empty() {
            return Err(Error::Config("the server was stopped".into()));
        }
        let bound = self
            .bind(host, port)
            .map_err(|error| Error::io("listen on", Path::new(&format!("{host}:{port}")), error))?;
        let port = bound.local_addr().map_err(|error| Error::io("listen", Path::new(host), error))?.port();
        self.shared.mailboxes[0].put(Mail::Listen(bound));
        Ok(port)
    }

    fn bind(&self, host: &str, port: u16) -> io::Result<TcpListener> {
        let config = &self.shared.config;
        let address: SocketAddr = (host, port)
            .to_socket_addrs()?
            .next()
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "the host has no address"))?;
        let socket = Socket::new(Domain::for_address(address), Type::STREAM, None)?;
        socket.set_reuse_address(true)?;
        // Set before listening: accepted sockets inherit them, and the window follows.
        if config.send_buffer > 0 {
            socket.set_send_buffer_size(config.send_buffer)?;
        }
        if config.receive_buffer > 0 {
            socket.set_recv_buffer_size(config.receive_buffer)?;
        }
        socket.set_nonblocking(true)?;
        socket.bind(&address.into())?;
        socket.listen(config.backlog)?;
        Ok(socket.into())
    }

    pub fn inbox(&self) -> &Inbox {
        &self.shared.inbox
    }

    /// Take what waits for Python.
    pub fn take(&self, limit: usize) -> Vec<Item> {
        let mut items = Vec::new();
        self.shared.inbox.take(limit, &mut items);
        items
    }

    /// The place of a request that was taken.
    pub fn place(&self, frame: &OwnedFrame) -> Place {
        Place { shared: self.shared.clone(), kind: Kind::of(frame.code), bytes: frame.bytes() }
    }

    /// Let the hot path serve a request that it left to Python before; false when it does so again.
    pub fn hand_back(&self, frame: &OwnedFrame, handle: &ReplyHandle) -> bool {
        let Some(hot) = &self.shared.hot else { return false };
        // Also when the client has left meanwhile: a oneway message was received all the same.
        let peer = handle.peer();
        let bump = Bump::new();
        let mut sent = Outgoing::default();
        let mut out =
            Outbox { out: &mut sent, peer, inbox: None, given_back: false, pause: None, calls_after: false };
        let Ok(frame) = frame.decode(&bump) else { return false };
        hot.serve(&[frame], peer, &mut out);
        let (given_back, calls_after) = (out.given_back, out.calls_after);
        if !sent.is_empty() {
            peer.mailbox().put(Mail::Send(peer.connection(), sent));
        }
        if calls_after {
            hot.after_answers();
        }
        !given_back
    }

    /// Send a client a request of ours; `None` when the connection is gone.
    pub fn call(
        &self,
        connection: u64,
        code: i32,
        fields: Fields<'_>,
        body: &[u8],
        oneway: bool,
    ) -> Option<i32> {
        let peer = self.shared.peers.lock().get(&connection).cloned()?;
        let opaque = peer.begin_call(oneway)?;
        let flag = if oneway { FLAG_ONEWAY } else { 0 };
        let head = Head { encoding: Encoding::Json, code, opaque, flag, remark: None, fields };
        let mut out = Outgoing::default();
        out.frame(&head, Body::Bytes(body));
        peer.mailbox().put(Mail::Send(connection, out));
        Some(opaque)
    }

    /// Wait no longer for the response to a request of ours.
    pub fn forget_call(&self, connection: u64, opaque: i32) {
        if let Some(peer) = self.shared.peers.lock().get(&connection) {
            peer.end_call(opaque);
        }
    }

    pub fn disconnect(&self, connection: u64) {
        let peer = self.shared.peers.lock().get(&connection).cloned();
        if let Some(peer) = peer {
            peer.mailbox().put(Mail::Close(connection, "told to"));
        }
    }

    /// Read the TLS files again. Connections that exist keep what they have.
    pub fn reload_tls(&self) -> Result<()> {
        let fresh = tls::server_config(&self.shared.config.tls)?;
        *self.shared.tls.write() = fresh;
        Ok(())
    }

    pub fn connections(&self) -> usize {
        self.shared.mailboxes.iter().map(|mailbox| mailbox.connections().load(Ordering::Relaxed)).sum()
    }

    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Take no more requests, answer those under way for up to `drain`, close everything.
    pub fn stop(&self, drain: Duration) {
        let threads = std::mem::take(&mut *self.threads.lock());
        if threads.is_empty() {
            return;
        }
        let deadline = Instant::now() + drain;
        self.shared.mailboxes.iter().for_each(|mailbox| mailbox.put(Mail::Stop(deadline)));
        if let Some(hot) = &self.shared.hot {
            hot.release();
        }
        for thread in threads {
            // A panic was counted where it happened.
            let _ = thread.join();
        }
    }
}

/// What a request takes of its kind's budget until Python is done with it, and drops this.
pub struct Place {
    shared: Arc<Shared>,
    kind: Kind,
    bytes: usize,
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.shared.inbox.settle(self.kind, self.bytes) {
            self.shared.mailboxes.iter().for_each(|mailbox| mailbox.put(Mail::Resume));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop(Duration::ZERO);
    }
}

fn mailbox() -> io::Result<(Poll, Arc<Mailbox>)> {
    let poll = Poll::new()?;
    let waker = Waker::new(poll.registry(), WAKER)?;
    Ok((poll, Arc::new(Mailbox::new(waker))))
}
