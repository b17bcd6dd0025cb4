use bumpalo::Bump;

use super::*;
use crate::client::courier::Failure;
use crate::message::samples::{encoded, plain, stamp, usual};
use crate::net::encode::{self, Head};
use crate::net::frame::next_frame;
use crate::net::header::{Encoding, FLAG_RESPONSE};
use crate::net::text::Value;

const NEXT: &str = "nextBeginOffset";

/// What becomes of a pull from offset 10 on that is answered so.
fn pulled(code: i32, fields: &[(&str, Value<'_>)], body: &[u8], may_wait: bool) -> Pulled {
    let encoding = Encoding::Json;
    let head = Head { encoding, code, opaque: 1, flag: FLAG_RESPONSE, remark: Some("said why"), fields };
    let mut bytes = Vec::new();
    encode::head(&mut bytes, &head, body.len());
    bytes.extend_from_slice(body);
    let bump = Bump::new();
    let frame = next_frame(&mut bytes.as_slice(), 1 << 20, &bump).unwrap().unwrap();
    outcome(Outcome::Answered(&frame), may_wait)
}

fn outcome(outcome: Outcome<'_>, may_wait: bool) -> Pulled {
    let reading = Reading { broker: "b".into(), namespace: None, check_crc: true, body_bytes_max: 100 };
    let asked =
        Asked { offset: 10, until: i64::MAX, may_wait, tags: &Tags::default(), reading: &reading.into() };
    Pulled::of(outcome, asked, None)
}

fn records(offsets: std::ops::Range<i64>) -> Vec<u8> {
    let draft = plain(b"T", b"body");
    offsets.flat_map(|at| encoded(&draft, usual(&draft), stamp(at, at, 0))).collect()
}

fn trouble(code: i32, remark: &str, next_offset: i64) -> Trouble {
    Trouble { code, remark: remark.into(), next_offset }
}

#[test]
fn messages_that_were_found_come_with_all_that_the_answer_says() {
    let body = records(10..13);
    let fields = [
        (NEXT, 14.into()),
        ("minOffset", 3.into()),
        ("maxOffset", 99.into()),
        ("suggestWhichBrokerId", 1.into()),
    ];
    let found = pulled(FOUND, &fields, &body, true);
    assert_eq!(found.amount, Amount { messages: 3, bytes: body.len() });
    assert_eq!(found.messages.iter().map(Received::queue_offset).collect::<Vec<_>>(), [10, 11, 12]);
    assert_eq!((found.next_offset, found.bounds, found.suggested_broker), (14, Some((3, 99)), Some(1)));
    assert_eq!(found.trouble, None);
}

#[test]
fn a_pull_goes_on_after_nothing_was_found() {
    let nothing = pulled(NOT_FOUND, &[(NEXT, 10.into())], b"", true);
    assert_eq!((nothing.next_offset, nothing.trouble), (10, None));
    let unmatched = pulled(RETRY_IMMEDIATELY, &[(NEXT, 50.into())], b"", true);
    assert_eq!((unmatched.next_offset, unmatched.trouble), (50, None));
}

#[test]
fn what_would_be_asked_again_without_a_pause_is_trouble() {
    let end = pulled(NOT_FOUND, &[(NEXT, 10.into())], b"", false);
    assert_eq!(end.trouble, Some(trouble(19, "said why", 10)));
    let elsewhere = pulled(RETRY_IMMEDIATELY, &[(NEXT, 10.into())], b"", true);
    assert_eq!(elsewhere.trouble, Some(trouble(20, "said why", 10)));
    let stuck = pulled(FOUND, &[(NEXT, 10.into())], &records(10..11), true);
    assert_eq!(stuck.trouble.map(|trouble| trouble.code), Some(UNREADABLE));
}

#[test]
fn every_other_code_is_trouble() {
    assert_eq!(pulled(21, &[(NEXT, 3.into())], b"", true).trouble, Some(trouble(21, "said why", 3)));
    assert_eq!(pulled(17, &[], b"", true).trouble, Some(trouble(17, "said why", 10)));
    assert_eq!(pulled(NOT_FOUND, &[], b"", true).trouble, Some(trouble(19, "said why", 10)));
    let lost = outcome(Outcome::Failed(Failure::send_failed("gone")), true);
    assert_eq!((lost.next_offset, lost.trouble), (10, Some(trouble(Failure::SEND_FAILED, "gone", 10))));
}

#[test]
fn messages_before_damage_are_kept() {
    let body = [records(10..12), vec![1; 100]].concat();
    let found = pulled(FOUND, &[(NEXT, 14.into())], &body, true);
    assert_eq!((found.messages.len(), found.next_offset), (2, 12));
    let trouble = found.trouble.unwrap();
    assert_eq!((trouble.code, trouble.next_offset), (UNREADABLE, 12));
    assert!(
        trouble.remark.starts_with("at offset 12 the answer holds no message: magic"),
        "{}",
        trouble.remark
    );
}
