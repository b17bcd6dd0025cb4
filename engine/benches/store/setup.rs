//! Opening a store with the original's defaults, as `tailfin.config` would.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tailfin_engine::log::config::{FlushMode, StoreConfig, TransferLimit};
use tailfin_engine::log::notes::{Level, Notes};
use tailfin_engine::log::store::Store;

use crate::Outcome;

const LEVELS_SECONDS: [i64; 18] =
    [1, 5, 10, 30, 60, 120, 180, 240, 300, 360, 420, 480, 540, 600, 1200, 1800, 3600, 7200];

fn config(root: &Path, flush_mode: FlushMode) -> Outcome<StoreConfig> {
    Ok(StoreConfig {
        commit_log_dir: root.join("commitlog"),
        queue_dir: root.join("consumequeue"),
        queue_ext_dir: root.join("consumequeue_ext"),
        index_dir: root.join("index"),
        checkpoint_path: root.join("checkpoint"),
        abort_path: root.join("abort"),
        lock_path: root.join("lock"),
        store_host: "127.0.0.1:10911".parse()?,
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
        flush_mode,
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
    })
}

/// Open the store in `root`, which is made if it is missing.
pub fn open(root: &Path, flush_mode: FlushMode) -> Outcome<Store> {
    std::fs::create_dir_all(root)?;
    Ok(Store::open(config(root, flush_mode)?, Arc::new(Notes::default()))?)
}

/// Open a store that must be new, so that nothing else is measured with it.
pub fn open_new(root: &Path, flush_mode: FlushMode) -> Outcome<Store> {
    if root.exists() {
        return Err(format!("{} exists; this case wants to make it", root.display()).into());
    }
    open(root, flush_mode)
}

/// Wait until every appended record is in its consume queue and in the index.
pub fn await_dispatch(store: &Store) {
    while store.dispatcher.behind() > 0 {
        thread::sleep(Duration::from_millis(1));
    }
}

/// Close in order. What the store complained about makes the figures doubtful, so it is shown.
pub fn close(store: &Store) -> Outcome<()> {
    store.close()?;
    for (level, text) in store.notes.drain() {
        if level != Level::Info {
            eprintln!("the store says: {text}");
        }
    }
    Ok(())
}
