//! Where each group stands in each queue.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use hashbrown::HashMap;
use parking_lot::{Mutex, RwLock};

use super::keys::{Pair, PairRef};

/// Between topic and group in the keys of `consumerOffset.json`. No name can hold it.
const SEPARATOR: char = '@';

/// A group's offsets on one topic, by queue.
#[derive(Debug, Default)]
struct Positions {
    committed: BTreeMap<i32, i64>,
    /// Where the last pull ended.
    pulled: BTreeMap<i32, i64>,
    /// Where the next pull is sent. Until then what clients commit is from before the reset, and ignored.
    reset: BTreeMap<i32, i64>,
}

/// Names of topics or groups.
type Names = BTreeSet<Box<[u8]>>;

#[derive(Debug, Default)]
struct Table {
    /// By topic and group.
    pairs: HashMap<Pair, Arc<Mutex<Positions>>>,
    groups_of: HashMap<Box<[u8]>, Names>,
    topics_of: HashMap<Box<[u8]>, Names>,
}

impl Table {
    fn get(&self, topic: &[u8], group: &[u8]) -> Option<&Arc<Mutex<Positions>>> {
        self.pairs.get(&PairRef(topic, group))
    }

    fn make(&mut self, topic: &[u8], group: &[u8]) -> Arc<Mutex<Positions>> {
        self.groups_of.entry(topic.into()).or_default().insert(group.into());
        self.topics_of.entry(group.into()).or_default().insert(topic.into());
        self.pairs.entry(PairRef(topic, group).to_owned()).or_default().clone()
    }

    fn remove(&mut self, topic: &[u8], group: &[u8]) -> Option<Arc<Mutex<Positions>>> {
        leave(&mut self.groups_of, topic, group);
        leave(&mut self.topics_of, group, topic);
        self.pairs.remove(&PairRef(topic, group))
    }

    /// The pairs of a topic, of a group, of both, or all.
    fn pairs_of(&self, topic: Option<&[u8]>, group: Option<&[u8]>) -> Vec<Pair> {
        let all = |names: Option<&Names>| names.into_iter().flatten().cloned().collect::<Vec<_>>();
        match (topic, group) {
            (Some(topic), Some(group)) => vec![PairRef(topic, group).to_owned()],
            (Some(topic), None) => {
                all(self.groups_of.get(topic)).into_iter().map(|group| Pair(topic.into(), group)).collect()
            }
            (None, Some(group)) => {
                all(self.topics_of.get(group)).into_iter().map(|topic| Pair(topic, group.into())).collect()
            }
            (None, None) => self.pairs.keys().cloned().collect(),
        }
    }
}

/// Take a name out of another's, and that one when it was the last.
fn leave(names: &mut HashMap<Box<[u8]>, Names>, of: &[u8], name: &[u8]) {
    if let Some(found) = names.get_mut(of) {
        found.remove(name);
        if found.is_empty() {
            names.remove(of);
        }
    }
}

#[derive(Debug, Default)]
pub struct Offsets {
    table: RwLock<Table>,
    /// Resets that no pull has picked up yet; zero nearly always.
    resets: AtomicUsize,
    version: AtomicU64,
}

/// A group on a queue.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    pub topic: &'a [u8],
    pub group: &'a [u8],
    pub queue_id: i32,
}

impl Offsets {
    fn find(&self, place: Place<'_>) -> Option<Arc<Mutex<Positions>>> {
        self.table.read().get(place.topic, place.group).cloned()
    }

    fn find_or_make(&self, place: Place<'_>) -> Arc<Mutex<Positions>> {
        self.find(place).unwrap_or_else(|| self.table.write().make(place.topic, place.group))
    }

    /// Keep what a client has consumed; false when a reset under way takes precedence.
    pub fn commit(&self, place: Place<'_>, offset: i64) -> bool {
        let positions = self.find_or_make(place);
        let mut positions = positions.lock();
        if positions.reset.contains_key(&place.queue_id) {
            return false;
        }
        positions.committed.insert(place.queue_id, offset);
        self.version.fetch_add(1, Ordering::Relaxed);
        true
    }

    pub fn committed(&self, place: Place<'_>) -> Option<i64> {
        let positions = self.find(place)?;
        let positions = positions.lock();
        positions.reset.get(&place.queue_id).or_else(|| positions.committed.get(&place.queue_id)).copied()
    }

    pub fn note_pull(&self, place: Place<'_>, next_offset: i64) {
        self.find_or_make(place).lock().pulled.insert(place.queue_id, next_offset);
    }

    pub fn pulled(&self, place: Place<'_>) -> Option<i64> {
        self.find(place)?.lock().pulled.get(&place.queue_id).copied()
    }

    /// Send the group's next pull of the queue to `offset`.
    pub fn reset(&self, place: Place<'_>, offset: i64) {
        // Held to the end: a reset of what somebody forgets meanwhile would be counted for ever.
        let mut table = self.table.write();
        let positions = table.make(place.topic, place.group);
        let mut positions = positions.lock();
        if positions.reset.insert(place.queue_id, offset).is_none() {
            self.resets.fetch_add(1, Ordering::AcqRel);
        }
        positions.committed.insert(place.queue_id, offset);
        self.version.fetch_add(1, Ordering::Relaxed);
    }

    /// Take the reset that waits for the next pull.
    pub fn take_reset(&self, place: Place<'_>) -> Option<i64> {
        if self.resets.load(Ordering::Acquire) == 0 {
            return None;
        }
        let offset = self.find(place)?.lock().reset.remove(&place.queue_id)?;
        self.resets.fetch_sub(1, Ordering::AcqRel);
        Some(offset)
    }

    /// Counts changes of committed offsets.
    pub fn version(&self) -> u64 {
        self.version.load(Ordering::Relaxed)
    }

    /// All committed offsets, by `topic@group`.
    pub fn snapshot(&self) -> Vec<(String, BTreeMap<i32, i64>)> {
        let entries: Vec<_> =
            self.table.read().pairs.iter().map(|(key, positions)| (key.clone(), positions.clone())).collect();
        let named = entries.into_iter().map(|(Pair(topic, group), positions)| {
            let committed = positions.lock().committed.clone();
            (format!("{}{SEPARATOR}{}", text(&topic), text(&group)), committed)
        });
        named.filter(|(_, committed)| !committed.is_empty()).collect()
    }

    /// The committed offsets of one group on one topic, by queue.
    pub fn of(&self, topic: &[u8], group: &[u8]) -> BTreeMap<i32, i64> {
        self.find(Place { topic, group, queue_id: 0 })
            .map_or_else(BTreeMap::new, |found| found.lock().committed.clone())
    }

    /// Topics on which a group has committed offsets, sorted.
    pub fn topics_of(&self, group: &[u8]) -> Vec<String> {
        self.committed_pairs(None, Some(group)).map(|Pair(topic, _)| text(&topic)).collect()
    }

    /// Groups that have committed offsets on a topic, sorted.
    pub fn groups_of(&self, topic: &[u8]) -> Vec<String> {
        self.committed_pairs(Some(topic), None).map(|Pair(_, group)| text(&group)).collect()
    }

    fn committed_pairs(&self, topic: Option<&[u8]>, group: Option<&[u8]>) -> impl Iterator<Item = Pair> {
        let pairs = self.table.read().pairs_of(topic, group);
        pairs.into_iter().filter(|Pair(topic, group)| !self.of(topic, group).is_empty())
    }

    /// Take over the offsets of one `topic@group`; false when the key is none.
    pub fn load(&self, key: &str, offsets: impl IntoIterator<Item = (i32, i64)>) -> bool {
        let Some((topic, group)) = key.split_once(SEPARATOR) else { return false };
        let place = Place { topic: topic.as_bytes(), group: group.as_bytes(), queue_id: 0 };
        self.find_or_make(place).lock().committed.extend(offsets);
        self.version.fetch_add(1, Ordering::Relaxed);
        true
    }

    /// Forget what is known of a topic, of a group, or of one group on one topic.
    pub fn forget(&self, topic: Option<&[u8]>, group: Option<&[u8]>) {
        let mut table = self.table.write();
        for Pair(topic, group) in table.pairs_of(topic, group) {
            if let Some(positions) = table.remove(&topic, &group) {
                // Taken out: a pull may hold the positions still, and would count the reset once more.
                let resets = mem::take(&mut positions.lock().reset);
                self.resets.fetch_sub(resets.len(), Ordering::AcqRel);
                self.version.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

fn text(name: &[u8]) -> String {
    String::from_utf8_lossy(name).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place<'a>(topic: &'a str, group: &'a str, queue_id: i32) -> Place<'a> {
        Place { topic: topic.as_bytes(), group: group.as_bytes(), queue_id }
    }

    #[test]
    fn what_was_committed_is_found_and_counted() {
        let offsets = Offsets::default();
        assert_eq!(offsets.committed(place("T", "G", 0)), None);
        let before = offsets.version();
        assert!(offsets.commit(place("T", "G", 0), 7));
        assert!(offsets.commit(place("T", "G", 0), 5));
        assert_eq!(offsets.committed(place("T", "G", 0)), Some(5));
        assert_eq!(offsets.committed(place("T", "G", 1)), None);
        assert!(offsets.version() > before);
        offsets.note_pull(place("T", "G", 0), 9);
        assert_eq!(offsets.pulled(place("T", "G", 0)), Some(9));
    }

    #[test]
    fn commits_are_ignored_until_a_pull_took_the_reset() {
        let offsets = Offsets::default();
        offsets.commit(place("T", "G", 0), 100);
        offsets.reset(place("T", "G", 0), 40);
        assert_eq!(offsets.committed(place("T", "G", 0)), Some(40));
        assert!(!offsets.commit(place("T", "G", 0), 101));
        assert!(offsets.commit(place("T", "G", 1), 3), "another queue is not concerned");
        assert_eq!(offsets.take_reset(place("T", "G", 1)), None);
        assert_eq!(offsets.take_reset(place("T", "G", 0)), Some(40));
        assert_eq!(offsets.take_reset(place("T", "G", 0)), None);
        assert_eq!(offsets.committed(place("T", "G", 0)), Some(40));
        assert!(offsets.commit(place("T", "G", 0), 41));
    }

    #[test]
    fn a_snapshot_loads_again() {
        let offsets = Offsets::default();
        offsets.commit(place("T", "G", 1), 7);
        offsets.commit(place("T", "G", 0), 8);
        offsets.note_pull(place("Other", "G", 0), 1);
        let snapshot = offsets.snapshot();
        assert_eq!(snapshot, [("T@G".to_owned(), BTreeMap::from([(0, 8), (1, 7)]))]);

        let copy = Offsets::default();
        for (key, of_queues) in snapshot {
            assert!(copy.load(&key, of_queues));
        }
        assert_eq!(copy.committed(place("T", "G", 1)), Some(7));
        assert!(!copy.load("no separator", []));
    }

    #[test]
    fn topics_and_groups_are_found_by_each_other() {
        let offsets = Offsets::default();
        for (topic, group) in [("B", "G"), ("A", "G"), ("A", "H")] {
            offsets.commit(place(topic, group, 1), 7);
        }
        offsets.note_pull(place("Pulled", "G", 0), 1);
        assert_eq!(offsets.topics_of(b"G"), ["A", "B"]);
        assert_eq!(offsets.groups_of(b"A"), ["G", "H"]);
        assert_eq!(offsets.of(b"A", b"G"), BTreeMap::from([(1, 7)]));
        assert_eq!(offsets.of(b"Pulled", b"G"), BTreeMap::new());
        offsets.forget(None, Some(b"G"));
        assert!(offsets.topics_of(b"G").is_empty());
        assert_eq!(offsets.groups_of(b"A"), ["H"]);
        offsets.forget(Some(b"A"), None);
        let table = offsets.table.read();
        assert!(table.pairs.is_empty() && table.groups_of.is_empty() && table.topics_of.is_empty());
    }

    #[test]
    fn forgetting_is_by_topic_by_group_or_both() {
        let filled = || {
            let offsets = Offsets::default();
            for (topic, group) in [("A", "G"), ("A", "H"), ("B", "G")] {
                offsets.reset(place(topic, group, 0), 1);
            }
            offsets
        };
        let left = |offsets: &Offsets| {
            let mut keys: Vec<_> = offsets.snapshot().into_iter().map(|(key, _)| key).collect();
            keys.sort();
            keys
        };
        let offsets = filled();
        offsets.forget(Some(b"A"), None);
        assert_eq!(left(&offsets), ["B@G"]);
        assert_eq!(offsets.take_reset(place("B", "G", 0)), Some(1));
        assert_eq!(offsets.resets.load(Ordering::Relaxed), 0);
        let offsets = filled();
        offsets.forget(None, Some(b"G"));
        assert_eq!(left(&offsets), ["A@H"]);
        let offsets = filled();
        offsets.forget(Some(b"A"), Some(b"G"));
        assert_eq!(left(&offsets), ["A@H", "B@G"]);
    }
}
