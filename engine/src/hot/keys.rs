//! Keys of two parts, looked up by borrowed parts.

use hashbrown::Equivalent;

/// A topic and a group, or a group and a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pair(pub Box<[u8]>, pub Box<[u8]>);

/// A [`Pair`] to look for. Hashes as the owned one does.
#[derive(Clone, Copy, Debug, Hash)]
pub struct PairRef<'a>(pub &'a [u8], pub &'a [u8]);

impl Equivalent<Pair> for PairRef<'_> {
    fn equivalent(&self, key: &Pair) -> bool {
        *self.0 == *key.0 && *self.1 == *key.1
    }
}

impl PairRef<'_> {
    pub fn to_owned(self) -> Pair {
        Pair(self.0.into(), self.1.into())
    }
}

/// One queue of a topic.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct QueueKey(pub Box<[u8]>, pub i32);

/// A [`QueueKey`] to look for.
#[derive(Clone, Copy, Debug, Hash)]
pub struct QueueRef<'a>(pub &'a [u8], pub i32);

impl Equivalent<QueueKey> for QueueRef<'_> {
    fn equivalent(&self, key: &QueueKey) -> bool {
        self.1 == key.1 && *self.0 == *key.0
    }
}

impl QueueRef<'_> {
    pub fn to_owned(self) -> QueueKey {
        QueueKey(self.0.into(), self.1)
    }
}
