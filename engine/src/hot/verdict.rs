//! What became of a request that is not simply served.

use std::borrow::Cow;

use super::codes::response;
use crate::net::frame::Frame;
use crate::net::hot::{Outbox, Reply};
use crate::net::text::Text;

#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The rulebook does not say enough, or says that it is Python's.
    Python,
    Refuse(Refused),
}

/// An answer that carries a code and a sentence, and nothing else but perhaps which rule forbids it.
#[derive(Debug, PartialEq, Eq)]
pub struct Refused {
    pub code: i32,
    pub remark: Cow<'static, str>,
    pub forbidden: Option<Forbidden>,
}

/// Whose rule forbids a pull, by RocketMQ's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forbidden {
    Broker = 1,
    Group = 2,
    Topic = 3,
    Broadcast = 4,
}

pub fn refuse<T>(code: i32, remark: impl Into<Cow<'static, str>>) -> Result<T, Verdict> {
    Err(Verdict::Refuse(Refused { code, remark: remark.into(), forbidden: None }))
}

pub fn forbid<T>(by: Forbidden, remark: impl Into<Cow<'static, str>>) -> Result<T, Verdict> {
    Err(Verdict::Refuse(Refused {
        code: response::NO_PERMISSION,
        remark: remark.into(),
        forbidden: Some(by),
    }))
}

impl Refused {
    pub fn answer(&self, reply: impl FnOnce(&Reply<'_>)) {
        let forbidden = self.forbidden.map(|by| [("forbiddenType", (by as i64).into())]);
        reply(&Reply {
            remark: Some(&self.remark),
            fields: forbidden.as_ref().map_or(&[], |fields| fields),
            ..Reply::code(self.code)
        });
    }
}

impl Verdict {
    /// Act on it: hand the frame to Python, or answer with the refusal.
    pub fn carry_out(&self, frame: &Frame<'_>, out: &mut Outbox<'_>) {
        match self {
            Self::Python => out.to_python(frame),
            Self::Refuse(refused) => refused.answer(|reply| out.reply(frame, reply)),
        }
    }
}

/// The text of a field that a request cannot do without.
pub fn needed<'a>(field: Option<Text<'a>>, name: &str) -> Result<Text<'a>, Verdict> {
    match field {
        Some(text) if !text.is_empty() => Ok(text),
        _ => refuse(response::SYSTEM_ERROR, format!("the request lacks the field {name}")),
    }
}

/// The number in a field that a request cannot do without.
pub fn number<T: TryFrom<i64>>(field: Option<Text<'_>>, name: &str) -> Result<T, Verdict> {
    let text = needed(field, name)?;
    match text.int().and_then(|number| T::try_from(number).ok()) {
        Some(number) => Ok(number),
        None => refuse(
            response::SYSTEM_ERROR,
            format!("the field {name} must be a whole number in range, not {:?}", text.to_str()),
        ),
    }
}
