//! Messages that Python wants stored, taken out of its objects.

use std::net::SocketAddr;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use super::store::{LogStore, push_properties};
use crate::message::Draft;

/// What a message of Python's holds, taken out of it.
pub struct HeldDraft {
    topic: String,
    body: Vec<u8>,
    text: Vec<u8>,
    /// Queue id, flag, system flag, times consumed again.
    numbers: [i32; 4],
    prepared_offset: i64,
    born: (i64, SocketAddr),
}

impl HeldDraft {
    pub fn of(store: &LogStore, draft: &Bound<'_, PyAny>) -> PyResult<Self> {
        let mut text = Vec::new();
        push_properties(&mut text, &draft.getattr("properties")?)?;
        let number = |name: &str| draft.getattr(name)?.extract::<i32>();
        let born_host: Option<String> = draft.getattr("born_host")?.extract()?;
        Ok(Self {
            topic: draft.getattr("topic")?.extract()?,
            body: draft.getattr("body")?.cast_into::<PyBytes>()?.as_bytes().to_vec(),
            text,
            numbers: [number("queue_id")?, number("flag")?, number("sys_flag")?, number("reconsume_times")?],
            prepared_offset: draft.getattr("prepared_offset")?.extract()?,
            born: store.born(draft.getattr("born_timestamp")?.extract()?, born_host.as_deref())?,
        })
    }

    pub fn draft(&self, store_host: SocketAddr) -> Draft<'_> {
        let [queue_id, flag, sys_flag, reconsume_times] = self.numbers;
        Draft {
            topic: self.topic.as_bytes(),
            queue_id,
            flag,
            sys_flag,
            born_timestamp: self.born.0,
            born_host: self.born.1,
            store_host,
            reconsume_times,
            prepared_offset: self.prepared_offset,
            body: &self.body,
            properties: &self.text,
        }
    }
}
