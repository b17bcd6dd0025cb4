use std::io::{self, ErrorKind, Write};
use std::sync::Arc;

use bumpalo::Bump;

use crate::log::mapping::Mapping;
use crate::log::read::ReadResult;
use crate::net::encode::Head;
use crate::net::frame::next_frame;
use crate::net::header::Encoding;
use crate::net::outgoing::{Body, Outgoing};

fn head(opaque: i32) -> Head<'static> {
    Head { encoding: Encoding::Json, code: 0, opaque, flag: 1, remark: None, fields: &[] }
}

fn mapped(bytes: &[u8]) -> Arc<Mapping> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    Arc::new(Mapping::open(file.path(), file.as_file(), bytes.len() as u64, false).unwrap())
}

/// Send everything through a socket that takes at most `step` bytes a call and is full every third time.
fn sent(out: &mut Outgoing, step: usize) -> Vec<u8> {
    let mut all = Vec::new();
    let mut calls = 0;
    while !out.is_empty() {
        let result = out.write_with(|parts| {
            calls += 1;
            if calls % 3 == 0 {
                return Err(ErrorKind::WouldBlock.into());
            }
            let joined: Vec<u8> = parts.iter().flat_map(|part| part.iter().copied()).collect();
            all.extend_from_slice(&joined[..step.min(joined.len())]);
            Ok(step.min(joined.len()))
        });
        assert!(
            result.is_ok() || result.is_err_and(|error: io::Error| error.kind() == ErrorKind::WouldBlock)
        );
    }
    all
}

#[test]
fn frames_of_memory_and_of_the_log_leave_in_order_however_the_socket_takes_them() {
    let log: Vec<u8> = (0..20_000_u32).map(|number| number as u8).collect();
    let map = mapped(&log);
    // Apart and side by side, short and long, alone and together.
    let pieces = [(0, 10), (11, 5000), (5012, 1024), (6036, 2000), (9000, 900), (9900, 124), (11_000, 1024)];
    let (all_pieces, one_piece) =
        (ReadResult::of_pieces(&map, &pieces), ReadResult::of_pieces(&map, &pieces[1..2]));
    let records: Vec<u8> = pieces.iter().flat_map(|&(at, len)| log[at..at + len].to_vec()).collect();
    for step in [1, 7, 1000, usize::MAX] {
        let mut out = Outgoing::default();
        out.frame(&head(1), Body::Bytes(b"one"));
        out.frame(&head(2), Body::Log(&all_pieces));
        let mut other = Outgoing::default();
        other.frame(&head(3), Body::Log(&one_piece));
        other.frame(&head(4), Body::NONE);
        out.append(other);
        assert_eq!(out.take_frames(), 4);
        let len = out.len();
        let all = sent(&mut out, step);
        assert_eq!(all.len(), len);
        let bump = Bump::new();
        let mut rest = &all[..];
        let bodies = [&b"one"[..], &records, &log[11..5011], b""];
        for (index, body) in bodies.iter().enumerate() {
            let frame = next_frame(&mut rest, 1 << 24, &bump).unwrap().unwrap();
            assert_eq!((frame.header.opaque, frame.body), (index as i32 + 1, *body));
        }
        assert!(rest.is_empty());
    }
}

#[test]
fn a_queue_at_rest_gives_its_memory_back_and_takes_it_again() {
    let mut out = Outgoing::default();
    out.lend(Vec::with_capacity(4096));
    out.frame(&head(1), Body::Bytes(b"x"));
    assert_eq!(out.reclaim().capacity(), 0);
    sent(&mut out, usize::MAX);
    let spare = out.reclaim();
    assert!(spare.is_empty() && spare.capacity() >= 4096);
    assert_eq!(out.reclaim().capacity(), 0);
    out.frame(&head(2), Body::NONE);
    assert!(!sent(&mut out, 3).is_empty());
}

#[test]
fn a_reader_that_never_takes_everything_holds_only_what_it_has_not_taken() {
    let mut out = Outgoing::default();
    let body = [7; 1000];
    for _ in 0..200 {
        out.frame(&head(1), Body::Bytes(&body));
    }
    let unsent = out.len();
    for _ in 0..5_000 {
        out.frame(&head(1), Body::Bytes(&body));
        let mut room = out.len() - unsent;
        while room > 0 {
            out.write_with(|parts| {
                let taken = room.min(parts[0].len());
                room -= taken;
                if taken == 0 { Err(ErrorKind::WouldBlock.into()) } else { Ok(taken) }
            })
            .unwrap_or_else(|error| assert_eq!(error.kind(), ErrorKind::WouldBlock));
        }
    }
    assert_eq!(out.len(), unsent);
    sent(&mut out, usize::MAX);
    let capacity = out.reclaim().capacity();
    assert!(capacity < 8 * unsent, "{capacity} bytes for {unsent}");
}

#[test]
fn a_socket_that_takes_nothing_is_an_error() {
    let mut out = Outgoing::default();
    out.frame(&head(1), Body::NONE);
    assert_eq!(out.write_with(|_| Ok(0)).unwrap_err().kind(), ErrorKind::WriteZero);
}
