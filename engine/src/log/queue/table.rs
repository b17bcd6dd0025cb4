//! All consume queues of a store.

use std::borrow::Borrow;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::iter;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;
use parking_lot::RwLock;

use super::ext::ConsumeQueueExt;
use super::{ConsumeQueue, FileCache, OPEN_FILES_DEFAULT, QUEUE_FILE_BYTES};
use crate::error::{Error, Result};
use crate::log::notes::{Level, Notes};

/// The longest name a file system takes.
const TOPIC_BYTES_MAX: usize = 255;

#[derive(Debug, Clone)]
pub struct QueueConfig {
    /// The size of each file; a multiple of 20.
    pub file_bytes: u64,
    /// How many files all queues together keep open.
    pub open_files_max: usize,
    /// Where the extension files go and how large they are, when queues have them.
    pub ext: Option<(PathBuf, u64)>,
}

impl Default for QueueConfig {
    fn default() -> Self {
        Self { file_bytes: QUEUE_FILE_BYTES, open_files_max: OPEN_FILES_DEFAULT, ext: None }
    }
}

#[derive(Debug)]
pub struct QueueTable {
    root: PathBuf,
    file_bytes: u64,
    ext: Option<(PathBuf, u64)>,
    files: Arc<FileCache>,
    notes: Arc<Notes>,
    topics: RwLock<HashMap<Topic, Vec<Arc<ConsumeQueue>>>>,
    removals: AtomicU64,
}

/// A topic's name, found by its bytes as they came from the network.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Topic(Arc<str>);

impl Borrow<[u8]> for Topic {
    fn borrow(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl Hash for Topic {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_bytes().hash(state);
    }
}

impl QueueTable {
    /// Opens all queues below `root`, which need not exist yet.
    pub fn open(root: &Path, config: QueueConfig, notes: Arc<Notes>) -> Result<Self> {
        ConsumeQueue::check_file_bytes(config.file_bytes)?;
        let files = Arc::new(FileCache::new(config.open_files_max));
        let mut topics = HashMap::new();
        for (topic, dir) in directories(root, &notes)? {
            let topic: Arc<str> = topic.into();
            let mut queues = Vec::new();
            for (name, dir) in directories(&dir, &notes)? {
                // Only the plain spelling: "007" would become "7" when it is written again.
                let Some(id) = name.parse::<i32>().ok().filter(|id| *id >= 0 && id.to_string() == name)
                else {
                    notes.say(Level::Warning, format!("{}: ignored, not a queue id", dir.display()));
                    continue;
                };
                let ext = open_ext(config.ext.as_ref(), &topic, id, &files, &notes)?;
                let (topic, files, notes) = (Arc::clone(&topic), Arc::clone(&files), Arc::clone(&notes));
                let queue = ConsumeQueue::open(dir, topic, id, config.file_bytes, files, notes)?;
                queues.push(Arc::new(queue.with_ext(ext)));
            }
            queues.sort_unstable_by_key(|queue| queue.queue_id());
            if !queues.is_empty() {
                topics.insert(Topic(topic), queues);
            }
        }
        Ok(Self {
            root: root.to_path_buf(),
            file_bytes: config.file_bytes,
            ext: config.ext,
            files,
            notes,
            topics: RwLock::new(topics),
            removals: AtomicU64::new(0),
        })
    }

    pub fn get(&self, topic: &[u8], queue_id: i32) -> Option<Arc<ConsumeQueue>> {
        let topics = self.topics.read();
        let queues = topics.get(topic)?;
        place_of(queues, queue_id).ok().map(|place| Arc::clone(&queues[place]))
    }

    pub fn get_or_create(&self, topic: &[u8], queue_id: i32) -> Result<Arc<ConsumeQueue>> {
        if let Some(queue) = self.get(topic, queue_id) {
            return Ok(queue);
        }
        let name = checked_topic(topic)?;
        if queue_id < 0 {
            return Err(Error::Config(format!("{queue_id} cannot be a queue id of topic {name:?}")));
        }
        let mut topics = self.topics.write();
        let known = topics.get_key_value(topic).map(|(topic, _)| topic.clone());
        let topic = known.unwrap_or_else(|| Topic(name.into()));
        let shared = Arc::clone(&topic.0);
        let queues = topics.entry(topic).or_default();
        match place_of(queues, queue_id) {
            Ok(place) => Ok(Arc::clone(&queues[place])),
            Err(place) => {
                let dir = self.root.join(name).join(queue_id.to_string());
                let ext = open_ext(self.ext.as_ref(), &shared, queue_id, &self.files, &self.notes)?;
                let (files, notes) = (Arc::clone(&self.files), Arc::clone(&self.notes));
                let queue = ConsumeQueue::create(dir, shared, queue_id, self.file_bytes, files, notes);
                let queue = Arc::new(queue.with_ext(ext));
                queues.insert(place, Arc::clone(&queue));
                Ok(queue)
            }
        }
    }

    /// Changes whenever queues are removed: what was looked up before must be looked up again.
    pub fn removals(&self) -> u64 {
        self.removals.load(Ordering::Acquire)
    }

    /// The names of all topics that have queues, in no order.
    pub fn topics(&self) -> Vec<Arc<str>> {
        self.topics.read().keys().map(|topic| Arc::clone(&topic.0)).collect()
    }

    /// A topic's queues, by id.
    pub fn queues_of(&self, topic: &[u8]) -> Vec<Arc<ConsumeQueue>> {
        self.topics.read().get(topic).cloned().unwrap_or_default()
    }

    /// How many queues belong to topics whose names begin like this.
    pub fn count_with_prefix(&self, prefix: &str) -> usize {
        let topics = self.topics.read();
        topics.iter().filter(|(topic, _)| topic.0.starts_with(prefix)).map(|(_, queues)| queues.len()).sum()
    }

    pub fn all(&self) -> Vec<Arc<ConsumeQueue>> {
        self.topics.read().values().flatten().cloned().collect()
    }

    /// Deletes a topic's queues and returns how many there were. Nobody may append to them meanwhile.
    pub fn remove_topic(&self, topic: &[u8]) -> Result<usize> {
        // Held throughout: a queue made anew would lose its files to the one being destroyed.
        let mut topics = self.topics.write();
        let Some(queues) = topics.get(topic) else { return Ok(0) };
        for queue in queues {
            queue.destroy()?;
        }
        let count = queues.len();
        let name = checked_topic(topic)?;
        topics.remove(topic);
        self.removals.fetch_add(1, Ordering::AcqRel);
        for root in iter::once(&self.root).chain(self.ext.as_ref().map(|(root, _)| root)) {
            let dir = root.join(name);
            match fs::remove_dir(&dir) {
                Err(e) if !matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::DirectoryNotEmpty) => {
                    return Err(Error::io("remove", &dir, e));
                }
                _ => {}
            }
        }
        Ok(count)
    }

    /// The open files of all queues; an extension's files may be kept among them.
    pub fn files(&self) -> &Arc<FileCache> {
        &self.files
    }
}

fn open_ext(
    ext: Option<&(PathBuf, u64)>,
    topic: &str,
    queue_id: i32,
    files: &Arc<FileCache>,
    notes: &Arc<Notes>,
) -> Result<Option<Box<ConsumeQueueExt>>> {
    let Some((root, file_bytes)) = ext else { return Ok(None) };
    let dir = root.join(topic).join(queue_id.to_string());
    Ok(Some(Box::new(ConsumeQueueExt::open(dir, *file_bytes, Arc::clone(files), Arc::clone(notes))?)))
}

fn place_of(queues: &[Arc<ConsumeQueue>], queue_id: i32) -> std::result::Result<usize, usize> {
    queues.binary_search_by_key(&queue_id, |queue| queue.queue_id())
}

/// Whether a queue can belong to a topic of this name.
pub fn can_be_topic(name: &[u8]) -> bool {
    checked_topic(name).is_ok()
}

/// A topic's name as a directory's, refused if it could lead anywhere else.
fn checked_topic(topic: &[u8]) -> Result<&str> {
    let is_plain = |name: &&str| {
        !matches!(*name, "" | "." | "..")
            && name.len() <= TOPIC_BYTES_MAX
            && !name.contains(['/', '\\', '\0'])
    };
    str::from_utf8(topic).ok().filter(is_plain).ok_or_else(|| {
        let shown = String::from_utf8_lossy(&topic[..topic.len().min(TOPIC_BYTES_MAX)]);
        Error::Config(format!("{shown:?} cannot be a topic: it is not a plain file name"))
    })
}

/// The directories in a directory, by name; none when it does not exist.
fn directories(root: &Path, notes: &Notes) -> Result<Vec<(String, PathBuf)>> {
    let entries = match fs::read_dir(root) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|e| Error::io("list", root, e))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| Error::io("list", root, e))?;
        let path = entry.path();
        let kind = entry.file_type().map_err(|e| Error::io("stat", &path, e))?;
        let is_directory = kind.is_dir() || (kind.is_symlink() && path.is_dir());
        match entry.file_name().into_string() {
            Ok(name) if is_directory => found.push((name, path)),
            _ => notes.say(Level::Warning, format!("{}: ignored, not ours", path.display())),
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::queue::{Appended, Unit};

    const UNIT: Unit = Unit { physical_offset: 700, size: 70, tags_code: 7 };

    fn open(root: &Path) -> QueueTable {
        QueueTable::open(root, QueueConfig::default(), Arc::default()).unwrap()
    }

    // shows: CQ-03
    // shows: CQ-04
    #[test]
    fn queues_are_found_again_below_their_topics() {
        let dir = tempfile::tempdir().unwrap();
        let table = open(dir.path());
        for (topic, id) in [("A", 10), ("A", 2), ("B", 0)] {
            let queue = table.get_or_create(topic.as_bytes(), id).unwrap();
            assert_eq!(queue.append(0, UNIT).unwrap(), Appended::Written);
            queue.write_out().unwrap();
            assert!(Arc::ptr_eq(&queue, &table.get_or_create(topic.as_bytes(), id).unwrap()));
        }
        fs::create_dir_all(dir.path().join("A/old")).unwrap();
        fs::create_dir_all(dir.path().join("A/007")).unwrap();
        fs::write(dir.path().join("stray"), "").unwrap();

        let notes = Arc::new(Notes::default());
        let table = QueueTable::open(dir.path(), QueueConfig::default(), Arc::clone(&notes)).unwrap();
        assert_eq!(notes.drain().len(), 3);
        let mut topics = table.topics();
        topics.sort_unstable();
        assert_eq!(topics, [Arc::from("A"), Arc::from("B")]);
        let ids: Vec<_> = table.queues_of(b"A").iter().map(|queue| queue.queue_id()).collect();
        assert_eq!(ids, [2, 10]);
        assert_eq!(table.all().len(), 3);
        assert_eq!(table.get(b"A", 10).unwrap().unit_at(0).unwrap(), Some(UNIT));
        assert!(table.get(b"A", 3).is_none() && table.get(b"C", 0).is_none());
    }

    // shows: CQ-04
    #[test]
    fn one_damaged_queue_fails_the_table() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("A/0")).unwrap();
        fs::write(dir.path().join("A/0/00000000000000000000"), "short").unwrap();
        let opened = QueueTable::open(dir.path(), QueueConfig::default(), Arc::default());
        assert!(matches!(opened, Err(Error::Damaged { .. })));
    }

    #[test]
    fn a_topic_that_is_no_plain_name_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let table = open(&dir.path().join("consumequeue"));
        let long = "x".repeat(256);
        for topic in ["", ".", "..", "a/b", "../a", "a\\b", "a\0b", &long] {
            let refused = table.get_or_create(topic.as_bytes(), 0);
            assert!(matches!(refused, Err(Error::Config(_))), "{topic:?}");
        }
        assert!(table.get_or_create(b"\xff\xfe", 0).is_err());
        assert!(table.get_or_create(b"A", -1).is_err());
        assert!(table.topics().is_empty());
        assert!(fs::read_dir(dir.path()).unwrap().next().is_none());
    }

    #[test]
    fn a_removed_topic_leaves_nothing_behind() {
        let dir = tempfile::tempdir().unwrap();
        let table = open(dir.path());
        for id in 0..4 {
            let queue = table.get_or_create(b"A", id).unwrap();
            queue.append(0, UNIT).unwrap();
            queue.sync().unwrap();
        }
        assert_eq!(table.remove_topic(b"A").unwrap(), 4);
        assert_eq!(table.remove_topic(b"A").unwrap(), 0);
        assert!(!dir.path().join("A").exists());
        assert!(table.get(b"A", 0).is_none() && table.files().is_empty());
        assert_eq!(table.get_or_create(b"A", 0).unwrap().max_offset(), 0);
    }

    #[test]
    fn a_file_size_that_splits_units_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        for file_bytes in [0, 19, 30] {
            let config = QueueConfig { file_bytes, ..QueueConfig::default() };
            assert!(matches!(QueueTable::open(dir.path(), config, Arc::default()), Err(Error::Config(_))));
        }
    }

    #[test]
    fn twenty_thousand_queues_need_few_descriptors() {
        let open_files = || fs::read_dir("/proc/self/fd").unwrap().count();
        let dir = tempfile::tempdir().unwrap();
        let table = open(dir.path());
        for n in 0..20_000 {
            let queue = table.get_or_create(format!("T{}", n / 100).as_bytes(), n % 100).unwrap();
            queue.append(0, UNIT).unwrap();
        }
        for queue in table.all() {
            queue.write_out().unwrap();
        }
        // Other tests run beside this one and have files open as well.
        assert!(table.files().len() == OPEN_FILES_DEFAULT && open_files() < 1_000, "{}", open_files());
        drop(table);
        let table = open(dir.path());
        assert!(table.files().len() == OPEN_FILES_DEFAULT && open_files() < 1_000, "{}", open_files());
        assert!(table.all().iter().all(|queue| queue.unit_at(0).unwrap() == Some(UNIT)));
    }
}
