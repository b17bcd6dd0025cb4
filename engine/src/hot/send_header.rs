//! What a send says about its message, in its header and in the message's properties.

use std::ops::Range;

use super::codes::request;
use super::waiting::Asked;
use crate::message::layout::property;
use crate::message::properties;
use crate::net::frame::Frame;
use crate::net::text::Text;

/// The fields of a send, found in one walk.
#[derive(Clone, Copy, Debug, Default)]
pub struct SendFields<'a> {
    pub topic: Option<Text<'a>>,
    pub queue_id: Option<Text<'a>>,
    pub sys_flag: Option<Text<'a>>,
    pub born_timestamp: Option<Text<'a>>,
    pub flag: Option<Text<'a>>,
    pub properties: Option<Text<'a>>,
    pub reconsume_times: Option<Text<'a>>,
    pub batch: Option<Text<'a>>,
}

impl<'a> SendFields<'a> {
    pub fn of(frame: &Frame<'a>) -> Self {
        let mut found = Self::default();
        let is_long = frame.header.code == request::SEND_MESSAGE;
        for field in frame.header.fields {
            let Some(name) = field.key.borrowed() else { continue };
            let slot = if is_long { found.by_long_name(name) } else { found.by_letter(name) };
            if let Some(slot) = slot {
                *slot = Some(field.value);
            }
        }
        found
    }

    fn by_letter(&mut self, name: &str) -> Option<&mut Option<Text<'a>>> {
        Some(match name {
            "b" => &mut self.topic,
            "e" => &mut self.queue_id,
            "f" => &mut self.sys_flag,
            "g" => &mut self.born_timestamp,
            "h" => &mut self.flag,
            "i" => &mut self.properties,
            "j" => &mut self.reconsume_times,
            "m" => &mut self.batch,
            _ => return None,
        })
    }

    fn by_long_name(&mut self, name: &str) -> Option<&mut Option<Text<'a>>> {
        Some(match name {
            "topic" => &mut self.topic,
            "queueId" => &mut self.queue_id,
            "sysFlag" => &mut self.sys_flag,
            "bornTimestamp" => &mut self.born_timestamp,
            "flag" => &mut self.flag,
            "properties" => &mut self.properties,
            "reconsumeTimes" => &mut self.reconsume_times,
            "batch" => &mut self.batch,
            _ => return None,
        })
    }
}

/// What the properties of a message mean for its way into the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct Properties {
    /// Where the unique key stands in the text.
    pub unique_key: Option<Range<usize>>,
    /// Whether the producer wants to wait for the disk.
    pub waits: bool,
    /// How it asks to wait, if it does.
    pub asked: Option<Asked>,
    /// The first half of a transaction.
    pub is_prepared: bool,
    /// Something in it is the broker's to say, or must not be stored.
    pub needs_cleaning: bool,
}

/// Properties that the broker sets itself.
const OURS: [&[u8]; 3] = [property::MSG_REGION, property::TRACE_ON, property::CLUSTER];

impl Properties {
    pub fn look(text: &str) -> Self {
        let mut seen =
            Self { unique_key: None, waits: true, asked: None, is_prepared: false, needs_cleaning: false };
        for (name, value) in properties::iter(text.as_bytes()) {
            match name {
                property::UNIQ_KEY => {
                    let at = value.as_ptr() as usize - text.as_ptr() as usize;
                    seen.unique_key = Some(at..at + value.len());
                }
                property::WAIT => seen.waits = value.eq_ignore_ascii_case(b"true"),
                property::TRAN_MSG => seen.is_prepared = value.eq_ignore_ascii_case(b"true"),
                property::POP_CK => seen.needs_cleaning = true,
                property::DELAY => seen.note_asked(name, value),
                _ if name.starts_with(b"TIMER_") => seen.note_asked(name, value),
                _ => seen.needs_cleaning |= OURS.contains(&name),
            }
        }
        seen
    }
}

impl Properties {
    fn note_asked(&mut self, name: &[u8], value: &[u8]) {
        self.asked.get_or_insert_default().note(name, value);
    }
}

/// The text without what a client may not set.
pub fn cleaned(text: &str) -> String {
    let mut kept = Vec::with_capacity(text.len());
    for (name, value) in properties::iter(text.as_bytes()) {
        if name != property::POP_CK && !OURS.contains(&name) {
            properties::push(&mut kept, name, value);
        }
    }
    String::from_utf8(kept).unwrap_or_default() // separators are ASCII, so the parts of text are text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn look(text: &str) -> Properties {
        Properties::look(text)
    }

    #[test]
    fn plain_properties_ask_for_nothing() {
        let text = "TAGS\u{1}a\u{2}UNIQ_KEY\u{1}U1\u{2}WAIT\u{1}true\u{2}";
        let seen = look(text);
        assert_eq!(seen.unique_key.clone().map(|range| &text[range]), Some("U1"));
        assert!(seen.waits && seen.asked.is_none() && !seen.needs_cleaning);
        assert_eq!(look("").unique_key, None);
    }

    #[test]
    fn a_producer_may_decline_to_wait() {
        for (value, waits) in [("true", true), ("TRUE", true), ("false", false), ("no", false)] {
            assert_eq!(look(&format!("WAIT\u{1}{value}\u{2}")).waits, waits, "{value}");
        }
    }

    #[test]
    fn delayed_and_timed_messages_ask_to_wait() {
        for name in ["DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS"] {
            assert!(look(&format!("{name}\u{1}1\u{2}")).asked.is_some(), "{name}");
        }
    }

    #[test]
    fn a_message_is_prepared_when_it_says_true() {
        for (value, prepared) in [("true", true), ("True", true), ("false", false), ("1", false)] {
            assert_eq!(look(&format!("TRAN_MSG\u{1}{value}\u{2}")).is_prepared, prepared, "{value}");
        }
    }

    #[test]
    fn what_only_the_broker_sets_is_cleaned_away() {
        for name in ["MSG_REGION", "TRACE_ON", "CLUSTER", "POP_CK"] {
            let text = format!("a\u{1}1\u{2}{name}\u{1}mine\u{2}b\u{1}2");
            assert!(look(&text).needs_cleaning, "{name}");
            assert_eq!(cleaned(&text), "a\u{1}1\u{2}b\u{1}2\u{2}");
        }
    }

    proptest! {
        #[test]
        fn nothing_that_is_the_brokers_survives_cleaning(
            text in "((CLUSTER|POP_CK|TRACE_ON|UNIQ_KEY|a|ü)?[\u{1}\u{2}]?[a-c\u{1}ß]{0,4}\u{2}?){0,8}",
        ) {
            let kept = cleaned(&text);
            prop_assert!(!Properties::look(&kept).needs_cleaning);
            let key = |text: &str| Properties::look(text).unique_key.map(|range| text[range].to_owned());
            prop_assert_eq!(key(&kept), key(&text));
        }
    }
}
