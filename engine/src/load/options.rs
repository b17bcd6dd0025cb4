//! What a run is asked to do.

use std::net::SocketAddr;
use std::time::Duration;

use super::{LoadError, Result};

/// A body of an end-to-end run carries its run and the time it was due.
pub const STAMP_BYTES: usize = 16;
const BODY_BYTES_MAX: usize = 4 << 20;
const FRAME_BYTES_MAX: usize = 16 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Send messages, one by one or in batches.
    Send,
    /// Read queues from their beginning, over and over.
    Pull,
    /// Send at a rate and wait for each message at the other end.
    EndToEnd,
    /// Create topics.
    Create,
}

impl Mode {
    pub fn of_name(name: &str) -> Option<Self> {
        match name {
            "send" => Some(Self::Send),
            "pull" => Some(Self::Pull),
            "e2e" => Some(Self::EndToEnd),
            "create" => Some(Self::Create),
            _ => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Options {
    pub mode: Mode,
    pub address: SocketAddr,
    pub topic: String,
    /// With more than one, the topics are called `topic-00000`, `topic-00001`, ...
    pub topics: u32,
    pub queues: u32,
    pub group: String,
    pub connections: u32,
    pub in_flight: u32,
    pub threads: u32,
    pub body_bytes: usize,
    pub batch: u32,
    /// Properties of single messages, besides those every client gives.
    pub properties: Vec<(String, String)>,
    /// Messages per second over all connections; none for as fast as the server answers.
    pub rate: Option<f64>,
    pub warm_up: Duration,
    pub duration: Option<Duration>,
    /// Stop after so many messages (topics, when creating).
    pub count: Option<u64>,
    pub pull_batch: u32,
    /// RocketMQ's binary header instead of the JSON one, which most clients send.
    pub binary: bool,
    /// After a send run, wait until everything acknowledged can be read.
    pub consumable: bool,
    pub patience: Duration,
}

impl Options {
    /// Refuse what cannot work, before any connection is made.
    pub fn check(&self) -> Result<()> {
        let wrong = |text: &str| Err(LoadError::Options(text.to_owned()));
        let counts =
            [self.topics, self.queues, self.connections, self.in_flight, self.batch, self.pull_batch];
        if counts.contains(&0) || self.threads == 0 {
            return wrong("topics, queues, connections, in-flight, batch and threads are at least 1");
        }
        let is_plain = |text: &String| {
            !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"\\".contains(&byte))
        };
        if self.properties.iter().any(|(name, value)| !is_plain(name) || !is_plain(value)) {
            return wrong("properties are made of printable ASCII characters other than \" and \\");
        }
        if self.topic.is_empty() || self.topic.bytes().any(|byte| !byte.is_ascii_graphic() || byte == b'"') {
            return wrong("the topic needs a name of printable ASCII characters");
        }
        if self.body_bytes == 0 || self.body_bytes > BODY_BYTES_MAX {
            return wrong("a body has 1 byte to 4 MiB");
        }
        if self.mode == Mode::EndToEnd && (self.body_bytes < STAMP_BYTES || self.rate.is_none()) {
            return wrong("an end-to-end run needs a rate and bodies of 16 bytes or more");
        }
        if self.mode == Mode::EndToEnd && (self.batch > 1 || self.topics > 1) {
            return wrong("an end-to-end run sends single messages to one topic");
        }
        if (self.body_bytes + 128) * self.batch as usize > FRAME_BYTES_MAX {
            return wrong("a batch of these bodies is larger than a frame may be (16 MiB)");
        }
        if self.rate.is_some_and(|rate| !(rate.is_finite() && rate > 0.0)) {
            return wrong("a rate is more than 0 messages per second");
        }
        if self.duration.is_none() && self.count.is_none() {
            return wrong("a run needs a duration or a count");
        }
        Ok(())
    }

    /// Connections that thread `index` serves.
    pub fn connections_of(&self, index: u32) -> u32 {
        let threads = self.threads_used();
        self.connections / threads + u32::from(index < self.connections % threads)
    }

    /// No thread without a connection.
    pub fn threads_used(&self) -> u32 {
        self.threads.min(self.connections)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn options() -> Options {
        Options {
            mode: Mode::Send,
            address: "127.0.0.1:1".parse().unwrap(),
            topic: "Load".to_owned(),
            topics: 1,
            queues: 8,
            group: "load".to_owned(),
            connections: 2,
            in_flight: 4,
            threads: 1,
            body_bytes: 128,
            batch: 1,
            properties: Vec::new(),
            rate: None,
            warm_up: Duration::ZERO,
            duration: None,
            count: Some(1000),
            pull_batch: 32,
            binary: false,
            consumable: false,
            patience: Duration::from_secs(10),
        }
    }

    #[test]
    fn what_cannot_work_is_refused() {
        assert!(options().check().is_ok());
        let wrong = [
            Options { connections: 0, ..options() },
            Options { topic: String::new(), ..options() },
            Options { topic: "a\"b".to_owned(), ..options() },
            Options { body_bytes: 0, ..options() },
            Options { properties: vec![("DELAY".to_owned(), "a\"".to_owned())], ..options() },
            Options { properties: vec![(String::new(), "1".to_owned())], ..options() },
            Options { mode: Mode::EndToEnd, ..options() },
            Options { mode: Mode::EndToEnd, rate: Some(10.0), body_bytes: 15, ..options() },
            Options { rate: Some(0.0), ..options() },
            Options { count: None, ..options() },
            Options { batch: 100_000, body_bytes: 1024, ..options() },
        ];
        for options in wrong {
            assert!(options.check().is_err(), "{options:?}");
        }
    }

    #[test]
    fn connections_are_shared_out_among_threads() {
        let options = Options { connections: 8, threads: 3, ..options() };
        assert_eq!((0..3).map(|index| options.connections_of(index)).collect::<Vec<_>>(), [3, 3, 2]);
        assert_eq!(Options { connections: 2, threads: 3, ..options }.threads_used(), 2);
    }
}
