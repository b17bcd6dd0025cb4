//! The courier against servers that do what they are told: a thread and a listener each.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use bumpalo::Bump;

use super::*;
use crate::net::encode::{self, Head};
use crate::net::frame::{frame_len, next_frame};
use crate::net::header::{Encoding, FLAG_RESPONSE};

/// Long enough for anything that has to happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn config() -> CourierConfig {
    CourierConfig {
        connect: Duration::from_secs(5),
        idle: Duration::ZERO,
        frame_bytes_max: 1 << 20,
        binary: false,
        tls: None,
        keys: None,
    }
}

/// What a request of a test became.
#[derive(Debug, PartialEq, Eq)]
enum Told {
    Answered(i32, Vec<u8>),
    Sent,
    Failed(i32, String),
}

struct Teller(Sender<Told>);

impl Waiter for Teller {
    fn done(self: Arc<Self>, outcome: Outcome<'_>) {
        let told = match outcome {
            Outcome::Answered(frame) => Told::Answered(frame.header.code, frame.body.to_vec()),
            Outcome::Sent => Told::Sent,
            Outcome::Failed(failure) => Told::Failed(failure.code, failure.remark),
        };
        // A test that has ended does not care.
        let _ = self.0.send(told);
    }
}

struct Desk {
    courier: Courier,
    address: Arc<str>,
    sender: Sender<Told>,
    told: Receiver<Told>,
}

impl Desk {
    fn new(config: CourierConfig, address: &str) -> Self {
        let (sender, told) = channel();
        let courier = Courier::new(config).unwrap();
        Self { courier, address: address.into(), sender, told }
    }

    fn ask(&self, body: &[u8], patience: Duration) {
        self.ask_by(body, patience, false);
    }

    fn ask_by(&self, body: &[u8], patience: Duration, oneway: bool) {
        self.courier.send(Request {
            address: &self.address,
            code: 310,
            fields: &[("b", "T".into())],
            body: Arc::new(body.to_vec()),
            deadline: Instant::now() + patience,
            oneway,
            drains: true,
            waiter: Arc::new(Teller(self.sender.clone())),
        });
    }

    fn told(&self) -> Told {
        self.told.recv_timeout(PATIENCE).unwrap()
    }

    fn told_failure(&self) -> (i32, String) {
        match self.told() {
            Told::Failed(code, remark) => (code, remark),
            other => panic!("{other:?}"),
        }
    }
}

/// A request that a server got.
pub struct Asked {
    pub code: i32,
    pub opaque: i32,
    flag: i32,
    pub body: Vec<u8>,
    fields: Vec<(String, String)>,
}

impl Asked {
    pub fn field(&self, name: &str) -> &str {
        self.fields.iter().find(|(each, _)| each == name).map_or("", |(_, value)| value)
    }

    pub fn is(&self, name: &str, value: &str) -> bool {
        self.field(name) == value
    }
}

/// The server's side of a connection.
pub struct Peer {
    socket: TcpStream,
    bytes: Vec<u8>,
}

impl Peer {
    pub fn accept(listener: &TcpListener) -> Self {
        Self { socket: listener.accept().unwrap().0, bytes: Vec::new() }
    }

    /// The next request; `None` when the client closed.
    pub fn next(&mut self) -> Option<Asked> {
        while frame_len(&self.bytes, 1 << 24).unwrap().is_none_or(|len| self.bytes.len() < len) {
            let mut more = [0; 4096];
            let count = self.socket.read(&mut more).unwrap_or(0);
            if count == 0 {
                return None;
            }
            self.bytes.extend_from_slice(&more[..count]);
        }
        let bytes = std::mem::take(&mut self.bytes);
        let (bump, mut rest) = (Bump::new(), bytes.as_slice());
        let frame = next_frame(&mut rest, 1 << 24, &bump).unwrap().unwrap();
        self.bytes = rest.to_vec();
        let fields = frame.header.fields.iter();
        Some(Asked {
            code: frame.header.code,
            opaque: frame.header.opaque,
            flag: frame.header.flag,
            body: frame.body.to_vec(),
            fields: fields.map(|each| (each.key.to_str().into(), each.value.to_str().into())).collect(),
        })
    }

    pub fn answer(&mut self, opaque: i32, code: i32, body: &[u8]) {
        self.write(opaque, code, FLAG_RESPONSE, body);
    }

    fn write(&mut self, opaque: i32, code: i32, flag: i32, body: &[u8]) {
        let mut out = Vec::new();
        let head = Head { encoding: Encoding::Json, code, opaque, flag, remark: None, fields: &[] };
        encode::head(&mut out, &head, body.len());
        out.extend_from_slice(body);
        self.socket.write_all(&out).unwrap();
    }
}

/// A server of one thread.
fn served(serve: impl FnOnce(TcpListener) + Send + 'static) -> (String, thread::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    (address, thread::spawn(move || serve(listener)))
}

#[test]
fn answers_in_any_order_find_their_requests() {
    for binary in [false, true] {
        let (address, server) = served(|listener| {
            let mut peer = Peer::accept(&listener);
            let mut asked: Vec<Asked> = (0..3).map(|_| peer.next().unwrap()).collect();
            asked.reverse();
            for each in asked {
                peer.answer(each.opaque, 0, &each.body);
            }
        });
        let desk = Desk::new(CourierConfig { binary, ..config() }, &address);
        for body in [&b"one"[..], b"two", &[3; 5000]] {
            desk.ask(body, PATIENCE);
        }
        assert_eq!(desk.told(), Told::Answered(0, vec![3; 5000]));
        assert_eq!(desk.told(), Told::Answered(0, b"two".to_vec()));
        assert_eq!(desk.told(), Told::Answered(0, b"one".to_vec()));
        server.join().unwrap();
    }
}

#[test]
fn an_answer_longer_than_one_read_arrives_whole() {
    let body: Vec<u8> = (0..900_000_u32).map(|at| at as u8).collect();
    let sent = body.clone();
    let (address, server) = served(move |listener| {
        let mut peer = Peer::accept(&listener);
        for _ in 0..3 {
            let opaque = peer.next().unwrap().opaque;
            peer.answer(opaque, 0, &sent);
        }
    });
    let desk = Desk::new(config(), &address);
    for _ in 0..3 {
        desk.ask(b"x", PATIENCE);
    }
    for _ in 0..3 {
        assert_eq!(desk.told(), Told::Answered(0, body.clone()));
    }
    server.join().unwrap();
}

#[test]
fn a_request_without_an_answer_times_out_and_the_next_one_is_served() {
    let (address, server) = served(|listener| {
        let mut peer = Peer::accept(&listener);
        let late = peer.next().unwrap().opaque;
        let opaque = peer.next().unwrap().opaque;
        peer.answer(late, 0, b"too late");
        peer.answer(opaque, 0, b"in time");
    });
    let desk = Desk::new(config(), &address);
    desk.ask(b"one", Duration::from_millis(20));
    assert_eq!(desk.told_failure().0, Failure::TIME_OUT);
    desk.ask(b"two", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, b"in time".to_vec()));
    server.join().unwrap();
}

#[test]
fn short_tries_on_a_connection_that_has_gone_silent_open_another() {
    let (address, server) = served(|listener| {
        let mut silent = Peer::accept(&listener);
        while silent.next().is_some() {}
        let mut peer = Peer::accept(&listener);
        let opaque = peer.next().unwrap().opaque;
        peer.answer(opaque, 0, b"back");
    });
    let desk = Desk::new(config(), &address);
    loop {
        desk.ask(b"try", Duration::from_millis(500));
        if desk.told() == Told::Answered(0, b"back".to_vec()) {
            break;
        }
    }
    server.join().unwrap();
}

#[test]
fn requests_of_a_lost_connection_fail_and_the_next_one_opens_another() {
    let (address, server) = served(|listener| {
        let mut peer = Peer::accept(&listener);
        peer.next().unwrap();
        peer.next().unwrap();
        drop(peer);
        let mut peer = Peer::accept(&listener);
        let opaque = peer.next().unwrap().opaque;
        peer.answer(opaque, 0, b"back");
    });
    let desk = Desk::new(config(), &address);
    desk.ask(b"one", PATIENCE);
    desk.ask(b"two", PATIENCE);
    assert_eq!(desk.told_failure().0, Failure::SEND_FAILED);
    assert_eq!(desk.told_failure().0, Failure::SEND_FAILED);
    desk.ask(b"three", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, b"back".to_vec()));
    server.join().unwrap();
}

/// A server that gives every request of one connection its body back.
fn echoing() -> (String, thread::JoinHandle<()>) {
    served(|listener| {
        let mut peer = Peer::accept(&listener);
        while let Some(asked) = peer.next() {
            peer.answer(asked.opaque, 0, &asked.body);
        }
    })
}

#[test]
fn a_frame_that_lies_ends_its_connection_only() {
    let (good, server) = echoing();
    let mut desk = Desk::new(config(), &good);
    desk.ask(b"one", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, b"one".to_vec()));
    for lie in
        [&b"\xFF\xFF\xFF\xFF"[..], b"\0\0\0\x02\0\0", b"\0\0\0\x08\0\0\0\xFF{}..", b"HTTP/1.1 400 no\r\n"]
    {
        let (bad, liar) = served(move |listener| {
            let mut peer = Peer::accept(&listener);
            peer.next().unwrap();
            peer.socket.write_all(lie).unwrap();
            assert!(peer.next().is_none(), "the client must close");
        });
        desk.address = bad.as_str().into();
        desk.ask(b"two", PATIENCE);
        let (code, remark) = desk.told_failure();
        assert_eq!(code, Failure::SEND_FAILED);
        assert!(remark.contains("no RocketMQ frame"), "{remark}");
        liar.join().unwrap();
    }
    desk.address = good.as_str().into();
    desk.ask(b"three", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, b"three".to_vec()));
    drop(desk);
    server.join().unwrap();
}

#[test]
fn a_server_that_goes_away_is_asked_once_more_at_its_address() {
    let (address, server) = served(|listener| {
        let mut old = Peer::accept(&listener);
        let (first, second) = (old.next().unwrap(), old.next().unwrap());
        old.answer(first.opaque, 1500, b"");
        let mut new = Peer::accept(&listener);
        let again = new.next().unwrap();
        assert_eq!(again.body, first.body);
        new.answer(again.opaque, 0, b"successor");
        // The old one still answers what it took.
        old.answer(second.opaque, 0, b"old one");
        assert!(old.next().is_none(), "nobody needs it any more");
        let later = new.next().unwrap();
        new.answer(later.opaque, 0, b"later");
    });
    let desk = Desk::new(config(), &address);
    desk.ask(b"one", PATIENCE);
    desk.ask(b"two", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, b"successor".to_vec()));
    assert_eq!(desk.told(), Told::Answered(0, b"old one".to_vec()));
    desk.ask(b"three", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, b"later".to_vec()));
    server.join().unwrap();
}

#[test]
fn a_second_server_that_goes_away_is_the_answer() {
    let (address, server) = served(|listener| {
        for _ in 0..2 {
            let mut peer = Peer::accept(&listener);
            let opaque = peer.next().unwrap().opaque;
            peer.answer(opaque, 1500, b"");
        }
    });
    let desk = Desk::new(config(), &address);
    desk.ask(b"one", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(1500, Vec::new()));
    server.join().unwrap();
}

#[test]
fn what_a_server_asks_is_declined() {
    let (address, server) = served(|listener| {
        let mut peer = Peer::accept(&listener);
        let opaque = peer.next().unwrap().opaque;
        peer.write(77, 40, 2, b"nobody answers this one");
        peer.write(78, 39, 0, b"");
        let declined = peer.next().unwrap();
        assert_eq!((declined.opaque, declined.flag), (78, FLAG_RESPONSE));
        peer.answer(opaque, 0, b"");
    });
    let desk = Desk::new(config(), &address);
    desk.ask(b"one", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, Vec::new()));
    server.join().unwrap();
}

#[test]
fn a_oneway_request_is_done_when_it_is_sent() {
    let (address, server) = served(|listener| {
        let mut peer = Peer::accept(&listener);
        let asked = peer.next().unwrap();
        assert_eq!((asked.flag, asked.body), (2, b"one".to_vec()));
    });
    let desk = Desk::new(config(), &address);
    desk.ask_by(b"one", PATIENCE, true);
    assert_eq!(desk.told(), Told::Sent);
    server.join().unwrap();
}

#[test]
fn who_cannot_be_reached_is_named() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for (address, code, text) in [
        (free.to_string(), Failure::SEND_FAILED, "cannot connect to 127.0.0.1"),
        ("no.such.host.invalid:9876".into(), Failure::SEND_FAILED, "no.such.host.invalid"),
        ("nonsense".into(), Failure::ADDRESS, "host:port"),
    ] {
        let desk = Desk::new(config(), &address);
        desk.ask(b"one", PATIENCE);
        let (told, remark) = desk.told_failure();
        assert_eq!(told, code);
        assert!(remark.contains(text), "{remark}");
    }
}

#[test]
fn a_name_is_looked_up() {
    let (address, server) = echoing();
    let desk = Desk::new(config(), &address.replace("127.0.0.1", "localhost"));
    desk.ask(b"one", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, b"one".to_vec()));
    drop(desk);
    server.join().unwrap();
}

#[test]
fn an_idle_connection_is_closed() {
    let (address, server) = echoing();
    let desk = Desk::new(CourierConfig { idle: Duration::from_millis(10), ..config() }, &address);
    desk.ask(b"one", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, b"one".to_vec()));
    // The server ends with its connection.
    server.join().unwrap();
}

#[test]
fn a_stop_waits_for_answers_as_long_as_it_may() {
    let (address, server) = served(|listener| {
        let mut peer = Peer::accept(&listener);
        let asked = peer.next().unwrap();
        peer.answer(asked.opaque, 0, &asked.body);
        peer.next().unwrap();
        assert!(peer.next().is_none());
    });
    let desk = Desk::new(config(), &address);
    desk.ask(b"one", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, b"one".to_vec()));
    desk.ask(b"two", PATIENCE);
    desk.courier.stop(Duration::from_millis(50));
    assert_eq!(desk.told_failure(), (Failure::SEND_FAILED, "the client is stopped".into()));
    desk.ask(b"three", PATIENCE);
    assert_eq!(desk.told_failure(), (Failure::SEND_FAILED, "the client is stopped".into()));
    desk.courier.stop(Duration::ZERO);
    server.join().unwrap();
}

#[test]
fn a_courier_that_never_started_can_be_stopped() {
    let desk = Desk::new(config(), "127.0.0.1:1");
    desk.courier.stop(PATIENCE);
    desk.ask(b"one", PATIENCE);
    assert_eq!(desk.told_failure().1, "the client is stopped");
}

#[test]
fn a_request_is_signed_with_the_keys() {
    let (address, server) = served(|listener| {
        let mut peer = Peer::accept(&listener);
        let asked = peer.next().unwrap();
        let names: Vec<&str> = asked.fields.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "AccessKey", "SecurityToken", "Signature"]);
        peer.answer(asked.opaque, 0, b"");
    });
    let keys =
        Keys { access_key: "ak".into(), secret_key: "sk".into(), security_token: Some("token".into()) };
    let desk = Desk::new(CourierConfig { keys: Some(keys), ..config() }, &address);
    desk.ask(b"one", PATIENCE);
    assert_eq!(desk.told(), Told::Answered(0, Vec::new()));
    server.join().unwrap();
}

struct Note(Sender<(&'static str, bool)>, &'static str);

impl Errand for Note {
    fn run(self: Arc<Self>, _: Instant, last: bool) {
        self.0.send((self.1, last)).unwrap();
    }
}

#[test]
fn errands_are_run_at_their_time_and_at_the_end() {
    let courier = Courier::new(config()).unwrap();
    let (sender, notes) = channel();
    let now = Instant::now();
    assert!(courier.at(now + Duration::from_hours(1), Arc::new(Note(sender.clone(), "never"))));
    assert!(courier.at(now + Duration::from_millis(20), Arc::new(Note(sender.clone(), "second"))));
    assert!(courier.at(now, Arc::new(Note(sender.clone(), "first"))));
    assert_eq!(notes.recv_timeout(PATIENCE), Ok(("first", false)));
    assert_eq!(notes.recv_timeout(PATIENCE), Ok(("second", false)));
    courier.stop(Duration::ZERO);
    assert_eq!(notes.recv_timeout(PATIENCE), Ok(("never", true)));
    assert!(!courier.at(now, Arc::new(Note(sender, "too late"))));
}
