//! The hot path in Python: its rulebook, its offsets, its counters.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::filter::SqlFilter;
use super::options::Options;
use super::store::LogStore;
use crate::hot::offsets::Place;
use crate::hot::options::HotOptions;
use crate::hot::path;
use crate::hot::rulebook::{Filter, Group, Subscription, Topic};
use crate::hot::waiting::{TimerRule, WaitRules};
use crate::log::filter::TagFilter;

/// What the sockets' threads answer without Python: sends, pulls, long polling, consumer offsets.
#[pyclass(frozen, module = "tailfin._engine")]
pub struct HotPath {
    path: Arc<path::HotPath>,
}

fn place<'a>(group: &'a str, topic: &'a str, queue_id: i32) -> Place<'a> {
    Place { topic: topic.as_bytes(), group: group.as_bytes(), queue_id }
}

fn hot_options(options: &Bound<'_, PyAny>) -> PyResult<HotOptions> {
    let options = Options::of(options)?;
    let taken = HotOptions {
        cluster: options.take("brokerClusterName")?,
        address: options.take("brokerIP1")?,
        broker_id: options.take("brokerId")?,
        region: options.take("regionId")?,
        trace_on: options.take("traceOn")?,
        permission: options.take("brokerPermission")?,
        accept_sends_from: options.take("startAcceptSendRequestTimeStamp")?,
        lite_pull: options.take("litePullMessageEnable")?,
        long_polling: options.take("longPollingEnable")?,
        short_polling: options.millis("shortPollingTimeMills")?,
        slave_read: options.take("slaveReadEnable")?,
        property_filter: options.take("enablePropertyFilter")?,
        filter_retries: options.take("filterSupportRetry")?,
        reject_transactions: options.take("rejectTransactionMessage")?,
    };
    options.done()?;
    Ok(taken)
}

#[pymethods]
impl HotPath {
    #[new]
    fn new(store: &LogStore, options: &Bound<'_, PyAny>) -> PyResult<Self> {
        Ok(Self { path: path::HotPath::new(store.shared(), hot_options(options)?)? })
    }

    /// Replace all options at once (permissions, limits, region, role, ...).
    fn set_options(&self, options: &Bound<'_, PyAny>) -> PyResult<()> {
        self.path.set_options(hot_options(options)?);
        Ok(())
    }

    /// Say which messages may be put where they wait without Python; the others that ask to wait stay Python's.
    #[pyo3(signature = (*, level_max, broker, timer_precision=None, timer_delay_max=0))]
    fn set_waiting(
        &self,
        level_max: i64,
        broker: String,
        timer_precision: Option<i64>,
        timer_delay_max: i64,
    ) {
        let timer = timer_precision
            .filter(|&precision| precision > 0)
            .map(|precision_ms| TimerRule { precision_ms, delay_ms_max: timer_delay_max });
        self.path.set_wait_rules(WaitRules { level_max, timer, broker });
    }

    /// A new key for a message that came without one.
    fn new_unique_key(&self) -> String {
        self.path.new_unique_key().as_str().to_owned()
    }

    /// Tell or change a topic; with `by_python` sends to it are left to Python.
    #[pyo3(signature = (name, *, read_queues, write_queues, perm, sys_flag=0, by_python=false))]
    fn put_topic(
        &self,
        name: &str,
        read_queues: i32,
        write_queues: i32,
        perm: i32,
        sys_flag: i32,
        by_python: bool,
    ) {
        self.path.put_topic(name.as_bytes(), |puts| Topic {
            name: name.as_bytes().into(),
            read_queues,
            write_queues,
            perm,
            sys_flag,
            by_python,
            puts,
        });
    }

    fn drop_topic(&self, name: &str) {
        self.path.rulebook.drop_topic(name.as_bytes());
    }

    /// Tell or change a subscription group; with `by_python` its pulls are left to Python.
    #[pyo3(signature = (name, *, consume_enable, broadcast_enable, broker_id, broker_id_when_slow, sys_flag=0,
        by_python=false))]
    #[allow(clippy::too_many_arguments, clippy::fn_params_excessive_bools)] // keywords, one per setting
    fn put_group(
        &self,
        name: &str,
        consume_enable: bool,
        broadcast_enable: bool,
        broker_id: i64,
        broker_id_when_slow: i64,
        sys_flag: i32,
        by_python: bool,
    ) {
        let group =
            Group { consume_enable, broadcast_enable, broker_id, broker_id_when_slow, sys_flag, by_python };
        self.path.rulebook.put_group(name.as_bytes(), group);
    }

    fn drop_group(&self, name: &str) {
        self.path.rulebook.drop_group(name.as_bytes());
    }

    /// Tell what a group's members read of a topic: hashes of tags, none for all, or a filter by properties.
    #[pyo3(signature = (group, topic, *, version, tag_codes, broadcast, sql=None, by_python=false))]
    #[allow(clippy::too_many_arguments)] // keywords, one per setting
    fn put_subscription(
        &self,
        group: &str,
        topic: &str,
        version: i64,
        tag_codes: &Bound<'_, PyAny>,
        broadcast: bool,
        sql: Option<&SqlFilter>,
        by_python: bool,
    ) -> PyResult<()> {
        let codes = tag_codes.try_iter()?.map(|code| code?.extract()).collect::<PyResult<Vec<i64>>>()?;
        let filter = match sql {
            Some(sql) => Filter::Sql(sql.shared()),
            None => Filter::of_tags(TagFilter::of_codes(codes)),
        };
        let subscription = Subscription { version, filter, broadcast, by_python };
        self.path.rulebook.put_subscription(group.as_bytes(), topic.as_bytes(), subscription);
        Ok(())
    }

    fn drop_subscription(&self, group: &str, topic: &str) {
        self.path.rulebook.drop_subscription(group.as_bytes(), topic.as_bytes());
    }

    /// Leave these request codes to Python from now on (hooks, tracing); an empty list ends it.
    fn send_to_python(&self, codes: &Bound<'_, PyAny>) -> PyResult<()> {
        let codes = codes.try_iter()?.map(|code| code?.extract()).collect::<PyResult<Vec<i32>>>()?;
        self.path.leave_to_python(codes);
        Ok(())
    }

    /// Pulls that wait for a message now.
    fn held_pulls(&self) -> usize {
        self.path.held_pulls()
    }

    /// Let the pulls waiting on a queue look again now.
    fn wake_pulls(&self, py: Python<'_>, topic: &str, queue_id: i32) {
        py.detach(|| self.path.wake_pulls(topic.as_bytes(), queue_id));
    }

    fn commit_offset(&self, group: &str, topic: &str, queue_id: i32, offset: i64) {
        self.path.offsets.commit(place(group, topic, queue_id), offset);
    }

    fn committed_offset(&self, group: &str, topic: &str, queue_id: i32) -> Option<i64> {
        self.path.offsets.committed(place(group, topic, queue_id))
    }

    /// Where the group's last pull of the queue ended.
    fn pulled_offset(&self, group: &str, topic: &str, queue_id: i32) -> Option<i64> {
        self.path.offsets.pulled(place(group, topic, queue_id))
    }

    /// Answer the next pull with `PULL_OFFSET_MOVED` to this offset, and ignore commits until then.
    fn reset_offset(&self, py: Python<'_>, group: &str, topic: &str, queue_id: i32, offset: i64) {
        py.detach(|| self.path.reset_offset(place(group, topic, queue_id), offset));
    }

    /// The committed offsets of a group on a topic, by queue.
    fn offsets_of(&self, group: &str, topic: &str) -> BTreeMap<i32, i64> {
        self.path.offsets.of(topic.as_bytes(), group.as_bytes())
    }

    /// Topics on which a group has committed offsets, sorted.
    fn topics_with_offsets(&self, group: &str) -> Vec<String> {
        self.path.offsets.topics_of(group.as_bytes())
    }

    /// Groups that have committed offsets on a topic, sorted.
    fn groups_with_offsets(&self, topic: &str) -> Vec<String> {
        self.path.offsets.groups_of(topic.as_bytes())
    }

    /// All committed offsets: `topic@group` to queue to offset, as `consumerOffset.json` holds them.
    fn offsets(&self, py: Python<'_>) -> HashMap<String, BTreeMap<i32, i64>> {
        py.detach(|| self.path.offsets.snapshot().into_iter().collect())
    }

    /// Counts commits: unchanged means nothing to persist.
    fn offsets_version(&self) -> u64 {
        self.path.offsets.version()
    }

    fn load_offsets(&self, offsets: &Bound<'_, PyAny>) -> PyResult<()> {
        for item in offsets.call_method0("items")?.try_iter()? {
            let (key, queues): (String, Bound<'_, PyAny>) = item?.extract()?;
            let queues = queues.call_method0("items")?.try_iter()?;
            let queues = queues.map(|pair| pair?.extract()).collect::<PyResult<Vec<(i32, i64)>>>()?;
            if !self.path.offsets.load(&key, queues) {
                return Err(PyValueError::new_err(format!("{key:?} is not topic@group")));
            }
        }
        Ok(())
    }

    /// Forget the offsets of a topic, of a group, or of one group on one topic.
    #[pyo3(signature = (*, topic=None, group=None))]
    fn drop_offsets(&self, topic: Option<&str>, group: Option<&str>) -> PyResult<()> {
        if topic.is_none() && group.is_none() {
            return Err(PyValueError::new_err("say whose offsets: a topic, a group, or both"));
        }
        self.path.offsets.forget(topic.map(str::as_bytes), group.map(str::as_bytes));
        Ok(())
    }

    /// The longest that looking for a pull's messages took, in milliseconds.
    fn slowest_read_ms(&self) -> u64 {
        self.path.counters.reads.slowest_ms()
    }

    /// Totals since start, by RocketMQ's stats name and key (`TOPIC_PUT_NUMS` to `{topic: n}`, ...).
    fn counters(&self) -> HashMap<&'static str, HashMap<String, u64>> {
        let mut totals: HashMap<_, HashMap<_, _>> = HashMap::new();
        let cluster = &self.path.settings().options.cluster;
        for (name, key, total) in self.path.counters.report(cluster) {
            totals.entry(name).or_default().insert(key, total);
        }
        totals
    }
}

impl HotPath {
    /// For the server whose requests it answers.
    pub(super) fn shared(&self) -> Arc<path::HotPath> {
        self.path.clone()
    }
}
