//! A message on its way in, and what its properties mean for how it travels.

use crate::message::layout::{PROPERTIES_BYTES_MAX, property};
use crate::message::properties;

/// Bytes of a batch's entry besides its body and properties.
const ENTRY_BYTES: usize = 22;

/// Why a message cannot be sent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsendable {
    #[error("the name or value of property {0:?} has a control character (1 or 2) that ends properties")]
    Separator(String),
    #[error("the properties take {0} bytes; at most {PROPERTIES_BYTES_MAX} fit")]
    PropertiesTooLong(usize),
    #[error("the body has {0} bytes, more than max_message_size, {1}")]
    BodyTooLong(usize, usize),
    #[error("the message body length is zero: RocketMQ takes no empty messages")]
    NoBody,
    #[error("a batch needs messages")]
    NoMessages,
    #[error(
        "message {0} cannot be in a batch: it is delayed, timed or of a transaction, or has another `wait`"
    )]
    NotInBatch(usize),
}

/// A message as its user made it; the text of its properties is built by [`Draft::push`].
#[derive(Debug)]
pub struct Draft<'a> {
    pub body: &'a [u8],
    pub flag: i32,
    pub properties: &'a mut Vec<u8>,
    pub traits: Traits,
}

/// What properties say about how a message is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct Traits {
    pub has_key: bool,
    pub has_instance: bool,
    pub waits: bool,
    /// It cannot be part of a batch.
    pub is_alone: bool,
    pub is_prepared: bool,
    pub is_reply: bool,
    pub reconsume_times: i32,
    pub max_reconsume_times: Option<i32>,
}

impl Default for Traits {
    fn default() -> Self {
        Self {
            has_key: false,
            has_instance: false,
            waits: true,
            is_alone: false,
            is_prepared: false,
            is_reply: false,
            reconsume_times: 0,
            max_reconsume_times: None,
        }
    }
}

impl<'a> Draft<'a> {
    /// `properties` lends its memory.
    pub fn new(body: &'a [u8], flag: i32, properties: &'a mut Vec<u8>) -> Self {
        properties.clear();
        Self { body, flag, properties, traits: Traits::default() }
    }

    /// Add a property; an empty value is as good as none.
    pub fn push(&mut self, name: &str, value: &str) -> Result<(), Unsendable> {
        let ends =
            |text: &str| text.bytes().any(|byte| byte == property::NAME_END || byte == property::VALUE_END);
        if ends(name) || ends(value) {
            return Err(Unsendable::Separator(name.to_owned()));
        }
        self.traits.note(name.as_bytes(), value);
        properties::push(self.properties, name.as_bytes(), value.as_bytes());
        Ok(())
    }

    /// Its unique key, if it came with one.
    pub fn own_key(&self) -> Option<&str> {
        self.traits
            .has_key
            .then(|| properties::find(self.properties, property::UNIQ_KEY))?
            .and_then(|key| str::from_utf8(key).ok())
    }

    /// Bytes it takes in a batch.
    pub fn bytes(&self) -> usize {
        ENTRY_BYTES + self.body.len() + self.properties.len()
    }

    pub fn check(&self, max_message_size: usize) -> Result<(), Unsendable> {
        if self.body.is_empty() {
            return Err(Unsendable::NoBody);
        }
        if self.body.len() > max_message_size {
            return Err(Unsendable::BodyTooLong(self.body.len(), max_message_size));
        }
        if self.properties.len() > PROPERTIES_BYTES_MAX {
            return Err(Unsendable::PropertiesTooLong(self.properties.len()));
        }
        Ok(())
    }
}

impl Traits {
    fn note(&mut self, name: &[u8], value: &str) {
        if value.is_empty() {
            return;
        }
        match name {
            property::UNIQ_KEY => self.has_key = true,
            property::INSTANCE_ID => self.has_instance = true,
            property::WAIT => self.waits = value.eq_ignore_ascii_case("true"),
            property::TRAN_MSG if value.eq_ignore_ascii_case("true") => {
                (self.is_prepared, self.is_alone) = (true, true);
            }
            property::MSG_TYPE if value == "reply" => (self.is_reply, self.is_alone) = (true, true),
            property::RECONSUME_TIME => {
                (self.reconsume_times, self.is_alone) = (value.parse().unwrap_or(0), true);
            }
            property::MAX_RECONSUME_TIMES => {
                (self.max_reconsume_times, self.is_alone) = (value.parse().ok(), true);
            }
            // Light queues are filled message by message.
            property::DELAY | property::INNER_MULTI_DISPATCH => self.is_alone = true,
            _ if name.starts_with(b"TIMER_") => self.is_alone = true,
            _ => {}
        }
    }
}
