//! What a store is told when it opens. Python owns the keys, their defaults and their meaning.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// When an append is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlushMode {
    /// After the page cache has it.
    Async,
    /// After the disk has it.
    Sync,
}

/// Every setting of one store, already checked.
#[derive(Clone, Debug)]
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub struct StoreConfig {
    pub commit_log_dir: PathBuf,
    pub queue_dir: PathBuf,
    pub queue_ext_dir: PathBuf,
    pub index_dir: PathBuf,
    pub checkpoint_path: PathBuf,
    pub abort_path: PathBuf,
    pub lock_path: PathBuf,
    pub orderly_stop_path: PathBuf,
    pub store_host: SocketAddr,

    pub log_file_bytes: u64,
    pub queue_file_bytes: u64,
    pub queue_ext_file_bytes: Option<u64>,
    pub index_slots: u32,
    pub index_entries: u32,
    pub index_enabled: bool,
    pub index_safe: bool,

    pub message_bytes_max: usize,
    pub topic_bytes_max: usize,
    pub long_topics_use_v2: bool,
    pub append_property_crc: bool,
    pub verify_property_crc: bool,
    pub check_crc_on_recover: bool,

    pub flush_mode: FlushMode,
    pub sync_flush_timeout: Duration,
    pub flush_interval: Duration,
    pub flush_least_pages: u64,
    pub flush_thorough_interval: Duration,
    pub flush_timed: bool,
    pub queue_flush_interval: Duration,
    pub queue_flush_least_pages: u64,
    pub queue_flush_thorough_interval: Duration,

    /// Write buffers between the writer and the files; `None` when appends go straight to the map.
    pub transient_pool: Option<TransientPoolConfig>,
    pub warm_up: bool,
    pub warm_up_flush_pages: u64,

    pub page_cache_busy: Duration,
    pub transfer_memory: TransferLimit,
    pub transfer_disk: TransferLimit,
    pub memory_ratio_percent: u64,
    pub query_results_max: usize,

    pub lmq: bool,
    pub multi_dispatch: bool,
    pub lmq_queues_max: usize,
    /// Delay of each level in milliseconds; level 1 is the first.
    pub delay_levels: Vec<i64>,
    pub is_slave: bool,
}

#[derive(Clone, Copy, Debug)]
pub struct TransientPoolConfig {
    pub buffers: usize,
    pub fail_fast: bool,
    pub commit_interval: Duration,
    pub commit_least_pages: u64,
    pub commit_thorough_interval: Duration,
}

/// How much one read may return.
#[derive(Clone, Copy, Debug)]
pub struct TransferLimit {
    pub bytes: usize,
    pub count: usize,
}

/// The name of the file that tells how an orderly stop left the store.
pub const ORDERLY_STOP: &str = "tailfin-orderly-stop";

/// The delays of RocketMQ's 18 levels.
const LEVELS_SECONDS: [i64; 18] =
    [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200];

impl StoreConfig {
    /// Whether messages can name further queues. Their numbers are given out and followed only then: those in a
    /// message that was put otherwise are whatever its client wrote.
    pub fn has_light_queues(&self) -> bool {
        self.lmq && self.multi_dispatch
    }

    /// What `tailfin.config` says of a store that nobody configured, for programs without Python.
    pub fn usual(root: &Path) -> Self {
        Self {
            commit_log_dir: root.join("commitlog"),
            queue_dir: root.join("consumequeue"),
            queue_ext_dir: root.join("consumequeue_ext"),
            index_dir: root.join("index"),
            checkpoint_path: root.join("checkpoint"),
            abort_path: root.join("abort"),
            lock_path: root.join("lock"),
            orderly_stop_path: root.join(ORDERLY_STOP),
            store_host: SocketAddr::from(([127, 0, 0, 1], 10911)),
            log_file_bytes: 1 << 30,
            queue_file_bytes: 6_000_000,
            queue_ext_file_bytes: None,
            index_slots: 5_000_000,
            index_entries: 20_000_000,
            index_enabled: true,
            index_safe: false,
            message_bytes_max: 4 << 20,
            topic_bytes_max: 127,
            long_topics_use_v2: true,
            append_property_crc: false,
            verify_property_crc: false,
            check_crc_on_recover: true,
            flush_mode: FlushMode::Async,
            sync_flush_timeout: Duration::from_secs(5),
            flush_interval: Duration::from_millis(500),
            flush_least_pages: 4,
            flush_thorough_interval: Duration::from_secs(10),
            flush_timed: true,
            queue_flush_interval: Duration::from_secs(1),
            queue_flush_least_pages: 2,
            queue_flush_thorough_interval: Duration::from_mins(1),
            transient_pool: None,
            warm_up: false,
            warm_up_flush_pages: 4096,
            page_cache_busy: Duration::from_secs(1),
            transfer_memory: TransferLimit { bytes: 256 << 10, count: 32 },
            transfer_disk: TransferLimit { bytes: 64 << 10, count: 8 },
            memory_ratio_percent: 40,
            query_results_max: 64,
            lmq: false,
            multi_dispatch: false,
            lmq_queues_max: 20_000,
            delay_levels: LEVELS_SECONDS.map(|seconds| seconds * 1000).to_vec(),
            is_slave: false,
        }
    }
}

#[cfg(test)]
impl StoreConfig {
    /// Small files, so that tests roll through many of them.
    pub fn small(root: &Path) -> Self {
        Self {
            log_file_bytes: 64 * 1024,
            queue_file_bytes: 20 * 64,
            index_slots: 100,
            index_entries: 400,
            delay_levels: vec![1_000, 5_000, 10_000],
            ..Self::usual(root)
        }
    }
}
