//! The codecs as plain functions, for tools, clients and tests.

use std::net::SocketAddr;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::message::{BatchEntry, Draft, Encoding, Stamp, batch, crc, ids};

/// Parse `address:port`, IPv6 in brackets.
pub fn parse_host(text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| {
        PyValueError::new_err(format!("{text:?} is not address:port (an IPv6 address goes in brackets)"))
    })
}

/// Encode one record as the log holds it.
#[pyfunction]
#[pyo3(signature = (*, topic, body, properties=b"".as_slice(), queue_id=0, flag=0, sys_flag=0, queue_offset=0,
    physical_offset=0, born_timestamp=0, born_host="127.0.0.1:0", store_timestamp=0, store_host="127.0.0.1:0",
    reconsume_times=0, prepared_offset=0, property_crc=false))]
#[allow(clippy::too_many_arguments)] // one keyword for each field of the record
pub fn encode_record<'py>(
    py: Python<'py>,
    topic: &str,
    body: &[u8],
    properties: &[u8],
    queue_id: i32,
    flag: i32,
    sys_flag: i32,
    queue_offset: i64,
    physical_offset: i64,
    born_timestamp: i64,
    born_host: &str,
    store_timestamp: i64,
    store_host: &str,
    reconsume_times: i32,
    prepared_offset: i64,
    property_crc: bool,
) -> PyResult<Bound<'py, PyBytes>> {
    let draft = Draft {
        topic: topic.as_bytes(),
        queue_id,
        flag,
        sys_flag,
        born_timestamp,
        born_host: parse_host(born_host)?,
        store_host: parse_host(store_host)?,
        reconsume_times,
        prepared_offset,
        body,
        properties,
    };
    let encoding = Encoding { body_crc: crc::body_crc(body), property_crc, long_topics: true };
    let prepared = draft.prepare(encoding).map_err(|error| PyValueError::new_err(error.to_string()))?;
    PyBytes::new_with(py, prepared.encoded_len(), |out| {
        prepared.encode_hidden(out, Stamp { queue_offset, physical_offset, store_timestamp });
        prepared.reveal(out);
        Ok(())
    })
}

type Entry<'py> = (i32, Bound<'py, PyBytes>, Bound<'py, PyBytes>);

/// Decode a client's batch: flag, body, properties text of each message.
#[pyfunction]
pub fn decode_batch<'py>(py: Python<'py>, batch: &[u8]) -> PyResult<Vec<Entry<'py>>> {
    let entry = |entry: BatchEntry<'_>| {
        (entry.flag, PyBytes::new(py, entry.body), PyBytes::new(py, entry.properties))
    };
    batch::entries(batch)
        .map(|found| found.map(entry).map_err(|bad| PyValueError::new_err(bad.to_string())))
        .collect()
}

/// Encode a batch the way a client does: flag, body, properties text of each message.
#[pyfunction]
pub fn encode_batch<'py>(py: Python<'py>, messages: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    let mut out = Vec::new();
    for message in messages.try_iter()? {
        let (flag, body, properties): (i32, Bound<'py, PyBytes>, Bound<'py, PyBytes>) = message?.extract()?;
        let entry = BatchEntry { flag, body: body.as_bytes(), properties: properties.as_bytes() };
        batch::encode_entry(&mut out, &entry).map_err(|bad| PyValueError::new_err(bad.to_string()))?;
    }
    Ok(PyBytes::new(py, &out))
}

/// Java's `String.hashCode`, as the tag filter and the index use it.
#[pyfunction]
pub fn java_hash(text: &str) -> i32 {
    ids::java_hash(text.as_bytes())
}

/// Build an offset message id from `address:port` and a physical offset.
#[pyfunction]
pub fn encode_message_id(store_host: &str, physical_offset: i64) -> PyResult<String> {
    Ok(ids::encode_message_id(&parse_host(store_host)?, physical_offset))
}

/// Take an offset message id apart; `ValueError` when it is malformed.
#[pyfunction]
pub fn decode_message_id(message_id: &str) -> PyResult<(String, i64)> {
    let (host, offset) = ids::decode_message_id(message_id.as_bytes())
        .map_err(|bad| PyValueError::new_err(format!("{message_id:?}: {bad}")))?;
    Ok((host.to_string(), offset))
}
