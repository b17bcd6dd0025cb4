//! Pairs survive being written again, and one pass for dispatch finds what single lookups find.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::message::DispatchProperties;
use tailfin_engine::message::layout::property;
use tailfin_engine::message::properties::{find, iter, push};

fuzz_target!(|text: &[u8]| {
    let mut again = Vec::new();
    for (name, value) in iter(text) {
        push(&mut again, name, value);
    }
    assert!(iter(&again).eq(iter(text)));

    let found = DispatchProperties::for_dispatch(text);
    assert_eq!(found.tags, find(text, property::TAGS));
    assert_eq!(found.keys, find(text, property::KEYS));
    assert_eq!(found.uniq_key, find(text, property::UNIQ_KEY));
    assert_eq!(found.delay, find(text, property::DELAY));
    assert_eq!(found.multi_dispatch, find(text, property::INNER_MULTI_DISPATCH));
    assert_eq!(found.multi_queue_offset, find(text, property::INNER_MULTI_QUEUE_OFFSET));
});
