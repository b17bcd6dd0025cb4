//! Open files shared by all queues, so that their number does not grow with the number of queues.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use hashbrown::HashMap;
use parking_lot::Mutex;

use super::ahead::OpenFile;

/// Well below the usual limit of 1,024 descriptors per process.
pub const OPEN_FILES_DEFAULT: usize = 256;

/// A bounded set of open files; the one unused for longest is closed to make room.
#[derive(Debug)]
pub struct FileCache {
    open_max: usize,
    owner_next: AtomicU64,
    open: Mutex<Open>,
}

/// A file of one owner, by its start offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub owner: u64,
    pub start: u64,
}

#[derive(Debug, Default)]
struct Open {
    files: HashMap<Key, Entry>,
    tick: u64,
}

#[derive(Debug)]
struct Entry {
    file: Arc<OpenFile>,
    used_at: u64,
}

impl Default for FileCache {
    fn default() -> Self {
        Self::new(OPEN_FILES_DEFAULT)
    }
}

impl FileCache {
    pub fn new(open_max: usize) -> Self {
        Self { open_max: open_max.max(1), owner_next: AtomicU64::new(0), open: Mutex::default() }
    }

    /// How many files are open now.
    pub fn len(&self) -> usize {
        self.open.lock().files.len()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A number no other owner has, or ever had.
    pub(super) fn new_owner(&self) -> u64 {
        self.owner_next.fetch_add(1, Ordering::Relaxed)
    }

    pub(super) fn get(&self, key: Key) -> Option<Arc<OpenFile>> {
        let mut open = self.open.lock();
        open.tick += 1;
        let tick = open.tick;
        let entry = open.files.get_mut(&key)?;
        entry.used_at = tick;
        Some(Arc::clone(&entry.file))
    }

    pub(super) fn insert(&self, key: Key, file: Arc<OpenFile>) {
        // Both are dropped after the lock: closing a file is a system call.
        let (_replaced, _evicted) = {
            let mut open = self.open.lock();
            open.tick += 1;
            let entry = Entry { file, used_at: open.tick };
            let replaced = open.files.insert(key, entry);
            let evicted = if open.files.len() > self.open_max { open.take_oldest() } else { None };
            (replaced, evicted)
        };
    }

    /// Closes one file, which was deleted.
    pub(super) fn forget(&self, key: Key) {
        let _closed = self.open.lock().files.remove(&key);
    }

    /// Closes all files of an owner.
    pub(super) fn forget_owner(&self, owner: u64) {
        let _closed: Vec<_> =
            self.open.lock().files.extract_if(|key, _| key.owner == owner).map(|(_, entry)| entry).collect();
    }
}

impl Open {
    // A search among a few hundred costs a fraction of the `open` that led here.
    fn take_oldest(&mut self) -> Option<Entry> {
        let oldest = self.files.iter().min_by_key(|(_, entry)| entry.used_at).map(|(key, _)| *key)?;
        self.files.remove(&oldest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> Arc<OpenFile> {
        Arc::new(OpenFile::from(tempfile::tempfile().unwrap()))
    }

    #[test]
    fn the_file_unused_for_longest_is_closed_first() {
        let cache = FileCache::new(2);
        let key = |start| Key { owner: 1, start };
        cache.insert(key(0), file());
        cache.insert(key(1), file());
        assert!(cache.get(key(0)).is_some());
        cache.insert(key(2), file());
        assert_eq!(cache.len(), 2);
        assert!(cache.get(key(1)).is_none());
        assert!(cache.get(key(0)).is_some() && cache.get(key(2)).is_some());
    }

    #[test]
    fn forgetting_an_owner_leaves_the_others() {
        let cache = FileCache::new(9);
        let (one, two) = (cache.new_owner(), cache.new_owner());
        for start in 0..3 {
            cache.insert(Key { owner: one, start }, file());
            cache.insert(Key { owner: two, start }, file());
        }
        cache.forget_owner(one);
        cache.forget(Key { owner: two, start: 0 });
        assert_eq!(cache.len(), 2);
        assert!(cache.get(Key { owner: two, start: 2 }).is_some());
    }
}
