//! Opening a store with the original's defaults, as `tailfin.config` would.

use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tailfin_engine::log::config::{FlushMode, StoreConfig};
use tailfin_engine::log::notes::{Level, Notes};
use tailfin_engine::log::store::Store;

use crate::Outcome;

/// Open the store in `root`, which is made if it is missing.
pub fn open(root: &Path, flush_mode: FlushMode) -> Outcome<Store> {
    std::fs::create_dir_all(root)?;
    Ok(Store::open(StoreConfig { flush_mode, ..StoreConfig::usual(root) }, Arc::new(Notes::default()))?)
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
