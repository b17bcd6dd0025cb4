//! What one send request carries.

use std::sync::Arc;
use std::time::Instant;

use super::config::{OutboxConfig, Target};
use super::draft::{Draft, Traits};
use crate::client::courier::{Courier, Request, Waiter};
use crate::message::layout::{property, sys_flag};
use crate::message::{BatchEntry, batch, properties};

const SEND_MESSAGE_V2: i32 = 310;
const SEND_BATCH_MESSAGE: i32 = 320;
const SEND_REPLY_MESSAGE_V2: i32 = 325;

/// The header and body of a send, except where it goes to.
#[derive(Clone, Debug)]
pub struct Load {
    pub code: i32,
    pub body: Arc<Vec<u8>>,
    properties: String,
    flag: i32,
    sys_flag: i32,
    pub born_ms: i64,
    reconsume_times: i32,
    max_reconsume_times: Option<i32>,
    is_batch: bool,
}

impl Load {
    /// One message on its own; a long body is compressed, unless that makes it longer.
    pub fn single(draft: &Draft<'_>, config: &OutboxConfig, born_ms: i64) -> Self {
        let Traits { is_prepared, is_reply, reconsume_times, max_reconsume_times, .. } = draft.traits;
        let (mut flags, mut body) = (0, None);
        if let Some(format) = config.compression
            && draft.body.len() >= config.compress_over
        {
            let compressed = format.compress(draft.body, config.compression_level);
            if compressed.len() < draft.body.len() {
                (flags, body) = (format.sys_flag(), Some(compressed));
            }
        }
        if is_prepared {
            flags |= sys_flag::TRANSACTION_PREPARED;
        }
        Self {
            code: if is_reply { SEND_REPLY_MESSAGE_V2 } else { SEND_MESSAGE_V2 },
            body: Arc::new(body.unwrap_or_else(|| draft.body.to_vec())),
            properties: String::from_utf8_lossy(draft.properties).into_owned(),
            flag: draft.flag,
            sys_flag: flags,
            born_ms,
            reconsume_times,
            max_reconsume_times,
            is_batch: false,
        }
    }

    /// Messages in the encoding of batches; a batch of one becomes a single message.
    pub fn collected(body: Vec<u8>, count: u32, waits: bool, born_ms: i64) -> Self {
        let mut load = Self {
            code: SEND_BATCH_MESSAGE,
            body: Arc::default(),
            properties: String::new(),
            flag: 0,
            sys_flag: 0,
            born_ms,
            reconsume_times: 0,
            max_reconsume_times: None,
            is_batch: true,
        };
        if count == 1
            && let Some(Ok(BatchEntry { flag, body, properties })) = batch::entries(&body).next()
        {
            (load.code, load.is_batch, load.flag) = (SEND_MESSAGE_V2, false, flag);
            load.body = Arc::new(body.to_vec());
            load.properties = String::from_utf8_lossy(properties).into_owned();
        } else {
            let mut text = Vec::new();
            properties::push(&mut text, property::WAIT, if waits { b"true" } else { b"false" });
            load.properties = String::from_utf8_lossy(&text).into_owned();
            load.body = Arc::new(body);
        }
        load
    }

    /// Ask for it to be stored.
    pub fn send(
        &self,
        courier: &Courier,
        config: &OutboxConfig,
        topic: &str,
        target: &Target,
        (deadline, oneway): (Instant, bool),
        waiter: Arc<dyn Waiter>,
    ) {
        let mut fields = vec![
            ("a", config.group.as_str().into()),
            ("b", topic.into()),
            ("c", config.default_topic.as_str().into()),
            ("d", config.default_queues.into()),
            ("e", i64::from(target.queue_id).into()),
            ("f", i64::from(self.sys_flag).into()),
            ("g", self.born_ms.into()),
            ("h", i64::from(self.flag).into()),
            ("i", self.properties.as_str().into()),
            ("j", i64::from(self.reconsume_times).into()),
            ("k", config.unit_mode.into()),
            ("m", self.is_batch.into()),
            ("n", (&*target.broker).into()),
        ];
        if let Some(times) = self.max_reconsume_times {
            fields.push(("l", i64::from(times).into()));
        }
        courier.send(Request {
            address: &target.address,
            code: self.code,
            fields: &fields,
            body: self.body.clone(),
            deadline,
            oneway,
            drains: true,
            waiter,
        });
    }
}
