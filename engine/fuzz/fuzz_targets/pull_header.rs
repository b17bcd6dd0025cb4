//! Any fields are a pull within its limits, or are refused.

#![no_main]

use std::time::Duration;

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use tailfin_engine::hot::pull_header::Pull;
use tailfin_engine::net::encode::{self, Head};
use tailfin_engine::net::frame::next_frame;
use tailfin_engine::net::header::Encoding;
use tailfin_engine::net::text::Value;

const PULL_MESSAGE: i32 = 11;
const LITE_PULL_MESSAGE: i32 = 361;
const HOLD_MAX: Duration = Duration::from_secs(3600);
/// Without the first ones there is no pull; they are there unless the input says otherwise.
const NEEDED: [(&str, &str); 6] = [
    ("consumerGroup", "g"),
    ("topic", "t"),
    ("queueId", "0"),
    ("queueOffset", "0"),
    ("maxMsgNums", "32"),
    ("sysFlag", "7"),
];
const OTHERS: [&str; 6] =
    ["commitOffset", "maxMsgBytes", "suspendTimeoutMillis", "subscription", "expressionType", "subVersion"];

fuzz_target!(|input: (bool, u8, Vec<(u8, &str)>, Vec<(u8, i64)>)| {
    let (is_lite, left_out, texts, numbers) = input;
    let numbers: Vec<_> = numbers.iter().map(|&(at, number)| (at, number.to_string())).collect();
    let name = |at: u8| {
        let at = usize::from(at) % (NEEDED.len() + OTHERS.len());
        NEEDED.get(at).map_or_else(|| OTHERS[at - NEEDED.len()], |&(name, _)| name)
    };
    let needed = NEEDED.iter().enumerate().filter(|&(at, _)| left_out & 1 << at == 0);
    let given = texts.iter().copied().chain(numbers.iter().map(|(at, number)| (*at, &**number)));
    let fields: Vec<_> = needed
        .map(|(_, &(name, value))| (name, Value::Text(value)))
        .chain(given.map(|(at, value)| (name(at), Value::Text(value))))
        .collect();
    let head = Head {
        encoding: Encoding::Json,
        code: if is_lite { LITE_PULL_MESSAGE } else { PULL_MESSAGE },
        opaque: 1,
        flag: 0,
        remark: None,
        fields: &fields,
    };
    let (mut bytes, bump) = (Vec::new(), Bump::new());
    encode::head(&mut bytes, &head, 0);
    let frame = next_frame(&mut &bytes[..], usize::MAX, &bump).unwrap().unwrap();
    let Ok(pull) = Pull::of(&frame) else { return };
    assert!(pull.count_max >= 1);
    assert!(pull.hold.is_none_or(|hold| hold <= HOLD_MAX));
    assert_eq!(pull.is_lite, is_lite);
    let owned = pull.clone().into_owned();
    assert_eq!((owned.group, owned.topic, owned.expression), (pull.group, pull.topic, pull.expression));
});
