use std::sync::Arc;

use bumpalo::Bump;
use mio::{Poll, Token, Waker};

use crate::net::encode::{self, Head};
use crate::net::frame::next_frame;
use crate::net::header::Encoding;
use crate::net::hot::Outbox;
use crate::net::inbox::{Budget, Inbox, Item};
use crate::net::kind::Kind;
use crate::net::mailbox::Mailbox;
use crate::net::outgoing::Outgoing;
use crate::net::peer::Peer;

const HEARTBEAT: i32 = 34;
const QUERY: i32 = 12;
const SEND: i32 = 310;

fn peer() -> Arc<Peer> {
    let poll = Poll::new().unwrap();
    let mailbox = Mailbox::new(Waker::new(poll.registry(), Token(0)).unwrap());
    let address = "127.0.0.1:1".parse().unwrap();
    Arc::new(Peer::new(1, address, address, Arc::new(mailbox)))
}

fn inbox(count: usize, bytes: usize) -> Inbox {
    Inbox::new([Budget { count, bytes }; 4]).unwrap()
}

/// Leave a request to Python; true when that went over budget.
fn put(inbox: &Inbox, peer: &Arc<Peer>, code: i32, body: &[u8]) -> bool {
    let mut bytes = Vec::new();
    let head = Head { encoding: Encoding::Json, code, opaque: 0, flag: 0, remark: None, fields: &[] };
    encode::head(&mut bytes, &head, body.len());
    bytes.extend_from_slice(body);
    let bump = Bump::new();
    let frame = next_frame(&mut &bytes[..], 1 << 24, &bump).unwrap().unwrap();
    let mut sent = Outgoing::default();
    let mut out = Outbox {
        out: &mut sent,
        peer,
        inbox: Some(inbox),
        given_back: false,
        pause: None,
        calls_after: false,
    };
    out.to_python(&frame);
    out.pause.is_some()
}

fn taken(inbox: &Inbox, limit: usize) -> Vec<Item> {
    let mut items = Vec::new();
    inbox.take(limit, &mut items);
    items
}

fn codes(inbox: &Inbox, limit: usize) -> Vec<i32> {
    let code = |item: &Item| if let Item::Request(frame, _) = item { frame.code } else { 0 };
    taken(inbox, limit).iter().map(code).collect()
}

/// Be done with a request; true when its kind has room again.
fn settle(inbox: &Inbox, item: Option<Item>) -> bool {
    let Some(Item::Request(frame, _)) = item else { panic!("a request") };
    inbox.settle(Kind::of(frame.code), frame.bytes())
}

#[test]
fn everything_comes_oldest_first() {
    let (inbox, peer) = (inbox(100, 1 << 20), peer());
    inbox.put_event(Item::Opened(peer.clone()));
    for code in [SEND, HEARTBEAT, QUERY, SEND, 999] {
        put(&inbox, &peer, code, b"");
    }
    inbox.put_event(Item::Closed(peer, None));
    assert_eq!(codes(&inbox, 3), [0, SEND, HEARTBEAT]);
    assert_eq!(codes(&inbox, 100), [QUERY, SEND, 999, 0]);
    assert!(codes(&inbox, 100).is_empty());
}

// shows: RM-30
#[test]
fn a_flood_leaves_room_for_the_others() {
    let (inbox, peer) = (inbox(1000, 1 << 20), peer());
    for _ in 0..500 {
        put(&inbox, &peer, QUERY, b"");
    }
    for code in [SEND, HEARTBEAT, 999] {
        put(&inbox, &peer, code, b"");
    }
    let taken = codes(&inbox, 64);
    assert_eq!(taken.len(), 64);
    for code in [SEND, HEARTBEAT, 999] {
        assert!(taken.contains(&code), "{code}");
    }
}

#[test]
fn a_full_kind_says_so_until_python_is_done_with_half_of_it() {
    let (inbox, peer) = (inbox(4, 1 << 20), peer());
    let full: Vec<bool> = (0..5).map(|_| put(&inbox, &peer, QUERY, b"")).collect();
    assert_eq!(full, [false, false, false, true, true]);
    assert!(!put(&inbox, &peer, HEARTBEAT, b""));
    let mut items = taken(&inbox, 100);
    items.retain(|item| matches!(item, Item::Request(frame, _) if frame.code == QUERY));
    assert!(put(&inbox, &peer, QUERY, b""), "what was taken is under way");
    items.extend(taken(&inbox, 100));
    let relieved: Vec<bool> = std::iter::from_fn(|| Some(settle(&inbox, Some(items.pop()?)))).collect();
    assert_eq!(relieved, [false, false, false, true, false, false]);
    assert!(!put(&inbox, &peer, QUERY, b""));
}

#[test]
fn bytes_are_counted_as_well() {
    let (inbox, peer) = (inbox(100, 1000), peer());
    assert!(!put(&inbox, &peer, SEND, &[0; 600]));
    assert!(put(&inbox, &peer, SEND, &[0; 600]));
    let mut items = taken(&inbox, 2);
    assert!(!settle(&inbox, items.pop()));
    assert!(settle(&inbox, items.pop()));
}

#[test]
fn a_request_counts_as_unanswered_until_its_handle_is_gone() {
    let (inbox, peer) = (inbox(100, 1000), peer());
    put(&inbox, &peer, SEND, b"");
    let mut items = Vec::new();
    inbox.take(1, &mut items);
    assert_eq!(peer.mailbox().unanswered(), 1);
    items.clear();
    assert_eq!(peer.mailbox().unanswered(), 0);
}
