//! A tag expression lets through exactly the tags it names.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::log::filter::{MessageFilter, TagFilter};
use tailfin_engine::message::ids::tags_code;
use tailfin_engine::message::layout::property;
use tailfin_engine::message::properties;

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
    let matches = filter.matches(&text);
    assert_eq!(matches, !tag.is_empty() && named.contains(&tag));
    assert!(!matches || filter.may_match(tags_code(tag.as_bytes())));
});
