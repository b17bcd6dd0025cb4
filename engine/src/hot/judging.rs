//! How the messages of a pull are judged: by tags, by SQL92, or by the filter of the topic they came from.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::rulebook::{Filter, Rulebook};
use crate::filter::{BadExpression, SqlFilter};
use crate::log::filter::MessageFilter;
use crate::message::layout::property;
use crate::message::properties;

/// Expressions of pulls that bring their own; beyond this they are forgotten together.
const COMPILED_MAX: usize = 256;
/// A longer expression is compiled for each pull, so that memory stays bounded.
const COMPILED_BYTES_MAX: usize = 4096;

/// Expressions that pulls brought along, compiled: a client brings the same one with each pull.
#[derive(Debug, Default)]
pub struct Compiled(Mutex<HashMap<Box<str>, Arc<SqlFilter>>>);

impl Compiled {
    pub fn get(&self, expression: &str) -> Result<Arc<SqlFilter>, BadExpression> {
        if let Some(filter) = self.0.lock().get(expression) {
            return Ok(filter.clone());
        }
        let filter = Arc::new(SqlFilter::compile(expression)?);
        if expression.len() > COMPILED_BYTES_MAX {
            return Ok(filter);
        }
        let mut known = self.0.lock();
        if known.len() >= COMPILED_MAX {
            known.clear();
        }
        known.insert(expression.into(), filter.clone());
        Ok(filter)
    }
}

/// Judges a message of a retry topic by what its group wants of the topic it came from.
#[derive(Debug)]
pub struct OriginFilter<'a> {
    pub rulebook: &'a Rulebook,
    pub group: &'a str,
}

impl MessageFilter for OriginFilter<'_> {
    fn may_match(&self, _: i64) -> bool {
        true
    }

    fn matches(&self, text: &[u8]) -> bool {
        let origin = properties::find(text, property::RETRY_TOPIC);
        let subscription = origin.and_then(|topic| self.rulebook.subscription(self.group.as_bytes(), topic));
        match subscription.as_ref().map(|subscription| &subscription.filter) {
            Some(Filter::Sql(filter)) => filter.matches(text),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rulebook::Subscription;
    use super::*;

    #[test]
    fn an_expression_is_compiled_once_and_a_flood_of_them_is_forgotten() {
        let compiled = Compiled::default();
        let first = compiled.get("a > 1").unwrap();
        assert!(Arc::ptr_eq(&first, &compiled.get("a > 1").unwrap()));
        assert!(compiled.get("a >").is_err());
        for number in 0..2 * COMPILED_MAX {
            compiled.get(&format!("a > {number}")).unwrap();
        }
        assert!(compiled.0.lock().len() <= COMPILED_MAX);
        let long = format!("a = '{}'", "x".repeat(COMPILED_BYTES_MAX));
        assert!(compiled.get(&long).is_ok() && !compiled.0.lock().contains_key(long.as_str()));
    }

    // shows: FI-06
    #[test]
    fn a_retried_message_is_judged_by_the_filter_of_its_origin() {
        let rulebook = Rulebook::default();
        let sql = |text: &str| Filter::Sql(Arc::new(SqlFilter::compile(text).unwrap()));
        let subscription =
            Subscription { version: 1, filter: sql("a = '1'"), broadcast: false, by_python: false };
        rulebook.put_subscription(b"G", b"T", subscription);
        let filter = OriginFilter { rulebook: &rulebook, group: "G" };
        assert!(filter.matches(b"RETRY_TOPIC\x01T\x02a\x011\x02"));
        assert!(!filter.matches(b"RETRY_TOPIC\x01T\x02a\x012\x02"));
        assert!(filter.matches(b"RETRY_TOPIC\x01other\x02a\x012\x02"), "no filter, no refusal");
        assert!(filter.matches(b"a\x012\x02"));
    }
}
