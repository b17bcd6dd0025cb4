//! What waits for Python: one queue for each kind of request, each with its own budget.

use std::collections::VecDeque;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

use bumpalo::Bump;
use parking_lot::Mutex;

use super::bell::Bell;
use super::frame::{self, Frame, Malformed};
use super::header::{Encoding, FLAG_ONEWAY, Language};
use super::hot::ReplyHandle;
use super::kind::{KINDS, Kind};
use super::peer::Peer;

/// A frame that outlives the read it came with.
#[derive(Debug)]
pub struct OwnedFrame {
    pub code: i32,
    pub opaque: i32,
    pub flag: i32,
    pub version: i32,
    pub language: Language,
    encoding: Encoding,
    raw: Box<[u8]>,
    body_at: usize,
}

impl OwnedFrame {
    pub fn new(frame: &Frame<'_>) -> Self {
        let header = &frame.header;
        Self {
            code: header.code,
            opaque: header.opaque,
            flag: header.flag,
            version: header.version,
            language: header.language,
            encoding: frame.encoding,
            raw: frame.raw.into(),
            body_at: frame.raw.len() - frame.body.len(),
        }
    }

    pub fn is_oneway(&self) -> bool {
        self.flag & FLAG_ONEWAY != 0
    }

    /// The length of all of it.
    pub fn bytes(&self) -> usize {
        self.raw.len()
    }

    pub fn body(&self) -> &[u8] {
        &self.raw[self.body_at..]
    }

    /// Decode it once more; it cannot fail, for it was decoded before.
    pub fn decode<'a>(&'a self, bump: &'a Bump) -> Result<Frame<'a>, Malformed> {
        frame::decode(self.encoding, self.body_at, &self.raw, bump)
    }
}

/// Something for Python.
#[derive(Debug)]
pub enum Item {
    Request(OwnedFrame, ReplyHandle),
    Opened(Arc<Peer>),
    /// With the reason, if it was ours.
    Closed(Arc<Peer>, Option<&'static str>),
    /// The response to a request of ours; without a frame when the connection closed first.
    Answered(Arc<Peer>, i32, Option<OwnedFrame>),
}

/// How much may wait, or be under way in Python, before the sockets that sent it are no longer read.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    pub count: usize,
    pub bytes: usize,
}

#[derive(Debug)]
struct Lane {
    /// With their place in the order of all lanes.
    items: VecDeque<(u64, Item)>,
    budget: Budget,
    requests: usize,
    bytes: usize,
    full: bool,
}

impl Lane {
    fn is_over(&self) -> bool {
        self.requests >= self.budget.count || self.bytes >= self.budget.bytes
    }

    /// Half of it: so that sockets are not stopped and started for every request.
    fn has_room(&self) -> bool {
        self.requests <= self.budget.count / 2 && self.bytes <= self.budget.bytes / 2
    }
}

#[derive(Debug)]
struct Lanes {
    each: [Lane; KINDS],
    len: usize,
    put: u64,
}

impl Lanes {
    /// The lane with the oldest item, among those that may still give one.
    fn oldest(&self, shares: &[usize; KINDS]) -> Option<usize> {
        (0..KINDS)
            .filter(|lane| shares[*lane] > 0)
            .filter_map(|lane| self.each[lane].items.front().map(|(order, _)| (*order, lane)))
            .min()
            .map(|(_, lane)| lane)
    }

    /// Take the oldest items, each lane no more than its share.
    fn take(&mut self, limit: usize, mut shares: [usize; KINDS], items: &mut Vec<Item>) {
        while items.len() < limit
            && let Some(lane) = self.oldest(&shares)
        {
            shares[lane] -= 1;
            let Some((_, item)) = self.each[lane].items.pop_front() else { break };
            items.push(item);
            self.len -= 1;
        }
    }
}

#[derive(Debug)]
pub struct Inbox {
    lanes: Mutex<Lanes>,
    /// Rings while there is something to take.
    bell: Bell,
}

impl Inbox {
    pub fn new(budgets: [Budget; KINDS]) -> io::Result<Self> {
        let lanes =
            budgets.map(|budget| Lane { items: VecDeque::new(), budget, requests: 0, bytes: 0, full: false });
        Ok(Self { lanes: Mutex::new(Lanes { each: lanes, len: 0, put: 0 }), bell: Bell::new()? })
    }

    pub fn fd(&self) -> RawFd {
        self.bell.fd()
    }

    /// Leave a request to Python; true when its kind is now over budget.
    pub fn put_request(&self, frame: OwnedFrame, handle: ReplyHandle) -> bool {
        let kind = Kind::of(frame.code);
        let mut lanes = self.lanes.lock();
        let lane = &mut lanes.each[kind as usize];
        lane.requests += 1;
        lane.bytes += frame.raw.len();
        lane.full |= lane.is_over();
        let full = lane.full;
        self.push(&mut lanes, kind, Item::Request(frame, handle));
        full
    }

    /// Tell Python what happened to a connection, in order with the requests of client management.
    pub fn put_event(&self, event: Item) {
        self.push(&mut self.lanes.lock(), Kind::Client, event);
    }

    fn push(&self, lanes: &mut Lanes, kind: Kind, item: Item) {
        lanes.put += 1;
        let order = lanes.put;
        lanes.each[kind as usize].items.push_back((order, item));
        lanes.len += 1;
        if lanes.len == 1 {
            self.bell.ring();
        }
    }

    /// Take up to `limit` items, oldest first; where one kind has many, each of the others gets its eighth.
    /// A request counts until it is [`Self::settle`]d.
    pub fn take(&self, limit: usize, items: &mut Vec<Item>) {
        let mut lanes = self.lanes.lock();
        let part = limit / 8;
        let mut shares = [part; KINDS];
        // Events are in this one, and should not come later than the requests that follow them.
        shares[Kind::Client as usize] = limit - part * (KINDS - 1);
        if part > 0 {
            lanes.take(limit, shares, items);
        }
        lanes.take(limit, [limit; KINDS], items);
        if lanes.len == 0 {
            self.bell.quiet();
        }
    }

    /// Python is done with a request of this kind and length; true when the kind was full and has room again.
    pub fn settle(&self, kind: Kind, bytes: usize) -> bool {
        let lane = &mut self.lanes.lock().each[kind as usize];
        lane.requests -= 1;
        lane.bytes -= bytes;
        let is_relieved = lane.full && lane.has_room();
        lane.full &= !is_relieved;
        is_relieved
    }
}
