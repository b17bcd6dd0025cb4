//! What parses as a record encodes back to the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::message::{Draft, Encoding, Found, Record, Stamp, look};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(Found::Record(record)) = look(bytes) {
        assert_eq!(record.bytes(), &bytes[..record.size()]);
        record.property_crc_state();
        record.offset_message_id();
        assert_encodes_back(&record);
    }
});

fn assert_encodes_back(record: &Record<'_>) {
    let (Some(born_host), Some(store_host)) = (record.born_host(), record.store_host()) else { return };
    let draft = Draft {
        topic: record.topic(),
        queue_id: record.queue_id(),
        flag: record.flag(),
        sys_flag: record.sys_flag(),
        born_timestamp: record.born_timestamp(),
        born_host,
        store_host,
        reconsume_times: record.reconsume_times(),
        prepared_offset: record.prepared_offset(),
        body: record.body(),
        properties: record.properties(),
    };
    let encoding = Encoding { body_crc: record.body_crc(), property_crc: false, long_topics: true };
    // Readers take longer topics than writers write, and version 2 for topics that do not need it.
    let Ok(prepared) = draft.prepare(encoding) else { return };
    if prepared.version() != record.version() {
        return;
    }
    let mut again = vec![0; prepared.encoded_len()];
    let stamp = Stamp {
        queue_offset: record.queue_offset(),
        physical_offset: record.physical_offset(),
        store_timestamp: record.store_timestamp(),
    };
    prepared.encode_hidden(&mut again, stamp);
    prepared.reveal(&mut again);
    assert_eq!(again, record.bytes());
}
