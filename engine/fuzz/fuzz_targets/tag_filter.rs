//! A tag expression lets through exactly the tags it names.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::log::filter::TagFilter;
use tailfin_engine::message::ids::tags_code;
use tailfin_engine::message::layout::property;
use tailfin_engine::message::{Draft, Encoding, Record, Stamp, crc, properties};

fuzz_target!(|input: (&str, &str)| {
    let (expression, tag) = input;
    let named: Vec<_> = expression.split("||").map(str::trim).filter(|tag| !tag.is_empty()).collect();
    let Some(filter) = TagFilter::parse(expression) else {
        assert!(named.is_empty() || named.contains(&"*"));
        return;
    };
    for tag in &named {
        assert!(filter.may_match(tags_code(tag.as_bytes())));
    }
    if tag.contains(['\x01', '\x02']) || tag.len() > 1000 {
        return;
    }
    let mut text = Vec::new();
    properties::push(&mut text, property::TAGS, tag.as_bytes());
    let host = "127.0.0.1:0".parse().unwrap();
    let draft = Draft {
        topic: b"T",
        queue_id: 0,
        flag: 0,
        sys_flag: 0,
        born_timestamp: 0,
        born_host: host,
        store_host: host,
        reconsume_times: 0,
        prepared_offset: 0,
        body: b"",
        properties: &text,
    };
    let encoding = Encoding { body_crc: crc::body_crc(b""), property_crc: false, long_topics: true };
    let prepared = draft.prepare(encoding).unwrap();
    let mut bytes = vec![0; prepared.encoded_len()];
    prepared.encode_hidden(&mut bytes, Stamp { queue_offset: 0, physical_offset: 0, store_timestamp: 0 });
    prepared.reveal(&mut bytes);
    let matches = filter.matches(&Record::parse(&bytes).unwrap());
    assert_eq!(matches, !tag.is_empty() && named.contains(&tag));
    assert!(!matches || filter.may_match(tags_code(tag.as_bytes())));
});
