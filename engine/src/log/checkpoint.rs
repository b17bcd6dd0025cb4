//! The checkpoint: up to which store time, and which offsets, everything is safely on disk.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};

use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::log::notes::{Level, Notes};

/// Size of the file; only the first 48 bytes mean something.
pub const CHECKPOINT_BYTES: usize = 4096;

const FIELDS: usize = 6;

/// Recovery starts this much before the flushed times, since files are flushed one after another.
const FLUSH_SKEW_MS: i64 = 3000;

/// The content of the checkpoint, in file order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Values {
    /// Store time of the newest flushed record, in milliseconds.
    pub log_timestamp: i64,
    /// The same for the consume queues.
    pub queue_timestamp: i64,
    /// The same for the index.
    pub index_timestamp: i64,
    /// How far the master had flushed, as this replica knew it.
    pub master_flushed_offset: i64,
    /// Up to where the log was confirmed.
    pub confirm_offset: i64,
    /// The official store, in 5.5.0, begins to recover at the log file that holds this offset; at 0 it goes by
    /// the queues' time. Here it is written for that store alone.
    pub dispatch_offset: i64,
}

impl Values {
    fn from_fields(fields: [i64; FIELDS]) -> Self {
        let [
            log_timestamp,
            queue_timestamp,
            index_timestamp,
            master_flushed_offset,
            confirm_offset,
            dispatch_offset,
        ] = fields;
        Self {
            log_timestamp,
            queue_timestamp,
            index_timestamp,
            master_flushed_offset,
            confirm_offset,
            dispatch_offset,
        }
    }

    fn fields(self) -> [i64; FIELDS] {
        [
            self.log_timestamp,
            self.queue_timestamp,
            self.index_timestamp,
            self.master_flushed_offset,
            self.confirm_offset,
            self.dispatch_offset,
        ]
    }

    fn decode(page: &[u8; CHECKPOINT_BYTES]) -> Self {
        let mut fields = [0; FIELDS];
        for (field, bytes) in fields.iter_mut().zip(page.as_chunks::<8>().0) {
            *field = i64::from_be_bytes(*bytes);
        }
        Self::from_fields(fields)
    }

    fn encode(self) -> [u8; CHECKPOINT_BYTES] {
        let mut page = [0; CHECKPOINT_BYTES];
        for (field, bytes) in self.fields().iter().zip(page.as_chunks_mut::<8>().0) {
            *bytes = field.to_be_bytes();
        }
        page
    }
}

/// The `checkpoint` file. Values only move forward, unless [`Checkpoint::reset`] says otherwise.
#[derive(Debug)]
pub struct Checkpoint {
    path: PathBuf,
    fields: [AtomicI64; FIELDS],
    disk: Mutex<Disk>,
}

#[derive(Debug)]
struct Disk {
    file: File,
    /// What the file holds; `None` if it also holds bytes that the next save has to clear.
    saved: Option<Values>,
}

impl Checkpoint {
    /// Open the checkpoint, making it if it is missing. A file of a wrong size counts as all zeros, which
    /// costs a longer recovery and nothing else.
    pub fn load(path: &Path, notes: &Notes) -> Result<Self> {
        let failed = |action| move |source| Error::io(action, path, source);
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = options.open(path).map_err(failed("open"))?;
        let bytes = file.metadata().map_err(failed("inspect"))?.len();
        let mut page = [0; CHECKPOINT_BYTES];
        if bytes == CHECKPOINT_BYTES as u64 {
            file.read_exact_at(&mut page, 0).map_err(failed("read"))?;
        } else {
            if bytes != 0 {
                let name = path.display();
                let text =
                    format!("{name}: {bytes} bytes instead of {CHECKPOINT_BYTES}; starting from zeros");
                notes.say(Level::Warning, text);
            }
            file.set_len(0).map_err(failed("empty"))?;
            // Written, not only sized: a later save must not need space that a full disk does not have.
            file.write_all_at(&page, 0).map_err(failed("fill"))?;
        }
        let values = Values::decode(&page);
        let saved = (page == values.encode()).then_some(values);
        let fields = values.fields().map(AtomicI64::new);
        Ok(Self { path: path.to_path_buf(), fields, disk: Mutex::new(Disk { file, saved }) })
    }

    pub fn values(&self) -> Values {
        Values::from_fields(self.fields.each_ref().map(|field| field.load(Ordering::Acquire)))
    }

    pub fn advance_log_timestamp(&self, to: i64) {
        self.fields[0].fetch_max(to, Ordering::AcqRel);
    }

    pub fn advance_queue_timestamp(&self, to: i64) {
        self.fields[1].fetch_max(to, Ordering::AcqRel);
    }

    pub fn advance_index_timestamp(&self, to: i64) {
        self.fields[2].fetch_max(to, Ordering::AcqRel);
    }

    pub fn advance_master_flushed_offset(&self, to: i64) {
        self.fields[3].fetch_max(to, Ordering::AcqRel);
    }

    pub fn advance_confirm_offset(&self, to: i64) {
        self.fields[4].fetch_max(to, Ordering::AcqRel);
    }

    pub fn advance_dispatch_offset(&self, to: i64) {
        self.fields[5].fetch_max(to, Ordering::AcqRel);
    }

    /// Take these values even where they go backwards, as after a truncation of the log.
    pub fn reset(&self, values: Values) {
        for (field, value) in self.fields.iter().zip(values.fields()) {
            field.store(value, Ordering::Release);
        }
    }

    /// Every record stored up to this time is on disk, in the log and in the queues.
    pub fn min_timestamp(&self) -> i64 {
        let values = self.values();
        values.log_timestamp.min(values.queue_timestamp).saturating_sub(FLUSH_SKEW_MS).max(0)
    }

    /// The same, counting the index too (`messageIndexSafe`).
    pub fn min_timestamp_with_index(&self) -> i64 {
        self.min_timestamp().min(self.values().index_timestamp).max(0)
    }

    /// Write the values and wait for the disk; nothing happens if they are there already.
    pub fn save(&self) -> Result<()> {
        let mut disk = self.disk.lock();
        let values = self.values();
        if disk.saved == Some(values) {
            return Ok(());
        }
        disk.file
            .write_all_at(&values.encode(), 0)
            .map_err(|source| Error::io("write", &self.path, source))?;
        disk.file.sync_data().map_err(|source| Error::io("sync", &self.path, source))?;
        disk.saved = Some(values);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SAMPLE: Values = Values {
        log_timestamp: 1,
        queue_timestamp: 2,
        index_timestamp: 3,
        master_flushed_offset: 4,
        confirm_offset: 5,
        dispatch_offset: 6,
    };

    fn load(path: &Path) -> Checkpoint {
        Checkpoint::load(path, &Notes::default()).unwrap()
    }

    // shows: CK-01, CK-02
    #[test]
    fn the_file_is_the_java_file_byte_for_byte() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint");
        let checkpoint = load(&path);
        assert_eq!(checkpoint.values(), Values::default());
        assert_eq!(fs::read(&path).unwrap(), [0; 4096]);
        checkpoint.advance_log_timestamp(1);
        checkpoint.advance_queue_timestamp(2);
        checkpoint.advance_index_timestamp(3);
        checkpoint.advance_master_flushed_offset(4);
        checkpoint.advance_confirm_offset(5);
        checkpoint.advance_dispatch_offset(6);
        checkpoint.save().unwrap();

        let mut expected = [0; 4096];
        for (at, value) in [(7, 1), (15, 2), (23, 3), (31, 4), (39, 5), (47, 6)] {
            expected[at] = value;
        }
        assert_eq!(fs::read(&path).unwrap(), expected);
        assert_eq!(load(&path).values(), SAMPLE);
    }

    #[test]
    fn what_stands_behind_the_fields_is_ignored_and_cleared() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint");
        let mut page = SAMPLE.encode();
        page[55] = 9;
        fs::write(&path, page).unwrap();
        let checkpoint = load(&path);
        assert_eq!(checkpoint.values(), SAMPLE);
        checkpoint.save().unwrap();
        assert_eq!(fs::read(&path).unwrap(), SAMPLE.encode());
    }

    #[test]
    fn a_file_of_a_wrong_size_counts_as_zeros_and_is_told() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint");
        for bytes in [1, 4095, 4097] {
            fs::write(&path, vec![1; bytes]).unwrap();
            let notes = Notes::default();
            let checkpoint = Checkpoint::load(&path, &notes).unwrap();
            assert_eq!(checkpoint.values(), Values::default());
            assert!(notes.drain()[0].1.contains(&format!("{bytes} bytes instead of 4096")));
            assert_eq!(fs::read(&path).unwrap(), [0; 4096]);
        }
    }

    #[test]
    fn values_go_back_only_by_a_reset() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("checkpoint");
        let checkpoint = load(&path);
        checkpoint.advance_confirm_offset(100);
        checkpoint.advance_confirm_offset(50);
        assert_eq!(checkpoint.values().confirm_offset, 100);
        checkpoint.reset(SAMPLE);
        checkpoint.save().unwrap();
        assert_eq!(load(&path).values(), SAMPLE);
    }

    #[test]
    fn the_recovery_time_is_three_seconds_before_the_older_flush() {
        let dir = tempfile::tempdir().unwrap();
        let checkpoint = load(&dir.path().join("checkpoint"));
        for (log, queue, index, expected, expected_with_index) in [
            (0, 0, 0, 0, 0),
            (10_000, 2_000, 9_000, 0, 0),
            (10_000, 20_000, 9_000, 7_000, 7_000),
            (20_000, 10_000, 6_000, 7_000, 6_000),
            (i64::MIN, i64::MAX, -1, 0, 0),
        ] {
            checkpoint.reset(Values {
                log_timestamp: log,
                queue_timestamp: queue,
                index_timestamp: index,
                ..Values::default()
            });
            assert_eq!(checkpoint.min_timestamp(), expected);
            assert_eq!(checkpoint.min_timestamp_with_index(), expected_with_index);
        }
    }
}
