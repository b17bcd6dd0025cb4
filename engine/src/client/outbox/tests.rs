//! The outbox against a server that stores nothing and says yes; what it was sent can be looked at.

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use proptest::prelude::*;

use super::*;
use crate::client::courier::tests::{Asked, Peer};
use crate::client::courier::{Courier, CourierConfig};
use crate::message::{batch, properties};

const PATIENCE: Duration = Duration::from_secs(20);

fn config() -> OutboxConfig {
    OutboxConfig {
        group: "g".into(),
        linger: Duration::from_hours(1),
        batch_bytes: 4096,
        batch_count: 10,
        room_bytes: 1 << 20,
        compression: None,
        compression_level: 5,
        compress_over: 4096,
        max_message_size: 1 << 20,
        timeout: PATIENCE,
        default_topic: "TBW102".into(),
        default_queues: 4,
        unit_mode: false,
        instance_id: String::new(),
        client_ip: [127, 0, 0, 1].into(),
    }
}

struct Stage {
    outbox: Arc<Outbox>,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Stage {
    /// An outbox for topic `T` with two queues at a server that says yes.
    fn new(config: OutboxConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address: Arc<str> = listener.local_addr().unwrap().to_string().into();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let seen = asked.clone();
        thread::spawn(move || {
            let mut peer = Peer::accept(&listener);
            while let Some(request) = peer.next() {
                let opaque = request.opaque;
                seen.lock().push(request);
                peer.answer(opaque, 0, b"");
            }
        });
        let courier = CourierConfig {
            connect: PATIENCE,
            idle: Duration::ZERO,
            frame_bytes_max: 1 << 20,
            binary: false,
            tls: None,
            keys: None,
        };
        let outbox = Outbox::new(Arc::new(Courier::new(courier).unwrap()), config);
        let target = |queue_id| Target { address: address.clone(), broker: "b".into(), queue_id };
        for topic in ["T", "%RETRY%g"] {
            outbox.set_route(topic, topic, vec![target(0), target(1)], vec![target(0), target(1)]);
        }
        Self { outbox, asked }
    }

    fn post(&self, topic: &str, body: &[u8], pairs: &[(&str, &str)]) -> Receipt {
        let mut text = Vec::new();
        let mut draft = Draft::new(body, 0, &mut text);
        for (name, value) in pairs {
            draft.push(name, value).unwrap();
        }
        match self.outbox.post(topic, draft).unwrap() {
            Posted::Accepted(receipt) => receipt,
            Posted::NoRoute | Posted::NoQueue | Posted::NoRoom(_) => panic!("not accepted"),
        }
    }

    /// Messages of each request, once all are answered.
    fn flushed(&self) -> Vec<usize> {
        assert!(self.outbox.flush(Instant::now() + PATIENCE));
        let count = |each: &Asked| if each.is("m", "true") { batch::entries(&each.body).count() } else { 1 };
        self.asked.lock().iter().map(count).collect()
    }
}

#[test]
fn a_batch_goes_when_it_has_enough_messages() {
    let stage = Stage::new(config());
    for _ in 0..25 {
        stage.post("T", b"x", &[]);
    }
    assert_eq!(stage.flushed(), [10, 10, 5]);
    let queues: Vec<bool> = stage.asked.lock().iter().map(|each| each.is("e", "0")).collect();
    assert_ne!(queues[0], queues[1], "whole batches go round the queues");
    assert_eq!(queues[0], queues[2]);
}

#[test]
fn a_batch_goes_before_it_gets_too_long() {
    let stage = Stage::new(config());
    for _ in 0..5 {
        stage.post("T", &[b'x'; 1500], &[]);
    }
    assert_eq!(stage.flushed(), [2, 2, 1]);
    assert!(stage.asked.lock().iter().all(|each| each.body.len() <= 4096));
}

#[test]
fn a_batch_of_one_is_a_plain_message() {
    let stage = Stage::new(config());
    let receipt = stage.post("T", b"body", &[("TAGS", "a")]);
    assert_eq!(stage.flushed(), [1]);
    let asked = stage.asked.lock();
    assert_eq!((asked[0].code, asked[0].body.as_slice()), (310, &b"body"[..]));
    let text = asked[0].field("i");
    assert_eq!(properties::find(text.as_bytes(), b"UNIQ_KEY"), Some(receipt.message_id().as_bytes()));
    assert_eq!(properties::find(text.as_bytes(), b"TAGS"), Some(&b"a"[..]));
}

#[test]
fn what_cannot_be_in_a_batch_goes_at_once_and_alone() {
    let cases: [(&str, &[u8], &str, &str); 8] = [
        ("T", b"x", "DELAY", "1"),
        ("T", b"x", "TIMER_DELAY_MS", "1"),
        ("T", b"x", "TIMER_DELIVER_MS", "1"),
        ("T", b"x", "TRAN_MSG", "true"),
        ("T", b"x", "MSG_TYPE", "reply"),
        ("T", b"x", "INNER_MULTI_DISPATCH", "%LMQ%a"),
        ("%RETRY%g", b"x", "a", "b"),
        ("T", &[b'x'; 4096], "a", "b"),
    ];
    for (topic, body, name, value) in cases {
        let stage = Stage::new(config());
        let other = stage.post("T", b"y", &[]);
        let receipt = stage.post(topic, body, &[(name, value)]);
        assert!(receipt.parcel.wait(Instant::now() + PATIENCE), "{name}");
        assert!(!other.parcel.is_done(), "{name}");
        assert_eq!(stage.flushed(), [1, 1], "{name}");
        let asked = stage.asked.lock();
        assert_eq!(asked[0].is("f", "4"), name == "TRAN_MSG");
        assert_eq!(asked[0].code == 325, name == "MSG_TYPE");
    }
}

#[test]
fn messages_that_want_a_queue_are_collected_for_it() {
    let stage = Stage::new(config());
    let tally = Tally::new(false);
    let post = |wanted| {
        let mut text = Vec::new();
        let draft = Draft::new(b"x", 0, &mut text);
        stage.outbox.post_to("T", draft, wanted, Some(&tally)).unwrap()
    };
    for number in 0..30 {
        let queue_id = number % 3 / 2;
        assert!(matches!(post(Wanted::Queue { broker: Some("b"), queue_id }), Posted::Accepted(_)));
    }
    for nowhere in [(None, 2), (Some("c"), 0)] {
        let wanted = Wanted::Queue { broker: nowhere.0, queue_id: nowhere.1 };
        assert!(matches!(post(wanted), Posted::NoQueue));
    }
    assert_eq!(stage.flushed(), [10, 10, 10]);
    let queues: Vec<usize> =
        ["0", "1"].map(|id| stage.asked.lock().iter().filter(|each| each.is("e", id)).count()).to_vec();
    assert_eq!(queues, [2, 1]);
    assert_eq!((tally.stored(), tally.under_way()), (30, 0));
}

#[test]
fn a_key_has_its_queue_also_while_that_is_left_alone() {
    let stage = Stage::new(config());
    let target = |queue_id| Target { address: "127.0.0.1:1".into(), broker: "b".into(), queue_id };
    stage.outbox.set_route("K", "K", vec![target(0)], (0..4).map(target).collect());
    for (key, queue_id) in [("a", 1), ("b", 2), ("c", 3), ("d", 0)] {
        let mut text = Vec::new();
        let draft = Draft::new(b"x", 0, &mut text);
        let posted = stage.outbox.post_to("K", draft, Wanted::OfKey(key), None).unwrap();
        let Posted::Accepted(receipt) = posted else { panic!("not accepted") };
        stage.outbox.push_out();
        assert_eq!(receipt.parcel.target().unwrap().queue_id, queue_id);
        assert!(receipt.parcel.terms.is_bound);
    }
}

#[test]
fn what_is_collected_for_a_queue_goes_there_when_the_route_changes() {
    let stage = Stage::new(config());
    let mut text = Vec::new();
    let wanted = Wanted::Queue { broker: None, queue_id: 1 };
    let posted = stage.outbox.post_to("T", Draft::new(b"x", 0, &mut text), wanted, None).unwrap();
    let Posted::Accepted(receipt) = posted else { panic!("not accepted") };
    stage.outbox.set_route("T", "T", Vec::new(), Vec::new());
    assert!(receipt.parcel.wait(Instant::now() + PATIENCE));
    assert_eq!(receipt.parcel.fate().unwrap().queue_id, 1);
}

#[test]
fn messages_of_two_tallies_do_not_travel_together() {
    let stage = Stage::new(config());
    let tallies = [Tally::new(false), Tally::new(false)];
    for tally in &tallies {
        for _ in 0..3 {
            let mut text = Vec::new();
            stage.outbox.post_to("T", Draft::new(b"x", 0, &mut text), Wanted::Any, Some(tally)).unwrap();
        }
    }
    assert_eq!(stage.flushed(), [3, 3]);
    assert_eq!(tallies.map(|tally| tally.stored()), [3, 3]);
}

#[test]
fn a_batch_of_its_own_time_goes_by_itself() {
    for linger in [0, 10] {
        let stage = Stage::new(OutboxConfig { linger: Duration::from_millis(linger), ..config() });
        let receipt = stage.post("T", b"x", &[]);
        assert!(receipt.parcel.wait(Instant::now() + PATIENCE));
        assert_eq!(stage.asked.lock().len(), 1);
    }
}

#[test]
fn there_is_room_for_one_message_and_no_more_than_the_limit() {
    let stage = Stage::new(OutboxConfig { room_bytes: 200, batch_bytes: 1 << 20, ..config() });
    let mut text = Vec::new();
    stage.post("T", &[b'x'; 500], &[]);
    let posted = stage.outbox.post("T", Draft::new(b"x", 0, &mut text)).unwrap();
    assert!(matches!(posted, Posted::NoRoom(_)));
    assert_eq!(stage.flushed(), [1]);
    stage.post("T", b"x", &[]);
    assert_eq!(stage.outbox.room().messages(), 1);
    assert_eq!(stage.flushed(), [1, 1]);
    assert_eq!((stage.outbox.room().messages(), stage.outbox.room().bytes()), (0, 0));
}

#[test]
fn a_message_that_cannot_be_sent_takes_no_room() {
    let stage = Stage::new(OutboxConfig { max_message_size: 10, ..config() });
    let mut text = Vec::new();
    for (body, expected) in [(&b""[..], Unsendable::NoBody), (&[1; 11], Unsendable::BodyTooLong(11, 10))] {
        assert_eq!(stage.outbox.post("T", Draft::new(body, 0, &mut text)).err(), Some(expected));
    }
    let mut draft = Draft::new(b"x", 0, &mut text);
    assert_eq!(draft.push("a", "\u{2}"), Err(Unsendable::Separator("a".into())));
    assert_eq!(draft.push("\u{1}", "a"), Err(Unsendable::Separator("\u{1}".into())));
    assert_eq!(stage.outbox.room().bytes(), 0);
}

#[test]
fn a_stopped_courier_fails_what_was_collected_and_what_comes_later() {
    let stage = Stage::new(config());
    stage.outbox.courier().stop(Duration::ZERO);
    for _ in 0..2 {
        let receipt = stage.post("T", b"x", &[]);
        assert!(receipt.parcel.is_done());
        assert_eq!(receipt.parcel.fate().unwrap().code, -1004);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_message_is_sent_once_and_in_order_of_its_batch(
        lens in prop::collection::vec(1_usize..3000, 1..60),
        waits in prop::collection::vec(any::<bool>(), 60),
    ) {
        let stage = Stage::new(config());
        let mut sent = Vec::new();
        for (index, len) in lens.iter().enumerate() {
            let mut body = vec![b'x'; *len];
            body.extend_from_slice(&(index as u32).to_be_bytes());
            stage.post("T", &body, &[("WAIT", if waits[index] { "true" } else { "false" })]);
            sent.push(body);
        }
        stage.flushed();
        let mut got: Vec<Vec<u8>> = Vec::new();
        for each in stage.asked.lock().iter() {
            if each.is("m", "true") {
                prop_assert!(each.body.len() <= 4096);
                for entry in batch::entries(&each.body) {
                    got.push(entry.unwrap().body.to_vec());
                }
            } else {
                got.push(each.body.clone());
            }
        }
        prop_assert_eq!(got, sent);
    }
}
