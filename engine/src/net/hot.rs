//! Where the requests that are per message are answered: on the socket's own thread, without Python.

use std::sync::Arc;

use super::connection::Pause;
use super::encode::{Fields, Head};
use super::frame::Frame;
use super::header::{Encoding, FLAG_RESPONSE};
use super::inbox::{Inbox, OwnedFrame};
use super::mailbox::Mail;
use super::outgoing::{Body, Outgoing};
use super::peer::Peer;

/// Answers the requests that are per message, on the socket's own thread.
pub trait Hot: Send + Sync + 'static {
    /// Serve every request of one socket read in one go (one append lock for all sends among them).
    ///
    /// Each frame is either answered with `out.reply`, kept with `out.hold` and answered later from any thread,
    /// or left to Python with `out.to_python`. Responses never come here.
    fn serve(&self, frames: &[Frame<'_>], peer: &Arc<Peer>, out: &mut Outbox<'_>);

    /// Whether those whom `Outbox::hold_back` stopped have to wait still.
    fn is_pressed(&self) -> bool {
        false
    }

    /// The answers are on their way, after a serve that asked for this call with [`Outbox::call_after`].
    fn after_answers(&self) {}

    /// The server stops: answer what is held, so that it need not be waited for.
    fn release(&self) {}
}

/// What is answered. `Reply::code(0)` is the bare success.
#[derive(Clone, Copy, Debug)]
pub struct Reply<'a> {
    pub code: i32,
    pub remark: Option<&'a str>,
    pub fields: Fields<'a>,
    pub body: Body<'a>,
}

impl Reply<'_> {
    pub const fn code(code: i32) -> Self {
        Self { code, remark: None, fields: &[], body: Body::NONE }
    }
}

/// Takes the answers to one read of one connection; all of them leave with one write.
pub struct Outbox<'a> {
    pub(super) out: &'a mut Outgoing,
    pub(super) peer: &'a Arc<Peer>,
    /// Without it a request that is left to Python goes back to whoever gave it.
    pub(super) inbox: Option<&'a Inbox>,
    pub(super) given_back: bool,
    /// Whom the connection has to wait for before it is read again.
    pub(super) pause: Option<Pause>,
    pub(super) calls_after: bool,
}

impl Outbox<'_> {
    /// Have [`Hot::after_answers`] called when the answers have been given to the socket.
    pub fn call_after(&mut self) {
        self.calls_after = true;
    }

    /// Whether Python had the request before and gives it back: its marks do not count then.
    pub fn is_handed_back(&self) -> bool {
        self.inbox.is_none()
    }

    /// Answer now, in the request's encoding. A oneway request gets no answer.
    pub fn reply(&mut self, frame: &Frame<'_>, reply: &Reply<'_>) {
        if !frame.is_oneway() {
            self.out.frame(&head(Asked::of(frame), reply), reply.body);
        }
    }

    /// The connection that is served.
    pub fn connection(&self) -> u64 {
        self.peer.connection()
    }

    /// Keep the right to answer later.
    pub fn hold(&mut self, frame: &Frame<'_>) -> ReplyHandle {
        ReplyHandle::new(self.peer.clone(), frame)
    }

    /// Leave the request to Python.
    pub fn to_python(&mut self, frame: &Frame<'_>) {
        let Some(inbox) = self.inbox else {
            self.given_back = true;
            return;
        };
        let handle = self.hold(frame);
        if inbox.put_request(OwnedFrame::new(frame), handle) {
            self.pause = Some(Pause::Python);
        }
    }

    /// Read no more from the connection until `Hot::is_pressed` is over; the others go on.
    pub fn hold_back(&mut self) {
        self.pause = self.pause.or(Some(Pause::Store));
    }
}

/// A request to be answered, without its connection.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    opaque: i32,
    encoding: Encoding,
}

impl Asked {
    pub fn of(frame: &Frame<'_>) -> Self {
        Self { opaque: frame.header.opaque, encoding: frame.encoding }
    }
}

fn head<'a>(asked: Asked, reply: &Reply<'a>) -> Head<'a> {
    Head {
        encoding: asked.encoding,
        code: reply.code,
        opaque: asked.opaque,
        flag: FLAG_RESPONSE,
        remark: reply.remark,
        fields: reply.fields,
    }
}

/// The right to answer one request, once, from any thread; harmless when the connection is gone.
#[derive(Debug)]
pub struct ReplyHandle {
    peer: Arc<Peer>,
    asked: Asked,
    oneway: bool,
}

impl ReplyHandle {
    fn new(peer: Arc<Peer>, frame: &Frame<'_>) -> Self {
        peer.mailbox().expect_answer();
        Self { peer, asked: Asked::of(frame), oneway: frame.is_oneway() }
    }

    pub fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Whether an answer would still find its way.
    pub fn is_wanted(&self) -> bool {
        !self.oneway && self.peer.is_open()
    }

    pub fn reply(self, reply: &Reply<'_>) {
        let asked = self.asked;
        self.reply_all(|answers| answers.reply(asked, reply));
    }

    /// Answer further requests of the same connection along with this one: whoever owns the socket is woken once.
    pub fn reply_all(self, write: impl FnOnce(&mut Answers)) {
        if self.is_wanted() {
            let mut answers = Answers::default();
            write(&mut answers);
            self.peer.mailbox().put(Mail::Send(self.peer.connection(), answers.0));
        }
    }
}

/// Answers to requests of one connection, which leave together.
#[derive(Default)]
pub struct Answers(Outgoing);

impl Answers {
    pub fn reply(&mut self, asked: Asked, reply: &Reply<'_>) {
        self.0.frame(&head(asked, reply), reply.body);
    }
}

impl Drop for ReplyHandle {
    /// Answered or given up: either way nobody waits for it any more.
    fn drop(&mut self) {
        self.peer.mailbox().answered();
    }
}
