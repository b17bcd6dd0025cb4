//! Totals since start, under RocketMQ's names for them.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hashbrown::HashMap;
use parking_lot::RwLock;

use super::keys::{Pair, PairRef};

/// Messages and bytes.
#[derive(Debug, Default)]
pub struct Tally {
    messages: AtomicU64,
    bytes: AtomicU64,
}

impl Tally {
    pub fn add(&self, messages: u64, bytes: u64) {
        self.messages.fetch_add(messages, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub fn messages(&self) -> u64 {
        self.messages.load(Ordering::Relaxed)
    }

    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }
}

type TopicTallies = RwLock<HashMap<Box<[u8]>, Arc<Tally>>>;

/// Kept for topics and groups that are gone, too: whoever reads totals twice must never see one shrink.
#[derive(Debug, Default)]
pub struct Counters {
    topic_puts: TopicTallies,
    /// First halves of transactions, by the topic that they are meant for.
    half_puts: TopicTallies,
    /// By topic and group.
    group_gets: RwLock<HashMap<Pair, Arc<Tally>>>,
    pub broker_puts: Tally,
    pub broker_gets: Tally,
    pub reads: Reads,
}

/// Looks into queues for pulls, whatever became of the pulls.
#[derive(Debug, Default)]
pub struct Reads {
    found: AtomicU64,
    missed: AtomicU64,
    slowest_ms: AtomicU64,
}

impl Reads {
    pub fn note(&self, found: bool, took: Duration) {
        let outcome = if found { &self.found } else { &self.missed };
        outcome.fetch_add(1, Ordering::Relaxed);
        let ms = took.as_millis() as u64;
        // Looked at first: a maximum is seldom beaten, and all threads would write it.
        if ms > self.slowest_ms.load(Ordering::Relaxed) {
            self.slowest_ms.fetch_max(ms, Ordering::Relaxed);
        }
    }

    pub fn slowest_ms(&self) -> u64 {
        self.slowest_ms.load(Ordering::Relaxed)
    }
}

impl Counters {
    pub fn topic_puts(&self, topic: &[u8]) -> Arc<Tally> {
        tally(&self.topic_puts, topic)
    }

    pub fn half_puts(&self, topic: &[u8]) -> Arc<Tally> {
        tally(&self.half_puts, topic)
    }

    pub fn count_get(&self, topic: &[u8], group: &[u8], messages: u64, bytes: u64) {
        self.broker_gets.add(messages, bytes);
        let known = self.group_gets.read().get(&PairRef(topic, group)).cloned();
        let tally = known.unwrap_or_else(|| {
            self.group_gets.write().entry(PairRef(topic, group).to_owned()).or_default().clone()
        });
        tally.add(messages, bytes);
    }

    /// Every counter that is not zero, as name, key and total. The broker's own have its cluster for a key.
    pub fn report(&self, cluster: &str) -> Vec<(&'static str, String, u64)> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let mut totals = vec![
            ("BROKER_PUT_NUMS", cluster.to_owned(), self.broker_puts.messages()),
            ("BROKER_GET_NUMS", cluster.to_owned(), self.broker_gets.messages()),
            ("READS_FOUND", cluster.to_owned(), self.reads.found.load(Ordering::Relaxed)),
            ("READS_MISSED", cluster.to_owned(), self.reads.missed.load(Ordering::Relaxed)),
        ];
        for (topic, tally) in self.topic_puts.read().iter() {
            totals.push(("TOPIC_PUT_NUMS", text(topic), tally.messages()));
            totals.push(("TOPIC_PUT_SIZE", text(topic), tally.bytes()));
        }
        for (topic, tally) in self.half_puts.read().iter() {
            totals.push(("HALF_PUT_NUMS", text(topic), tally.messages()));
        }
        for (Pair(topic, group), tally) in self.group_gets.read().iter() {
            let key = format!("{}@{}", text(topic), text(group));
            totals.push(("GROUP_GET_NUMS", key.clone(), tally.messages()));
            totals.push(("GROUP_GET_SIZE", key, tally.bytes()));
        }
        totals.retain(|&(_, _, total)| total > 0);
        totals
    }
}

fn tally(tallies: &TopicTallies, topic: &[u8]) -> Arc<Tally> {
    if let Some(tally) = tallies.read().get(topic) {
        return tally.clone();
    }
    tallies.write().entry(topic.into()).or_default().clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_have_rocketmqs_names_and_keys() {
        let counters = Counters::default();
        counters.topic_puts(b"T").add(3, 300);
        counters.topic_puts(b"T").add(1, 50);
        counters.topic_puts(b"idle");
        counters.half_puts(b"T").add(1, 60);
        counters.broker_puts.add(4, 350);
        counters.count_get(b"T", b"G", 2, 200);
        for (found, ms) in [(true, 3), (false, 7), (true, 5)] {
            counters.reads.note(found, Duration::from_millis(ms));
        }
        assert_eq!(counters.reads.slowest_ms(), 7);
        let mut totals = counters.report("C");
        totals.sort();
        let total = |name, key: &str, total| (name, key.to_owned(), total);
        assert_eq!(
            totals,
            [
                total("BROKER_GET_NUMS", "C", 2),
                total("BROKER_PUT_NUMS", "C", 4),
                total("GROUP_GET_NUMS", "T@G", 2),
                total("GROUP_GET_SIZE", "T@G", 200),
                total("HALF_PUT_NUMS", "T", 1),
                total("READS_FOUND", "C", 2),
                total("READS_MISSED", "C", 1),
                total("TOPIC_PUT_NUMS", "T", 4),
                total("TOPIC_PUT_SIZE", "T", 350),
            ]
        );
    }
}
