//! The hash of well-formed text is Java's definition, and of any text it is found without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::message::ids::{TopicHash, java_hash};

fuzz_target!(|text: &[u8]| {
    let hash = java_hash(text);
    if let Ok(text) = str::from_utf8(text) {
        let slow =
            text.encode_utf16().fold(0_i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(unit)));
        assert_eq!(hash, slow);
    }
    let (topic, key) = text.split_at(text.len() / 2);
    assert!(TopicHash::of(topic).with_key(key) >= 0);
    assert!(TopicHash::of(topic).with_tags(key) >= 0);
});
