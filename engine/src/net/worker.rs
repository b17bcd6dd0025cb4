//! A thread that owns sockets: it waits for them, lets each have its turn, and reads its mail.

use std::io::{self, ErrorKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use mio::event::Event;
use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

use super::connection::{Connection, Desk, End, Next, Pause};
use super::frame::Malformed;
use super::inbox::Item;
use super::mailbox::{Mail, Mailbox};
use super::outgoing::Outgoing;
use super::peer::Peer;
use super::shared::{Counters, Shared};
use super::waiting::WaitingRoom;

pub const WAKER: Token = Token(0);
/// Connections are numbered from 256 on, so tokens below are free for listeners.
const FIRST_LISTENER: usize = 1;
const LISTENERS_MAX: usize = 255;

const EVENTS_MAX: usize = 1024;
const TICK: Duration = Duration::from_secs(1);
/// After work a thread lets others run and looks so often before it sleeps: whoever was answered is about to ask again,
/// and being woken for each request costs more than serving it.
const LOOKS_BEFORE_SLEEP: usize = 3;
/// While it stops, or cannot accept, the thread looks again after this time.
const SHORT_TICK: Duration = Duration::from_millis(20);
/// While connections wait for the store or for memory, it looks after this time whether they may go on.
const WAITING_TICK: Duration = Duration::from_millis(2);

pub struct Worker {
    index: usize,
    poll: Poll,
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    desk: Desk,
    connections: HashMap<u64, Connection>,
    listeners: Vec<TcpListener>,
    /// Memory for the mail, lent to the mailbox.
    mails: Vec<Mail>,
    /// The machine had no descriptor left for a client that waits.
    accept_again: bool,
    /// Connections that may have more to read.
    again: Vec<u64>,
    waiting_for_python: Vec<u64>,
    waiting: WaitingRoom,
    stop_at: Option<Instant>,
    started: Instant,
    now_ms: u64,
    scanned_ms: u64,
}

impl Worker {
    pub fn new(index: usize, poll: Poll, shared: Arc<Shared>) -> Self {
        let mailbox = shared.mailboxes[index].clone();
        Self {
            index,
            poll,
            desk: Desk::new(shared.clone(), mailbox.clone()),
            shared,
            mailbox,
            connections: HashMap::new(),
            listeners: Vec::new(),
            mails: Vec::new(),
            accept_again: false,
            again: Vec::new(),
            waiting_for_python: Vec::new(),
            waiting: WaitingRoom::default(),
            stop_at: None,
            started: Instant::now(),
            now_ms: 0,
            scanned_ms: 0,
        }
    }

    pub fn run(mut self) {
        let mut events = Events::with_capacity(EVENTS_MAX);
        loop {
            if let Err(error) = self.wait(&mut events)
                && error.kind() != ErrorKind::Interrupted
            {
                // Nothing can be waited for any more; the clients find another broker.
                break;
            }
            self.now_ms = self.started.elapsed().as_millis() as u64;
            self.desk.set_now(self.now_ms);
            for event in &events {
                match event.token() {
                    WAKER => {}
                    Token(number) if number <= LISTENERS_MAX => self.accept_again = true,
                    Token(number) => self.on_socket(number as u64, event),
                }
            }
            self.read_mail();
            self.accept();
            self.waiting.let_go(&self.shared, &mut self.connections, self.now_ms, &mut self.again);
            self.go_on();
            self.close_idle();
            if self.is_done() {
                break;
            }
        }
        let ids: Vec<u64> = self.connections.keys().copied().collect();
        for id in ids {
            self.close(id, Some("the server stops"));
        }
    }

    /// Wait for the sockets, or for mail.
    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let was_at_work = !events.is_empty() && self.again.is_empty();
        for _ in 0..if was_at_work { LOOKS_BEFORE_SLEEP } else { 0 } {
            thread::yield_now();
            self.poll.poll(events, Some(Duration::ZERO))?;
            if !events.is_empty() {
                return Ok(());
            }
        }
        self.poll.poll(events, Some(self.patience()))
    }

    fn patience(&self) -> Duration {
        if !self.again.is_empty() {
            Duration::ZERO
        } else if !self.waiting.is_empty() {
            WAITING_TICK
        } else if self.stop_at.is_some() || self.accept_again {
            SHORT_TICK
        } else {
            TICK.min(self.idle_scan_interval())
        }
    }

    fn on_socket(&mut self, id: u64, event: &Event) {
        if event.is_read_closed()
            && let Some(connection) = self.connections.get_mut(&id)
        {
            connection.ended = true;
        }
        if event.is_writable() {
            self.flush(id);
        }
        if event.is_readable() && !self.connections.get(&id).is_some_and(|connection| connection.is_next) {
            self.turn(id);
        }
    }

    /// Let those have a turn whose turn comes next.
    fn go_on(&mut self) {
        for id in std::mem::take(&mut self.again) {
            if let Some(connection) = self.connections.get_mut(&id) {
                connection.is_next = false;
                self.turn(id);
            }
        }
    }

    /// Let a connection read and answer. Whatever goes wrong ends this connection and no other.
    fn turn(&mut self, id: u64) {
        if self.stop_at.is_some() {
            return;
        }
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let desk = &mut self.desk;
        match catch_unwind(AssertUnwindSafe(|| connection.turn(desk))) {
            Ok(Ok(Next::Wait)) => {}
            Ok(Ok(Next::Again)) => connection.go_on(&mut self.again),
            Ok(Ok(Next::Pause(pause))) => {
                Counters::add(&self.shared.counters.paused, 1);
                match pause {
                    Pause::Python => self.waiting_for_python.push(id),
                    Pause::Store | Pause::Room => self.waiting.put(id),
                }
            }
            Ok(Err(End::Gone)) => self.close(id, None),
            Ok(Err(End::Malformed(Malformed(reason)))) => {
                Counters::add(&self.shared.counters.refused, 1);
                self.close(id, Some(reason));
            }
            Err(_) => {
                Counters::add(&self.shared.counters.panics, 1);
                if let Some(hot) = &self.shared.hot {
                    hot.after_answers();
                }
                self.close(id, Some("serving it failed"));
            }
        }
    }

    fn flush(&mut self, id: u64) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        match connection.flush(&mut self.desk) {
            Ok(false) => {}
            Ok(true) => connection.go_on(&mut self.again),
            Err(_) => self.close(id, None),
        }
    }

    fn read_mail(&mut self) {
        let mut mails = std::mem::take(&mut self.mails);
        self.mailbox.take(&mut mails);
        let mut touched = Vec::new();
        for mail in mails.drain(..) {
            match mail {
                Mail::Send(id, out) => self.queue(id, out, &mut touched),
                Mail::Adopt(socket) => self.adopt(socket),
                Mail::Listen(listener) => self.listen(listener),
                Mail::Close(id, reason) => {
                    self.flush(id);
                    self.close(id, Some(reason));
                }
                Mail::Resume => {
                    for id in std::mem::take(&mut self.waiting_for_python) {
                        if let Some(connection) = self.connections.get_mut(&id) {
                            connection.waits_for = None;
                            connection.go_on(&mut self.again);
                        }
                    }
                }
                Mail::Stop(deadline) => {
                    self.listeners.clear();
                    self.stop_at = Some(deadline);
                }
            }
        }
        self.mails = mails;
        for id in touched {
            self.flush(id);
        }
    }

    /// Queue an answer; several for one connection leave together.
    fn queue(&mut self, id: u64, out: Outgoing, touched: &mut Vec<u64>) {
        if let Some(connection) = self.connections.get_mut(&id) {
            connection.send(out);
            if touched.last() != Some(&id) {
                touched.push(id);
            }
        }
    }

    fn listen(&mut self, listener: std::net::TcpListener) {
        let mut listener = TcpListener::from_std(listener);
        let token = Token(FIRST_LISTENER + self.listeners.len());
        if token.0 <= LISTENERS_MAX
            && self.poll.registry().register(&mut listener, token, Interest::READABLE).is_ok()
        {
            self.listeners.push(listener);
            self.accept_again = true;
        }
    }

    fn accept(&mut self) {
        if !std::mem::take(&mut self.accept_again) {
            return;
        }
        for index in 0..self.listeners.len() {
            loop {
                match self.listeners[index].accept() {
                    Ok((socket, _)) => self.place(socket),
                    Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                    Err(error) if is_clients_fault(&error) => {}
                    Err(_) => {
                        self.accept_again = true;
                        break;
                    }
                }
            }
        }
    }

    /// Give a new connection to the thread that has the fewest.
    fn place(&mut self, socket: TcpStream) {
        let load = |mailbox: &Arc<Mailbox>| mailbox.connections().load(Ordering::Relaxed);
        let Some(least) = self.shared.mailboxes.iter().min_by_key(|mailbox| load(mailbox)) else { return };
        least.connections().fetch_add(1, Ordering::Relaxed);
        if Arc::ptr_eq(least, &self.mailbox) {
            self.adopt(socket);
        } else {
            least.put(Mail::Adopt(socket));
        }
    }

    fn adopt(&mut self, mut socket: TcpStream) {
        let id = Peer::next_connection(self.index);
        // Without it small answers wait for each other; a socket that refuses still works.
        let _: io::Result<()> = socket.set_nodelay(true);
        let interest = Interest::READABLE | Interest::WRITABLE;
        if self.stop_at.is_some()
            || self.poll.registry().register(&mut socket, Token(id as usize), interest).is_err()
        {
            self.mailbox.connections().fetch_sub(1, Ordering::Relaxed);
            return;
        }
        Counters::add(&self.shared.counters.opened, 1);
        let room = self.shared.room.clone();
        self.connections.insert(id, Connection::new(id, socket, room, self.now_ms));
    }

    fn close(&mut self, id: u64, reason: Option<&'static str>) {
        let Some(mut connection) = self.connections.remove(&id) else { return };
        connection.part(&mut self.desk);
        let _: io::Result<()> = self.poll.registry().deregister(&mut connection.socket);
        self.mailbox.connections().fetch_sub(1, Ordering::Relaxed);
        let Some(peer) = connection.peer() else { return };
        self.shared.peers.lock().remove(&id);
        for opaque in peer.close() {
            self.shared.inbox.put_event(Item::Answered(peer.clone(), opaque, None));
        }
        self.shared.inbox.put_event(Item::Closed(peer.clone(), reason));
    }

    fn idle_scan_interval(&self) -> Duration {
        let idle = self.shared.config.idle;
        if idle.is_zero() { TICK } else { (idle / 4).clamp(SHORT_TICK, TICK) }
    }

    /// Whom we keep waiting ourselves is not idle.
    fn close_idle(&mut self) {
        let idle_ms = self.shared.config.idle.as_millis() as u64;
        if idle_ms == 0 || self.now_ms < self.scanned_ms + self.idle_scan_interval().as_millis() as u64 {
            return;
        }
        self.scanned_ms = self.now_ms;
        let quiet: Vec<u64> = self
            .connections
            .iter()
            .filter(|(_, each)| each.waits_for.is_none() && each.active_ms + idle_ms <= self.now_ms)
            .map(|(id, _)| *id)
            .collect();
        Counters::add(&self.shared.counters.closed_idle, quiet.len());
        for id in quiet {
            self.close(id, Some("it was idle"));
        }
    }

    /// Whether the thread may leave: everything is answered and sent, or time is up.
    fn is_done(&mut self) -> bool {
        let Some(deadline) = self.stop_at else { return false };
        // In this order: who answers first puts the answer into the mailbox, then stops counting.
        let answered = self.mailbox.unanswered() == 0;
        self.read_mail();
        let sent = !self.connections.values().any(Connection::has_unsent);
        (answered && sent) || Instant::now() >= deadline
    }
}

/// Errors of `accept` that concern only the client that was to be accepted.
fn is_clients_fault(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::Interrupted)
}
