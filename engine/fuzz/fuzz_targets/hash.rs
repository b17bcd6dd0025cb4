//! The hash of well-formed text is Java's definition, and of any text it is found without a panic.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::message::ids::{java_hash, key_hash};

fuzz_target!(|text: &[u8]| {
    let hash = java_hash(text);
    if let Ok(text) = str::from_utf8(text) {
        let slow =
            text.encode_utf16().fold(0_i32, |h, unit| h.wrapping_mul(31).wrapping_add(i32::from(unit)));
        assert_eq!(hash, slow);
    }
    let (topic, key) = text.split_at(text.len() / 2);
    assert!(key_hash(topic, key) >= 0);
});
