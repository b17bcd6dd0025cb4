//! What decodes as a message id encodes back to the same text, in upper case.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::message::ids::{decode_message_id, encode_message_id};

fuzz_target!(|text: &[u8]| {
    if let Ok((host, offset)) = decode_message_id(text) {
        assert_eq!(encode_message_id(&host, offset).as_bytes(), text.to_ascii_uppercase());
    }
});
