//! Answers to pulls, which any server may send, are taken apart without a panic and within the limit.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tailfin_engine::client::received::{Answer, Reading, Tags};

fuzz_target!(|data: &[u8]| {
    let reading =
        Reading { broker: "b".into(), namespace: Some("ns".into()), check_crc: false, body_bytes_max: 1 << 16 };
    let answer =
        Arc::new(Answer { reading: reading.into(), bytes: data.into(), bounds: None, offset_delta: 0 });
    let (messages, _) = answer.messages(0..i64::MAX, &Tags::default());
    for message in messages {
        if let Ok(body) = message.body() {
            assert!(body.len() <= data.len().max(1 << 16));
        }
        message.properties().for_each(drop);
        message.topic();
        message.message_id();
        message.transaction_id();
        message.queue_offset();
    }
});
