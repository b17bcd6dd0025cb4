//! What Python told the hot path: topics, groups and their subscriptions, changed entry by entry.

use std::sync::Arc;

use hashbrown::HashMap;
use parking_lot::RwLock;

use super::counters::Tally;
use super::keys::{Pair, PairRef};
use crate::filter::SqlFilter;
use crate::log::filter::{MessageFilter, TagFilter};

/// Bits of a permission.
pub mod perm {
    pub const WRITE: i32 = 2;
    pub const READ: i32 = 4;
}

#[derive(Debug)]
pub struct Topic {
    pub name: Box<[u8]>,
    pub read_queues: i32,
    pub write_queues: i32,
    pub perm: i32,
    pub sys_flag: i32,
    /// Sends to it are Python's.
    pub by_python: bool,
    pub puts: Arc<Tally>,
}

#[derive(Clone, Debug)]
pub struct Group {
    pub consume_enable: bool,
    pub broadcast_enable: bool,
    pub broker_id: i64,
    pub broker_id_when_slow: i64,
    pub sys_flag: i32,
    /// Its pulls are Python's.
    pub by_python: bool,
}

#[derive(Clone, Debug)]
pub struct Subscription {
    pub version: i64,
    pub filter: Filter,
    pub broadcast: bool,
    /// Its pulls are Python's.
    pub by_python: bool,
}

/// What a pull wants of a queue.
#[derive(Clone, Debug)]
pub enum Filter {
    All,
    Tags(Arc<TagFilter>),
    Sql(Arc<SqlFilter>),
    /// By what the group wants of the topic that a retried message came from.
    Origin,
}

impl Filter {
    pub fn of_tags(tags: Option<TagFilter>) -> Self {
        tags.map_or(Self::All, |tags| Self::Tags(Arc::new(tags)))
    }

    /// `None` for all messages, and where the messages say themselves whose filter it is.
    pub fn judge(&self) -> Option<&dyn MessageFilter> {
        match self {
            Self::All | Self::Origin => None,
            Self::Tags(filter) => Some(&**filter),
            Self::Sql(filter) => Some(&**filter),
        }
    }
}

/// Read by every socket's thread, so what is found is shared and a look-up holds its lock for no longer than it
/// takes.
#[derive(Debug, Default)]
pub struct Rulebook {
    topics: RwLock<HashMap<Box<[u8]>, Arc<Topic>>>,
    groups: RwLock<HashMap<Box<[u8]>, Arc<Group>>>,
    /// By group and topic.
    subscriptions: RwLock<HashMap<Pair, Arc<Subscription>>>,
}

impl Rulebook {
    pub fn put_topic(&self, topic: Topic) {
        self.topics.write().insert(topic.name.clone(), Arc::new(topic));
    }

    pub fn drop_topic(&self, name: &[u8]) {
        self.topics.write().remove(name);
    }

    pub fn topic(&self, name: &[u8]) -> Option<Arc<Topic>> {
        self.topics.read().get(name).cloned()
    }

    pub fn put_group(&self, name: &[u8], group: Group) {
        self.groups.write().insert(name.into(), Arc::new(group));
    }

    pub fn drop_group(&self, name: &[u8]) {
        self.groups.write().remove(name);
    }

    pub fn group(&self, name: &[u8]) -> Option<Arc<Group>> {
        self.groups.read().get(name).cloned()
    }

    pub fn put_subscription(&self, group: &[u8], topic: &[u8], subscription: Subscription) {
        self.subscriptions.write().insert(PairRef(group, topic).to_owned(), Arc::new(subscription));
    }

    pub fn drop_subscription(&self, group: &[u8], topic: &[u8]) {
        self.subscriptions.write().remove(&PairRef(group, topic));
    }

    pub fn subscription(&self, group: &[u8], topic: &[u8]) -> Option<Arc<Subscription>> {
        self.subscriptions.read().get(&PairRef(group, topic)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(name: &str, write_queues: i32) -> Topic {
        Topic {
            name: name.as_bytes().into(),
            read_queues: 4,
            write_queues,
            perm: perm::READ | perm::WRITE,
            sys_flag: 0,
            by_python: false,
            puts: Arc::default(),
        }
    }

    #[test]
    fn an_entry_is_replaced_and_dropped_by_its_name() {
        let book = Rulebook::default();
        book.put_topic(topic("A", 4));
        book.put_topic(topic("A", 8));
        assert_eq!(book.topic(b"A").map(|topic| topic.write_queues), Some(8));
        book.drop_topic(b"A");
        assert!(book.topic(b"A").is_none() && book.topic(b"B").is_none());
    }

    #[test]
    fn a_subscription_belongs_to_one_group_and_one_topic() {
        let book = Rulebook::default();
        let all = Subscription { version: 1, filter: Filter::All, broadcast: false, by_python: false };
        book.put_subscription(b"G", b"T", all);
        assert!(book.subscription(b"G", b"T").is_some());
        assert!(book.subscription(b"T", b"G").is_none() && book.subscription(b"GT", b"").is_none());
        book.drop_subscription(b"G", b"T");
        assert!(book.subscription(b"G", b"T").is_none());
    }
}
