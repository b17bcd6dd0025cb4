//! Options by RocketMQ's keys, and those of a store.

use std::path::{Path, PathBuf};
use std::time::Duration;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::codec::parse_host;
use crate::log::config::{FlushMode, ORDERLY_STOP, StoreConfig, TransferLimit, TransientPoolConfig};

/// Takes options out of a dict one by one, so that what nobody took can be named.
pub struct Options<'py>(Bound<'py, PyDict>);

impl<'py> Options<'py> {
    /// The options of any mapping.
    pub fn of(options: &Bound<'py, PyAny>) -> PyResult<Self> {
        let dict = PyDict::new(options.py());
        dict.update(options.cast()?)?;
        Ok(Self(dict))
    }

    pub fn take<T>(&self, key: &str) -> PyResult<T>
    where
        T: for<'a> FromPyObject<'a, 'py>,
    {
        let value =
            self.0.get_item(key)?.ok_or_else(|| PyValueError::new_err(format!("option {key} is missing")))?;
        self.0.del_item(key)?;
        value.extract().map_err(|_| PyValueError::new_err(format!("option {key} cannot be {value:?}")))
    }

    pub fn millis(&self, key: &str) -> PyResult<Duration> {
        self.take(key).map(Duration::from_millis)
    }

    fn path(&self, key: &str) -> PyResult<PathBuf> {
        self.take::<String>(key).map(PathBuf::from)
    }

    fn limit(&self, bytes: &str, count: &str) -> PyResult<TransferLimit> {
        Ok(TransferLimit { bytes: self.take(bytes)?, count: self.take(count)? })
    }

    fn when<T>(enabled: bool, value: T) -> Option<T> {
        enabled.then_some(value)
    }

    pub fn done(&self) -> PyResult<()> {
        if self.0.is_empty() {
            return Ok(());
        }
        Err(PyValueError::new_err(format!("the engine knows no option {}", self.0.keys())))
    }
}

/// Build the configuration from a mapping that must hold every key and no other.
pub fn store_config(root: &Path, options: &Bound<'_, PyAny>) -> PyResult<StoreConfig> {
    let options = Options::of(options)?;
    let pool_enabled = options.take("transientStorePoolEnable")?;
    let pool = TransientPoolConfig {
        buffers: options.take("transientStorePoolSize")?,
        fail_fast: options.take("fastFailIfNoBufferInStorePool")?,
        commit_interval: options.millis("commitIntervalCommitLog")?,
        commit_least_pages: options.take("commitCommitLogLeastPages")?,
        commit_thorough_interval: options.millis("commitCommitLogThoroughInterval")?,
    };
    let ext_enabled = options.take("enableConsumeQueueExt")?;
    let ext_bytes = options.take("mappedFileSizeConsumeQueueExt")?;
    let flush_mode = match options.take::<String>("flushDiskType")?.as_str() {
        "SYNC_FLUSH" => FlushMode::Sync,
        "ASYNC_FLUSH" => FlushMode::Async,
        other => return Err(PyValueError::new_err(format!("flushDiskType cannot be {other:?}"))),
    };
    let is_slave = options.take::<String>("brokerRole")? == "SLAVE";
    let config = StoreConfig {
        commit_log_dir: root.join(options.path("storePathCommitLog")?),
        queue_dir: root.join(options.path("storePathConsumeQueue")?),
        queue_ext_dir: root.join(options.path("storePathConsumeQueueExt")?),
        index_dir: root.join(options.path("storePathIndex")?),
        checkpoint_path: root.join(options.path("storeCheckpoint")?),
        abort_path: root.join(options.path("abortFile")?),
        lock_path: root.join(options.path("lockFile")?),
        orderly_stop_path: root.join(ORDERLY_STOP),
        store_host: parse_host(&options.take::<String>("storeHost")?)?,
        log_file_bytes: options.take("mappedFileSizeCommitLog")?,
        queue_file_bytes: options.take("mappedFileSizeConsumeQueue")?,
        queue_ext_file_bytes: Options::when(ext_enabled, ext_bytes),
        index_slots: options.take("maxHashSlotNum")?,
        index_entries: options.take("maxIndexNum")?,
        index_enabled: options.take("messageIndexEnable")?,
        index_safe: options.take("messageIndexSafe")?,
        message_bytes_max: options.take("maxMessageSize")?,
        topic_bytes_max: options.take("maxTopicLength")?,
        long_topics_use_v2: options.take("autoMessageVersionOnTopicLen")?,
        append_property_crc: options.take("enabledAppendPropCRC")?,
        verify_property_crc: options.take("forceVerifyPropCRC")?,
        check_crc_on_recover: options.take("checkCRCOnRecover")?,
        flush_mode,
        sync_flush_timeout: options.millis("syncFlushTimeout")?,
        flush_interval: options.millis("flushIntervalCommitLog")?,
        flush_least_pages: options.take("flushCommitLogLeastPages")?,
        flush_thorough_interval: options.millis("flushCommitLogThoroughInterval")?,
        flush_timed: options.take("flushCommitLogTimed")?,
        queue_flush_interval: options.millis("flushIntervalConsumeQueue")?,
        queue_flush_least_pages: options.take("flushConsumeQueueLeastPages")?,
        queue_flush_thorough_interval: options.millis("flushConsumeQueueThoroughInterval")?,
        // Java's rule: the pool serves a master with asynchronous flush.
        transient_pool: Options::when(pool_enabled && flush_mode == FlushMode::Async && !is_slave, pool),
        warm_up: options.take("warmMapedFileEnable")?,
        warm_up_flush_pages: options.take("flushLeastPagesWhenWarmMapedFile")?,
        page_cache_busy: options.millis("osPageCacheBusyTimeOutMills")?,
        transfer_memory: options
            .limit("maxTransferBytesOnMessageInMemory", "maxTransferCountOnMessageInMemory")?,
        transfer_disk: options.limit("maxTransferBytesOnMessageInDisk", "maxTransferCountOnMessageInDisk")?,
        memory_ratio_percent: options.take("accessMessageInMemoryMaxRatio")?,
        query_results_max: options.take("maxMsgsNumBatch")?,
        lmq: options.take("enableLmq")?,
        multi_dispatch: options.take("enableMultiDispatch")?,
        lmq_queues_max: options.take("maxLmqConsumeQueueNum")?,
        delay_levels: options.take("messageDelayLevel")?,
        is_slave,
    };
    options.done()?;
    Ok(config)
}
