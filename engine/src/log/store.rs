//! The store: what opens, runs and closes together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use parking_lot::Mutex;

use super::checkpoint::Checkpoint;
use super::commit_log::{CommitLog, PREPARE_BYTES_MAX, PREPARE_BYTES_MIN};
use super::config::{FlushMode, StoreConfig};
use super::derived::Derived;
use super::dispatch::Dispatcher;
use super::flags::Flags;
use super::flush::Flusher;
use super::fork;
use super::index::{IndexService, Layout};
use super::keeper::Keeper;
use super::markers::{AbortFile, LastStop, StoreLock, forget_cached};
use super::notes::{Level, Notes};
use super::orderly;
use super::queue::{QueueConfig, QueueTable};
use super::recover::Recovery;
use super::signal::Signal;
use super::stats::Stats;
use super::watch::Watcher;
use crate::error::{Error, Result};

/// A writer that is through with the space prepared sooner than this gets more.
const PREPARE_HASTE: Duration = Duration::from_millis(500);
/// The preparing thread tries again after this when the disk was full.
const PREPARE_RETRY: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub struct Store {
    pub(super) config: Arc<StoreConfig>,
    pub log: Arc<CommitLog>,
    pub derived: Arc<Derived>,
    pub dispatcher: Arc<Dispatcher>,
    pub flusher: Arc<Flusher>,
    pub keeper: Arc<Keeper>,
    pub checkpoint: Arc<Checkpoint>,
    pub flags: Arc<Flags>,
    pub notes: Arc<Notes>,
    pub stats: Stats,
    pub watcher: Arc<Watcher>,
    pub(super) commit_wake: Arc<Signal>,
    pub(super) memory_bytes: u64,
    /// When the log is written up to here, see whether the dispatcher follows.
    pub(super) lag_check_at: AtomicU64,
    /// `maxMessageSize`, which may change while the store runs.
    pub(super) message_bytes_max: AtomicUsize,
    generation: u32,
    abort: Arc<AbortFile>,
    stop: Arc<AtomicBool>,
    stop_dispatch: Arc<AtomicBool>,
    threads: Mutex<Threads>,
    /// Held to the end, so that no second store touches the directory.
    lock: Mutex<Option<StoreLock>>,
}

#[derive(Debug, Default)]
struct Threads {
    dispatch: Option<JoinHandle<()>>,
    others: Vec<JoinHandle<()>>,
}

impl Store {
    /// Open a store: lock its directory, recover it, start its threads.
    pub fn open(config: StoreConfig, notes: Arc<Notes>) -> Result<Self> {
        let config = Arc::new(config);
        let lock = StoreLock::acquire(&config.lock_path)?;
        let abort = Arc::new(AbortFile::at(&config.abort_path));
        let last_stop = abort.last_stop()?;
        if last_stop != LastStop::Orderly {
            notes.say(Level::Warning, "the last run did not stop in order; recovering");
        }
        if last_stop == LastStop::SyncFailed {
            notes.say(Level::Warning, "a sync failed in the last run; the log is read anew from the disk");
            forget_cached(&config.commit_log_dir)?;
        }
        let log = Arc::new(CommitLog::load(config.clone(), notes.clone())?);
        // Before anything is repaired: a recovery that is cut short itself must not pass for an orderly stop.
        if last_stop == LastStop::Orderly {
            abort.create()?;
        }
        let orderly_stop = orderly::take_note(&config.orderly_stop_path)?;
        let (derived, checkpoint) = match Self::open_derived(&config, last_stop, &notes) {
            Err(error @ Error::Damaged { .. }) if last_stop == LastStop::Orderly => {
                abort.remove()?; // refused, and nothing was repaired
                return Err(error);
            }
            opened => opened?,
        };
        let index_from = derived.index.as_ref().and_then(IndexService::rebuild_from);
        let index_last = derived.index.as_ref().and_then(IndexService::last_indexed).unwrap_or(-1);
        Recovery {
            log: &log,
            derived: &derived,
            checkpoint: &checkpoint,
            notes: &notes,
            clean: last_stop == LastStop::Orderly,
            orderly_stop,
            index_from: index_from.map(|offset| offset.max(0).cast_unsigned()),
            index_last,
        }
        .run()?;
        // Not before: a recovery from a crash of the machine that is cut short is still one from that.
        if last_stop != LastStop::Orderly {
            abort.create()?;
        }

        let flags = Arc::new(Flags::default());
        let signal = Arc::new(Signal::default());
        let watcher = Arc::new(Watcher::default());
        let dispatcher = Arc::new(Dispatcher::new(
            log.clone(),
            derived.clone(),
            flags.clone(),
            signal.clone(),
            watcher.clone(),
        ));
        dispatcher.start_at(log.written(), log.last_timestamp());
        let flusher = Arc::new(Flusher::new(
            log.clone(),
            checkpoint.clone(),
            flags.clone(),
            abort.clone(),
            signal,
            watcher.clone(),
        ));
        if config.flush_mode == FlushMode::Sync {
            flusher.flush(0)?; // readers see only what is on disk
        }
        let keeper = Arc::new(Keeper::new(
            config.clone(),
            derived.clone(),
            dispatcher.clone(),
            checkpoint.clone(),
            flags.clone(),
            abort.clone(),
            notes.clone(),
        ));
        let store = Self {
            message_bytes_max: AtomicUsize::new(config.message_bytes_max),
            config,
            log,
            derived,
            dispatcher,
            flusher,
            keeper,
            checkpoint,
            flags,
            notes,
            stats: Stats::default(),
            watcher,
            commit_wake: Arc::default(),
            memory_bytes: physical_memory(),
            lag_check_at: AtomicU64::new(0),
            generation: fork::generation(),
            abort,
            stop: Arc::default(),
            stop_dispatch: Arc::default(),
            threads: Mutex::default(),
            lock: Mutex::new(Some(lock)),
        };
        store.start()?;
        Ok(store)
    }

    fn open_derived(
        config: &Arc<StoreConfig>,
        last_stop: LastStop,
        notes: &Arc<Notes>,
    ) -> Result<(Arc<Derived>, Arc<Checkpoint>)> {
        let queues = QueueTable::open(&config.queue_dir, queue_config(config), notes.clone())?;
        let checkpoint = Arc::new(Checkpoint::load(&config.checkpoint_path, notes)?);
        let index = Self::open_index(config, &checkpoint, last_stop, notes)?;
        Ok((Arc::new(Derived::new(config.clone(), queues, index, notes.clone())), checkpoint))
    }

    fn open_index(
        config: &StoreConfig,
        checkpoint: &Checkpoint,
        last_stop: LastStop,
        notes: &Notes,
    ) -> Result<Option<IndexService>> {
        if !config.index_enabled {
            return Ok(None);
        }
        let safe = checkpoint.values().index_timestamp;
        let layout = Layout::new(config.index_slots, config.index_entries)?;
        IndexService::open(&config.index_dir, layout, notes, last_stop, safe).map(Some)
    }

    fn start(&self) -> Result<()> {
        let mut threads = self.threads.lock();
        let (dispatcher, stop) = (self.dispatcher.clone(), self.stop_dispatch.clone());
        threads.dispatch = Some(spawn("dispatch", move || dispatcher.run(&stop))?);

        let (flusher, stop) = (self.flusher.clone(), self.stop.clone());
        threads.others.push(spawn("flush", move || flusher.run(&stop))?);

        let (keeper, stop) = (self.keeper.clone(), self.stop.clone());
        threads.others.push(spawn("keep", move || keeper.run(&stop))?);

        let (log, stop) = (self.log.clone(), self.stop.clone());
        threads.others.push(spawn("prepare", move || run_preparation(&log, &stop))?);

        if self.config.transient_pool.is_some() {
            let (flusher, stop, wake) = (self.flusher.clone(), self.stop.clone(), self.commit_wake.clone());
            threads.others.push(spawn("commit", move || flusher.run_commits(&stop, &wake))?);
        }
        Ok(())
    }

    /// Whether the store was closed, or belongs to the process this one was forked from.
    pub fn is_closed(&self) -> bool {
        self.stop.load(Ordering::Acquire) || self.is_parents()
    }

    fn is_parents(&self) -> bool {
        fork::generation() != self.generation
    }

    pub fn store_host(&self) -> std::net::SocketAddr {
        self.config.store_host
    }

    /// Whether another store is this one's master, which takes the writes.
    pub fn is_slave(&self) -> bool {
        self.config.is_slave
    }

    /// How long an acknowledgement may wait for the disk; `None` when it does not.
    pub fn sync_flush_timeout(&self) -> Option<Duration> {
        (self.config.flush_mode == FlushMode::Sync).then_some(self.config.sync_flush_timeout)
    }

    /// How large a body may be.
    pub fn message_bytes_max(&self) -> usize {
        self.message_bytes_max.load(Ordering::Relaxed)
    }

    /// Change how large a body may be, from the next put on.
    pub fn set_message_bytes_max(&self, bytes: usize) {
        self.message_bytes_max.store(bytes, Ordering::Relaxed);
    }

    /// Put everything written so far on disk; returns up to where.
    pub fn flush(&self) -> Result<u64> {
        self.flusher.commit(0)?;
        self.flusher.flush(0)?;
        Ok(self.log.flushed())
    }

    /// Flush everything, stop the threads, leave the directory. A second call does nothing.
    pub fn close(&self) -> Result<()> {
        if self.is_parents() || self.stop.swap(true, Ordering::AcqRel) {
            return Ok(());
        }
        // Whoever holds the append lock finishes; whoever comes after finds the store closed.
        drop(self.log.lock());
        let flushed = self.flush();
        let mut threads = self.threads.lock();
        self.stop_dispatch.store(true, Ordering::Release);
        self.dispatcher.signal.raise();
        if let Some(thread) = threads.dispatch.take() {
            join(thread, &self.notes);
        }
        for wake in [&self.flusher.wake, &self.keeper.wake, &self.log.prepare, &self.commit_wake] {
            wake.raise();
        }
        for thread in threads.others.drain(..) {
            join(thread, &self.notes);
        }
        self.dispatcher.arrivals.announce();
        let kept = self.keeper.keep(true);
        self.log.discard_ahead();
        let result = flushed.map(|_| ()).and(kept);
        let behind = self.dispatcher.behind();
        let is_whole = behind == 0 && !self.dispatcher.index_stands() && !self.keeper.has_failed();
        if result.is_ok() && self.flags.is_writable() && is_whole {
            // What replication has not confirmed is in no queue; a walk of the log finds it.
            let is_confirmed = self.dispatcher.position() == self.log.written();
            if is_confirmed && let Err(error) = orderly::note(&self.config, &self.log, &self.derived) {
                self.notes.say(Level::Warning, format!("the next start walks the end of the log: {error}"));
            }
            self.abort.remove()?;
        } else {
            self.notes.say(
                Level::Warning,
                format!(
                    "closing with {behind} bytes not dispatched (up to offset {} of {}) or a failed write or sync; \
                     the next start recovers",
                    self.dispatcher.position(),
                    self.dispatcher.confirmed()
                ),
            );
        }
        self.lock.lock().take();
        result
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // Nobody is left to hear of a failure; the abort file stays and the next start recovers.
        let _ = self.close();
    }
}

fn queue_config(config: &StoreConfig) -> QueueConfig {
    QueueConfig {
        file_bytes: config.queue_file_bytes,
        ext: config.queue_ext_file_bytes.map(|file_bytes| (config.queue_ext_dir.clone(), file_bytes)),
        ..QueueConfig::default()
    }
}

fn run_preparation(log: &CommitLog, stop: &AtomicBool) {
    let mut failing = false;
    let mut window = PREPARE_BYTES_MIN;
    let mut last = Instant::now();
    while !stop.load(Ordering::Acquire) {
        log.prepare.lower();
        let in_haste = last.elapsed() < PREPARE_HASTE;
        window = if in_haste { (window * 2).min(PREPARE_BYTES_MAX) } else { PREPARE_BYTES_MIN };
        last = Instant::now();
        let pause = match log.prepare_ahead(window) {
            Ok(()) => {
                failing = false;
                None
            }
            Err(error) => {
                if !failing {
                    log.notes().say(Level::Warning, format!("no space can be prepared for the log: {error}"));
                }
                failing = true;
                Some(PREPARE_RETRY)
            }
        };
        if !stop.load(Ordering::Acquire) {
            log.prepare.wait(pause);
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>> {
    thread::Builder::new()
        .name(format!("tailfin-{name}"))
        .spawn(work)
        .map_err(|error| Error::Config(format!("no thread for {name}: {error}")))
}

fn join(thread: JoinHandle<()>, notes: &Notes) {
    let name = thread.thread().name().unwrap_or("?").to_owned();
    if thread.join().is_err() {
        notes.say(Level::Error, format!("thread {name} had failed"));
    }
}

fn physical_memory() -> u64 {
    // SAFETY: asks for two numbers.
    let (pages, page_bytes) =
        unsafe { (libc::sysconf(libc::_SC_PHYS_PAGES), libc::sysconf(libc::_SC_PAGESIZE)) };
    pages.max(0).cast_unsigned() * page_bytes.max(0).cast_unsigned()
}
