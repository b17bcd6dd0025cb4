//! Connections that wait, and others on the same thread that do not.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::super::config::{ClientAuth, ServerConfig, TlsConfig, TlsMode};
use super::super::frame::Frame;
use super::super::hot::{Hot, Outbox, Reply};
use super::super::inbox::Budget;
use super::super::peer::Peer;
use super::super::server::Server;

const SEND: i32 = 10;
const ASK: i32 = 11;
const LIMIT: usize = 1 << 20;

/// Answers everything, and holds those back who send.
#[derive(Default)]
struct Slow {
    pressed: AtomicBool,
    served: AtomicUsize,
}

impl Hot for Slow {
    fn serve(&self, frames: &[Frame<'_>], _: &Arc<Peer>, out: &mut Outbox<'_>) {
        for frame in frames {
            self.served.fetch_add(1, Ordering::Relaxed);
            out.reply(frame, &Reply::code(0));
            if frame.header.code == SEND && self.is_pressed() {
                out.hold_back();
            }
        }
    }

    fn is_pressed(&self) -> bool {
        self.pressed.load(Ordering::Relaxed)
    }
}

fn serving<H: Hot>(hot: &Arc<H>) -> (Server, u16) {
    let config = ServerConfig {
        threads: 1,
        idle: Duration::ZERO,
        frame_bytes_max: 16 << 20,
        partial_bytes_max: LIMIT,
        high_water: 1 << 20,
        low_water: 1 << 19,
        backlog: 16,
        send_buffer: 0,
        receive_buffer: 0,
        budgets: [Budget { count: 10, bytes: 1 << 20 }; 4],
        tls: TlsConfig {
            mode: TlsMode::Disabled,
            identity: None,
            self_signed: false,
            client_auth: ClientAuth::None,
            trusted: None,
        },
    };
    let server = Server::start(config, Some(hot.clone())).unwrap();
    let port = server.listen("127.0.0.1", 0).unwrap();
    (server, port)
}

fn client(port: u16) -> TcpStream {
    let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    socket
}

fn request(code: i32, body: usize) -> Vec<u8> {
    let header = format!(r#"{{"code":{code},"flag":0,"language":"JAVA","opaque":7,"version":400}}"#);
    let mut frame = ((4 + header.len() + body) as u32).to_be_bytes().to_vec();
    frame.extend((header.len() as u32).to_be_bytes());
    frame.extend(header.as_bytes());
    frame.resize(frame.len() + body, b'x');
    frame
}

/// Read one answer.
fn answer(socket: &mut TcpStream) {
    let mut len = [0; 4];
    socket.read_exact(&mut len).unwrap();
    let mut rest = vec![0; u32::from_be_bytes(len) as usize];
    socket.read_exact(&mut rest).unwrap();
}

fn asks(socket: &mut TcpStream) {
    socket.write_all(&request(ASK, 0)).unwrap();
    answer(socket);
}

/// Whether nothing can be read now.
fn is_silent(socket: &mut TcpStream) -> bool {
    socket.set_nonblocking(true).unwrap();
    let silent = matches!(socket.read(&mut [0; 1]), Err(error) if error.kind() == ErrorKind::WouldBlock);
    socket.set_nonblocking(false).unwrap();
    silent
}

#[test]
fn under_pressure_only_the_connection_that_sends_waits() {
    let hot = Arc::new(Slow::default());
    let (_server, port) = serving(&hot);
    let (mut sender, mut other) = (client(port), client(port));
    hot.pressed.store(true, Ordering::Relaxed);
    sender.write_all(&request(SEND, 100)).unwrap();
    answer(&mut sender);
    sender.write_all(&request(SEND, 100)).unwrap();
    for _ in 0..100 {
        asks(&mut other);
    }
    assert!(is_silent(&mut sender));
    hot.pressed.store(false, Ordering::Relaxed);
    answer(&mut sender);
    assert_eq!(hot.served.load(Ordering::Relaxed), 102);
}

#[test]
fn half_sent_frames_take_no_more_than_their_share_and_others_go_on() {
    let hot = Arc::new(Slow::default());
    let (server, port) = serving(&hot);
    let frame = request(SEND, 3 << 20);
    let (half, rest) = frame.split_at(2 << 20);
    let mut halves: Vec<_> = (0..8).map(|_| client(port)).collect();
    for socket in &mut halves {
        socket.set_nonblocking(true).unwrap();
        // What nobody reads stays in the kernel, which takes what it likes.
        let mut sent = 0;
        while let Ok(count) = socket.write(&half[sent..]) {
            sent += count;
            if sent == half.len() {
                break;
            }
        }
    }
    let mut other = client(port);
    for _ in 0..100 {
        asks(&mut other);
    }
    // The share, what a first read may bring beyond it, and the rest of the one frame that may be gathered anyway.
    let most = LIMIT + halves.len() * (256 << 10) + half.len();
    assert!(server.counters().bytes_in.load(Ordering::Relaxed) < (most + (1 << 16)) as u64);
    assert_eq!(server.connections(), halves.len() + 1);
    drop(halves);
    // With the others gone there is room for whole frames again.
    other.write_all(half).unwrap();
    other.write_all(rest).unwrap();
    answer(&mut other);
}

#[test]
fn frames_larger_than_the_memory_for_them_are_served_one_after_another() {
    let hot = Arc::new(Slow::default());
    let (_server, port) = serving(&hot);
    let senders: Vec<_> = (0..6)
        .map(|_| {
            std::thread::spawn(move || {
                let mut socket = client(port);
                for _ in 0..3 {
                    socket.write_all(&request(SEND, 2 * LIMIT)).unwrap();
                    answer(&mut socket);
                }
            })
        })
        .collect();
    for sender in senders {
        sender.join().unwrap();
    }
    assert_eq!(hot.served.load(Ordering::Relaxed), 18);
}

#[test]
fn a_frame_that_keeps_all_memory_and_never_ends_is_given_up() {
    let hot = Arc::new(Slow::default());
    let (server, port) = serving(&hot);
    let frame = request(SEND, 3 * LIMIT);
    let mut endless = client(port);
    endless.write_all(&frame[..2 * LIMIT]).unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while server.counters().bytes_in.load(Ordering::Relaxed) < 2 * LIMIT as u64 {
        assert!(Instant::now() < deadline, "the server does not read");
        std::thread::yield_now();
    }
    let mut patient = client(port);
    patient.write_all(&frame).unwrap();
    answer(&mut patient);
    assert_eq!(endless.read(&mut [0; 1]).unwrap(), 0, "it was closed");
}

/// Serves a flood, each part of it only when its sender has filled the socket again.
#[derive(Default)]
struct Flooded {
    is_full: AtomicBool,
    is_over: AtomicBool,
    /// It is to be stopped in the midst of one, and is.
    stops: AtomicBool,
    is_stopped: AtomicBool,
    floods: AtomicUsize,
    /// How many floods had been served when a question was answered.
    answered_at: AtomicUsize,
}

impl Hot for Flooded {
    fn serve(&self, frames: &[Frame<'_>], _: &Arc<Peer>, out: &mut Outbox<'_>) {
        if frames[0].header.code == SEND {
            until(|| self.is_full.swap(false, Ordering::SeqCst) || self.is_over.load(Ordering::SeqCst));
            self.floods.fetch_add(1, Ordering::SeqCst);
            self.is_stopped.store(self.stops.load(Ordering::SeqCst), Ordering::SeqCst);
            until(|| !self.stops.load(Ordering::SeqCst));
        } else {
            self.answered_at.store(self.floods.load(Ordering::SeqCst), Ordering::SeqCst);
            out.reply(&frames[0], &Reply::code(0));
        }
    }
}

fn until(condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !condition() {
        assert!(Instant::now() < deadline, "it did not come true");
        std::thread::yield_now();
    }
}

/// Fill a socket again and again, until it is over.
fn flood(mut socket: TcpStream, hot: &Flooded) {
    socket.set_nonblocking(true).unwrap();
    let frames = request(SEND, 8 << 10).repeat(64);
    let mut at = 0;
    while !hot.is_over.load(Ordering::SeqCst) {
        if let Ok(count) = socket.write(&frames[at..]) {
            at = (at + count) % frames.len();
        } else {
            hot.is_full.store(true, Ordering::SeqCst);
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_connection_that_is_never_empty_gets_no_more_turns_than_the_others() {
    let hot = Arc::new(Flooded::default());
    let (_server, port) = serving(&hot);
    let mut other = client(port);
    asks(&mut other);
    let mut longest = 0;
    std::thread::scope(|scope| {
        scope.spawn(|| flood(client(port), &hot));
        for round in 1..=20 {
            until(|| hot.floods.load(Ordering::SeqCst) >= 20 * round);
            hot.stops.store(true, Ordering::SeqCst);
            until(|| hot.is_stopped.swap(false, Ordering::SeqCst));
            let asked_at = hot.floods.load(Ordering::SeqCst);
            other.write_all(&request(ASK, 0)).unwrap();
            hot.stops.store(false, Ordering::SeqCst);
            answer(&mut other);
            longest = longest.max(hot.answered_at.load(Ordering::SeqCst) - asked_at);
        }
        hot.is_over.store(true, Ordering::SeqCst);
    });
    // The rest of one turn, and perhaps another one before the question is seen.
    assert!(longest <= 12, "{longest} floods were served first");
}
