//! What decodes as a batch encodes back to the same entries.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::message::batch::{encode_entry, entries};

fuzz_target!(|body: &[u8]| {
    let whole: Vec<_> = entries(body).map_while(Result::ok).collect();
    let mut again = Vec::new();
    for entry in &whole {
        encode_entry(&mut again, entry).unwrap();
    }
    assert!(again.len() <= body.len());
    assert!(entries(&again).map(Result::unwrap).eq(whole));
});
