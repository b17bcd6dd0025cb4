//! What any send says about its message is found, and nothing that is the broker's to say is kept of it.

#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use tailfin_engine::hot::send_header::{Properties, SendFields, cleaned};
use tailfin_engine::net::encode::{self, Head};
use tailfin_engine::net::frame::next_frame;
use tailfin_engine::net::header::Encoding;
use tailfin_engine::net::text::Value;

const SEND_MESSAGE: i32 = 10;
const SEND_MESSAGE_V2: i32 = 310;
/// A field by its long name and by its letter, and then those that are in no send.
const NAMES: [(&str, &str); 9] = [
    ("topic", "b"),
    ("queueId", "e"),
    ("sysFlag", "f"),
    ("bornTimestamp", "g"),
    ("flag", "h"),
    ("properties", "i"),
    ("reconsumeTimes", "j"),
    ("batch", "m"),
    ("", "Ω"),
];

fuzz_target!(|input: (bool, Vec<(u8, &str)>, &str)| {
    let (is_long, given, text) = input;
    let name = |at: u8| {
        let (long, letter) = NAMES[usize::from(at) % NAMES.len()];
        if is_long { long } else { letter }
    };
    let fields: Vec<_> = given.iter().map(|&(at, value)| (name(at), Value::Text(value))).collect();
    let head = Head {
        encoding: Encoding::Json,
        code: if is_long { SEND_MESSAGE } else { SEND_MESSAGE_V2 },
        opaque: 1,
        flag: 0,
        remark: None,
        fields: &fields,
    };
    let (mut bytes, bump) = (Vec::new(), Bump::new());
    encode::head(&mut bytes, &head, 0);
    let frame = next_frame(&mut &bytes[..], usize::MAX, &bump).unwrap().unwrap();
    let found = SendFields::of(&frame);
    let last = |at: usize| given.iter().rfind(|&&(other, _)| usize::from(other) % NAMES.len() == at);
    for (at, text) in [found.topic, found.queue_id, found.sys_flag, found.born_timestamp, found.flag]
        .into_iter()
        .chain([found.properties, found.reconsume_times, found.batch])
        .enumerate()
    {
        assert_eq!(text.map(|text| text.to_str()).as_deref(), last(at).map(|&(_, value)| value));
    }
    for text in found.properties.map(|text| text.to_str()).as_deref().into_iter().chain([text]) {
        let seen = Properties::look(text);
        let key = |text: &str| Properties::look(text).unique_key.map(|range| text[range].to_owned());
        let kept = cleaned(text);
        assert!(!Properties::look(&kept).needs_cleaning);
        assert_eq!(key(&kept), key(text));
        assert_eq!(Properties::look(&kept).waits, seen.waits);
        assert_eq!(cleaned(&kept), kept);
    }
});
