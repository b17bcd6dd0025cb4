use super::super::gathering::Gathering;
use super::*;
use crate::arrow::{Chosen, Opening, Origin};
use crate::client::received::{Answer, Reading, Tags};
use crate::message::samples::{encoded, plain, stamp, usual};

const LIMIT: Amount = Amount { messages: 4, bytes: 100_000 };

fn started() -> State {
    let mut state = State::new(LIMIT, "a".into(), 10..i64::MAX, None);
    state.resume(None, None);
    state
}

/// So many messages, from `offset` on.
fn found(offset: i64, count: i64) -> Pulled {
    let draft = plain(b"T", b"body");
    let bytes: Vec<u8> =
        (offset..offset + count).flat_map(|at| encoded(&draft, usual(&draft), stamp(at, at, 0))).collect();
    let reading = Reading { broker: "b".into(), namespace: None, check_crc: true, body_bytes_max: 100 };
    let amount = Amount { messages: count as usize, bytes: bytes.len() };
    let answer = Answer { reading: reading.into(), bytes: bytes.into(), bounds: None, offset_delta: 0 };
    let (messages, _) = Arc::new(answer).messages(0..i64::MAX, &Tags::default());
    Pulled { messages, amount, next_offset: offset + count, ..Pulled::default() }
}

fn trouble(next_offset: i64) -> Pulled {
    let trouble = Trouble { code: 21, remark: String::new(), next_offset };
    Pulled { next_offset, trouble: Some(trouble), ..Pulled::default() }
}

fn offsets(messages: &[Received]) -> Vec<i64> {
    messages.iter().map(Received::queue_offset).collect()
}

#[test]
fn nothing_is_pulled_before_the_start() {
    assert_eq!(State::new(LIMIT, "a".into(), 10..i64::MAX, None).next_pull(), None);
}

#[test]
fn there_is_one_pull_at_a_time_and_each_begins_where_the_last_ended() {
    let mut state = started();
    assert_eq!(state.next_pull(), Some(Pull { address: "a".into(), offset: 10, run: 0 }));
    assert_eq!(state.next_pull(), None);
    assert!(state.arrived(0, found(10, 3)));
    assert_eq!(state.next_pull(), Some(Pull { address: "a".into(), offset: 13, run: 0 }));
}

#[test]
fn messages_are_taken_in_order_over_several_pulls() {
    let mut state = started();
    state.arrived(0, found(10, 2));
    state.arrived(0, found(12, 2));
    assert_eq!(offsets(&state.take(3)), [10, 11, 12]);
    assert_eq!(offsets(&state.take(3)), [13]);
    assert_eq!(offsets(&state.take(3)), [] as [i64; 0]);
}

#[test]
fn it_pauses_at_a_limit_until_messages_are_released() {
    let mut state = started();
    let pulled = found(10, 4);
    let bytes = pulled.amount.bytes;
    state.arrived(0, pulled);
    assert_eq!(state.next_pull(), None);
    state.take(4);
    assert_eq!(state.next_pull(), None, "taken is not released");
    state.release(Amount { messages: 1, bytes: bytes / 4 });
    assert!(state.next_pull().is_some());
    state.release(Amount { messages: 9, bytes: usize::MAX });
    assert_eq!(state.held(), Amount::default());
}

#[test]
fn it_pauses_at_the_limit_of_bytes_too() {
    let mut state = State::new(Amount { messages: 100, bytes: 10 }, "a".into(), 0..i64::MAX, None);
    state.resume(None, None);
    state.arrived(0, found(0, 1));
    assert_eq!(state.next_pull(), None);
}

#[test]
fn trouble_stops_it_until_it_is_resumed_somewhere() {
    let mut state = started();
    state.next_pull();
    state.arrived(0, trouble(50));
    assert!(state.has_news());
    assert_eq!(state.next_pull(), None);
    state.resume(Some(60), Some("slave".into()));
    assert_eq!(state.trouble(), None);
    assert_eq!(state.next_pull(), Some(Pull { address: "slave".into(), offset: 60, run: 1 }));
}

#[test]
fn trouble_shows_when_what_came_before_was_taken() {
    let mut state = started();
    state.arrived(0, found(10, 2));
    state.arrived(0, trouble(50));
    assert_eq!((state.trouble(), state.has_news()), (None, true));
    state.take(2);
    assert_eq!(state.trouble().map(|trouble| trouble.code), Some(21));
}

#[test]
fn a_resume_keeps_what_is_ready_and_a_seek_does_not() {
    let mut state = started();
    state.arrived(0, found(10, 2));
    state.resume(Some(40), None);
    assert_eq!(offsets(&state.take(1)), [10]);
    state.seek(70);
    assert_eq!(state.ready(), 0);
    assert_eq!(state.held().messages, 1, "the one that was taken");
    assert_eq!(state.next_pull().unwrap().offset, 70);
}

#[test]
fn late_answers_are_ignored() {
    let mut state = started();
    state.next_pull();
    state.seek(70);
    assert!(!state.arrived(0, found(10, 2)));
    assert_eq!((state.ready(), state.offset()), (0, 70));
    state.next_pull();
    state.close();
    assert!(!state.arrived(1, found(70, 1)));
    state.resume(None, None);
    assert_eq!(state.next_pull(), None, "closed is closed");
}

#[test]
fn a_pause_keeps_the_pull_under_way() {
    let mut state = started();
    state.next_pull();
    state.pause();
    assert!(state.arrived(0, found(10, 2)));
    assert_eq!(state.next_pull(), None);
    state.resume(None, None);
    assert_eq!(state.next_pull().unwrap().offset, 12);
}

#[test]
fn python_is_told_once_until_it_looks() {
    let mut state = started();
    state.arrived(0, found(10, 1));
    assert!(state.tells());
    assert!(!state.tells());
    state.seen();
    assert!(state.tells());
}

#[test]
fn nothing_is_pulled_from_its_end_on() {
    let mut state = State::new(LIMIT, "a".into(), 10..12, None);
    state.resume(None, None);
    assert_eq!(state.next_pull().unwrap().offset, 10);
    state.arrived(0, found(10, 2));
    assert_eq!((state.next_pull(), state.is_finished()), (None, false));
    state.take(2);
    assert!(state.is_finished());
}

fn gathering(rows: usize) -> State {
    let origin = Origin { broker: None, namespace: None };
    let full = Amount { messages: rows, bytes: usize::MAX };
    let gathered = Gathered::new(Gathering { full, chosen: Chosen::usual(), origin });
    let mut state = State::new(LIMIT, "a".into(), 10..14, Some(gathered));
    state.resume(None, None);
    state
}

/// Have so many messages be gathered, as an answer would.
fn gather(state: &mut State, offset: i64, count: i64) {
    let draft = plain(b"T", b"body");
    let bytes: Vec<u8> =
        (offset..offset + count).flat_map(|at| encoded(&draft, usual(&draft), stamp(at, at, 0))).collect();
    let tags = Tags::default();
    let wanted = offset..i64::MAX;
    let opening = Opening { check_crc: true, body_bytes_max: 100, offset_delta: 0, wanted, tags: &tags };
    let (amount, bad) = state.gathered().unwrap().add(&bytes, &opening);
    assert!(bad.is_none());
    state.arrived(0, Pulled { amount, next_offset: offset + count, ..Pulled::default() });
}

#[test]
fn who_waits_for_batches_is_woken_for_whole_ones_or_when_no_more_comes() {
    let mut state = gathering(2);
    state.next_pull();
    assert!(!state.is_due(), "it is under way");
    gather(&mut state, 10, 1);
    assert_eq!((state.is_due(), state.has_news(), state.ready()), (false, true, 1));
    gather(&mut state, 11, 2);
    assert!(state.is_due());
    assert_eq!(state.collect().map(|columns| columns.len()), Some(2));
    assert_eq!((state.is_due(), state.ready(), state.held().messages), (false, 1, 1));
    gather(&mut state, 13, 1);
    assert_eq!(state.collect().map(|columns| columns.len()), Some(2));
    assert!(state.is_due() && state.is_finished(), "its end is reached");
    assert!(state.collect().is_none());
    assert_eq!(state.held(), Amount::default());
}

#[test]
fn trouble_waits_for_what_was_gathered_before_it_and_wakes_at_once() {
    let mut state = gathering(100);
    gather(&mut state, 10, 1);
    state.arrived(0, trouble(50));
    assert!(state.is_due() && state.trouble().is_none());
    assert!(state.collect().is_some());
    assert!(state.trouble().is_some());
}

#[test]
fn limits_that_are_reached_wake_as_well() {
    let mut state = gathering(100);
    gather(&mut state, 10, 3);
    assert!(!state.is_due());
    gather(&mut state, 13, 1);
    assert!(state.is_due());
}

#[test]
fn a_seek_drops_what_was_gathered() {
    let mut state = gathering(2);
    gather(&mut state, 10, 3);
    state.seek(11);
    assert_eq!((state.ready(), state.held(), state.next_pull().unwrap().offset), (0, Amount::default(), 11));
}
