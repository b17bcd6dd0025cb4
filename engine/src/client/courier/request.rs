//! A request, and what can become of it.

use std::sync::Arc;
use std::time::Instant;

use crate::net::encode::Fields;
use crate::net::frame::Frame;

/// Something to ask a server.
pub struct Request<'a> {
    /// `host:port`.
    pub address: &'a Arc<str>,
    pub code: i32,
    pub fields: Fields<'a>,
    /// Kept until the request is answered, since it may have to be sent again.
    pub body: Arc<Vec<u8>>,
    /// For everything, connecting included.
    pub deadline: Instant,
    /// It is not answered, and done when its bytes are with the kernel.
    pub oneway: bool,
    /// Whether a stop waits for it; a pull that may be held for long is not worth that.
    pub drains: bool,
    pub waiter: Arc<dyn Waiter>,
}

/// Who waits for an answer.
pub trait Waiter: Send + Sync {
    /// Called once for each request, on the courier's thread; on the sender's own when the courier has stopped. So
    /// it has to be quick, and a sender holds no lock that is needed here.
    fn done(self: Arc<Self>, outcome: Outcome<'_>);
}

#[derive(Clone, Debug)]
pub enum Outcome<'a> {
    /// The server's answer, whatever its code says.
    Answered(&'a Frame<'a>),
    /// A oneway request is on its way.
    Sent,
    Failed(Failure),
}

/// No answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One of RocketMQ's codes for what goes wrong on the way: [`Failure::TIME_OUT`], [`Failure::SEND_FAILED`].
    pub code: i32,
    pub remark: String,
}

impl Failure {
    pub const ADDRESS: i32 = -1002;
    /// Not sent, or the connection was lost before the answer came.
    pub const SEND_FAILED: i32 = -1004;
    pub const TIME_OUT: i32 = -1006;

    pub fn send_failed(remark: impl Into<String>) -> Self {
        Self { code: Self::SEND_FAILED, remark: remark.into() }
    }
}

/// Something to do on the courier's thread at its time. It has to be quick.
pub trait Errand: Send + Sync {
    /// `last` when the courier stops: whatever it would do later it does now, or never.
    fn run(self: Arc<Self>, now: Instant, last: bool);
}
