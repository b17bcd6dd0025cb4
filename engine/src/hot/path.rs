//! The hot path itself: what its parts share.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Instant;

use parking_lot::RwLock;

use super::alarm::Alarm;
use super::counters::{Counters, Tally};
use super::judging::Compiled;
use super::offsets::Offsets;
use super::options::HotOptions;
use super::park::Parking;
use super::rulebook::{Rulebook, Topic};
use super::sent::Unflushed;
use super::waiting::WaitRules;
use crate::error::{Error, Result};
use crate::log::clock::now_ms;
use crate::log::store::Store;
use crate::message::unique::{Key, UniqueKeys};

/// Answers sends, pulls and offsets from a store, by the rules that Python told it.
#[derive(Debug)]
pub struct HotPath {
    pub(super) store: Arc<Store>,
    pub rulebook: Rulebook,
    pub offsets: Offsets,
    pub counters: Counters,
    settings: RwLock<Arc<Settings>>,
    pub(super) compiled: Compiled,
    pub(super) parking: Parking,
    pub(super) unflushed: Unflushed,
    /// Rings when a hold or a wait for the disk has lasted long enough.
    pub(super) alarm: Arc<Alarm>,
    pub(super) unique_keys: UniqueKeys,
    /// Without them all that asks to wait is Python's.
    pub(super) wait_rules: RwLock<Option<WaitRules>>,
    dice: AtomicU64,
    /// Where the log will have come to when its followers are looked at next.
    pub(super) look_at: AtomicU64,
}

/// The options, and what follows from them for every request.
#[derive(Clone, Debug)]
pub struct Settings {
    pub options: HotOptions,
    /// What is added to the properties of each message.
    pub added_properties: String,
    /// Request codes that are Python's for now.
    pub by_python: Vec<i32>,
}

impl HotPath {
    pub fn new(store: Arc<Store>, options: HotOptions) -> Result<Arc<Self>> {
        let settings =
            Settings { added_properties: options.added_properties(), options, by_python: Vec::new() };
        let path = Arc::new(Self {
            unique_keys: UniqueKeys::new(store.store_host().ip()),
            store,
            rulebook: Rulebook::default(),
            offsets: Offsets::default(),
            counters: Counters::default(),
            settings: RwLock::new(Arc::new(settings)),
            compiled: Compiled::default(),
            parking: Parking::default(),
            unflushed: Unflushed::default(),
            alarm: Arc::default(),
            wait_rules: RwLock::default(),
            dice: AtomicU64::new(now_ms().cast_unsigned()),
            look_at: AtomicU64::new(0),
        });
        let watch: Weak<Self> = Arc::downgrade(&path);
        path.store.watcher.set(watch.clone());
        let alarm = path.alarm.clone();
        thread::Builder::new()
            .name("hold".into())
            .spawn(move || run_alarm(&alarm, &watch))
            .map_err(|source| Error::io("start a thread for", "held requests".as_ref(), source))?;
        Ok(path)
    }

    /// A key for a message that came without one.
    pub fn new_unique_key(&self) -> Key {
        self.unique_keys.key(self.unique_keys.stamp())
    }

    pub fn settings(&self) -> Arc<Settings> {
        self.settings.read().clone()
    }

    pub fn set_options(&self, options: HotOptions) {
        let mut settings = self.settings.write();
        *settings = Arc::new(Settings {
            added_properties: options.added_properties(),
            options,
            by_python: settings.by_python.clone(),
        });
    }

    /// Leave these request codes to Python from now on.
    pub fn leave_to_python(&self, codes: Vec<i32>) {
        let mut settings = self.settings.write();
        *settings = Arc::new(Settings { by_python: codes, ..Settings::clone(&settings) });
    }

    /// Tell or change a topic. Its counters go on.
    pub fn put_topic(&self, name: &[u8], of: impl FnOnce(Arc<Tally>) -> Topic) {
        self.rulebook.put_topic(of(self.counters.topic_puts(name)));
    }

    /// A number that nobody can guess well enough to pile messages up in one queue by accident.
    pub(super) fn random(&self) -> u32 {
        let step = self.dice.fetch_add(1, Ordering::Relaxed);
        (step.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as u32
    }
}

impl Drop for HotPath {
    fn drop(&mut self) {
        self.alarm.stop();
    }
}

fn run_alarm(alarm: &Alarm, path: &Weak<HotPath>) {
    while alarm.wait() {
        let Some(path) = path.upgrade() else { return };
        let now = Instant::now();
        for next in [path.end_holds(now), path.sent_is_late(now)].into_iter().flatten() {
            alarm.ring_by(next);
        }
    }
}
