//! Messages that wait before they go to their topic: usual ones are put where they wait right here.

use super::path::HotPath;
use super::verdict::Verdict;
use crate::delay::onward::number;
use crate::delay::{SCHEDULE_TOPIC, TIMER_TOPIC};
use crate::log::clock::now_ms;
use crate::message::layout::property;

const RECALL_VERSION: &str = "v1";

/// What Python allows.
#[derive(Clone, Debug)]
pub struct WaitRules {
    /// The highest delay level; messages beyond it are Python's.
    pub level_max: i64,
    /// `None`: timed messages are Python's.
    pub timer: Option<TimerRule>,
    /// For the handle by which a producer can take a message back.
    pub broker: String,
}

#[derive(Clone, Copy, Debug)]
pub struct TimerRule {
    pub precision_ms: i64,
    pub delay_ms_max: i64,
}

/// How a message asks to wait.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    level: Option<i64>,
    delay_s: Option<i64>,
    delay_ms: Option<i64>,
    deliver_ms: Option<i64>,
    /// In a way that only Python understands.
    oddly: bool,
}

/// Where a message waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    pub topic: &'static [u8],
    pub queue_id: i32,
    /// The time of its slot, for a timed one.
    pub out_ms: Option<i64>,
}

impl Asked {
    /// Take note of a property; says whether it is one that asks.
    pub fn note(&mut self, name: &[u8], value: &[u8]) -> bool {
        let slot = match name {
            property::DELAY => &mut self.level,
            property::TIMER_DELAY_SEC => &mut self.delay_s,
            property::TIMER_DELAY_MS => &mut self.delay_ms,
            property::TIMER_DELIVER_MS => &mut self.deliver_ms,
            _ if name.starts_with(b"TIMER_") => {
                self.oddly = true;
                return true;
            }
            _ => return false,
        };
        *slot = number(value);
        self.oddly |= slot.is_none();
        true
    }

    fn deliver_ms(&self, now: i64) -> Option<i64> {
        self.delay_s
            .map(|seconds| now.saturating_add(seconds.saturating_mul(1000)))
            .or_else(|| self.delay_ms.map(|ms| now.saturating_add(ms)))
            .or(self.deliver_ms)
    }
}

impl WaitRules {
    /// Where a message waits; `None` if it need not.
    fn judge(&self, asked: &Asked, now: i64) -> Result<Option<Wait>, Verdict> {
        if asked.oddly {
            return Err(Verdict::Python);
        }
        let deliver = asked.deliver_ms(now);
        match (asked.level.unwrap_or(0), deliver) {
            (0, None) => Ok(None),
            (level, None) if (1..=self.level_max).contains(&level) => {
                Ok(Some(Wait { topic: SCHEDULE_TOPIC, queue_id: level as i32 - 1, out_ms: None }))
            }
            (0, Some(deliver)) => {
                let timer = self.timer.ok_or(Verdict::Python)?;
                if deliver <= now || deliver - now > timer.delay_ms_max {
                    return Err(Verdict::Python);
                }
                // It goes on when the slot is over, so never early.
                let out_ms = (deliver - 1) / timer.precision_ms * timer.precision_ms;
                Ok(Some(Wait { topic: TIMER_TOPIC, queue_id: 0, out_ms: Some(out_ms) }))
            }
            _ => Err(Verdict::Python),
        }
    }
}

impl HotPath {
    pub fn set_wait_rules(&self, rules: WaitRules) {
        *self.wait_rules.write() = Some(rules);
    }

    pub(super) fn judge_wait(&self, asked: &Asked) -> Result<Option<Wait>, Verdict> {
        self.wait_rules.read().as_ref().ok_or(Verdict::Python)?.judge(asked, now_ms())
    }

    /// What a producer needs to take a timed message back.
    pub(super) fn recall_handle(&self, wait: &Wait, topic: &[u8], unique_key: &str) -> Option<String> {
        let rules = self.wait_rules.read();
        // One more, so that a recall, which is for this time, falls into the same slot.
        let (time, broker) = (wait.out_ms? + 1, &rules.as_ref()?.broker);
        let topic = String::from_utf8_lossy(topic);
        Some(base64(format!("{RECALL_VERSION} {topic} {broker} {time} {unique_key}").as_bytes()))
    }
}

/// Base64 in its URL-safe alphabet, padded.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let of = |index: usize| group.get(index).map_or(0, |&byte| u32::from(byte));
        let bits = of(0) << 16 | of(1) << 8 | of(2);
        for index in 0..4 {
            let letter = ALPHABET[(bits >> (18 - 6 * index)) as usize & 63];
            text.push(if index > group.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_700_000_000_500;

    fn rules() -> WaitRules {
        let timer = TimerRule { precision_ms: 1000, delay_ms_max: 10_000 };
        WaitRules { level_max: 18, timer: Some(timer), broker: "b".into() }
    }

    fn judged(pairs: &[(&str, &str)]) -> Result<Option<Wait>, ()> {
        let mut asked = Asked::default();
        for (name, value) in pairs {
            assert!(asked.note(name.as_bytes(), value.as_bytes()));
        }
        rules().judge(&asked, NOW).map_err(|_| ())
    }

    fn slot(out_ms: i64) -> Wait {
        Wait { topic: TIMER_TOPIC, queue_id: 0, out_ms: Some(out_ms) }
    }

    #[test]
    fn a_level_is_a_queue_of_the_schedule_topic() {
        let wait = Wait { topic: SCHEDULE_TOPIC, queue_id: 2, out_ms: None };
        assert_eq!(judged(&[("DELAY", "3")]), Ok(Some(wait)));
        assert_eq!(judged(&[("DELAY", "0")]), Ok(None));
    }

    #[test]
    fn a_time_is_the_slot_that_ends_at_it_or_first_after_it() {
        assert_eq!(judged(&[("TIMER_DELAY_SEC", "2")]), Ok(Some(slot(1_700_000_002_000))));
        assert_eq!(judged(&[("TIMER_DELAY_MS", "500")]), Ok(Some(slot(1_700_000_000_000))));
        assert_eq!(judged(&[("TIMER_DELAY_MS", "501")]), Ok(Some(slot(1_700_000_001_000))));
        assert_eq!(judged(&[("TIMER_DELIVER_MS", "1700000009000")]), Ok(Some(slot(1_700_000_008_000))));
    }

    #[test]
    fn whatever_is_unusual_is_pythons() {
        for pairs in [
            &[("DELAY", "19")][..],
            &[("DELAY", "x")],
            &[("DELAY", "-1")],
            &[("DELAY", "1"), ("TIMER_DELAY_MS", "5")],
            &[("TIMER_DELAY_MS", "soon")],
            &[("TIMER_DELAY_SEC", "11")],
            &[("TIMER_DELAY_SEC", "9223372036854775807")],
            &[("TIMER_DELIVER_MS", "5")],
            &[("TIMER_DELAY_MS", "5"), ("TIMER_OUT_MS", "5")],
            &[("TIMER_DELIVER_MS", "1700000009000"), ("TIMER_DEL_UNIQKEY", "T+U")],
        ] {
            assert_eq!(judged(pairs), Err(()), "{pairs:?}");
        }
        assert!(!Asked::default().note(b"TAGS", b"a"));
    }

    #[test]
    fn base64_has_the_published_text() {
        assert_eq!(base64(b"v1 T b 123 UK"), "djEgVCBiIDEyMyBVSw==");
        assert_eq!(base64(b"\xff\xfe\xfd"), "__79");
        assert_eq!(base64(b""), "");
    }
}
