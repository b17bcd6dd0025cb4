use proptest::prelude::*;

use super::*;
use crate::message::draft::{Draft, Encoding};
use crate::message::layout::BODY_AT;
use crate::message::samples::{
    EVERY_FIELD, IPV6_HOSTS, any_message, any_stamp, encoded, host, plain, stamp, unhex, usual,
};

fn sample() -> Vec<u8> {
    let draft = Draft { properties: b"k\x01v\x02", ..plain(b"T", b"hello") };
    encoded(&draft, usual(&draft), stamp(3, 4, 6))
}

fn sealed() -> Vec<u8> {
    let draft = Draft { properties: b"k\x01v\x02", ..plain(b"T", b"hello") };
    encoded(&draft, Encoding { property_crc: true, ..usual(&draft) }, stamp(3, 4, 6))
}

/// The error for `sample()` with the byte at `at` replaced.
fn error_with(at: usize, value: u8) -> BadRecord {
    let mut bytes = sample();
    bytes[at] = value;
    Record::parse(&bytes).map(|_| ()).unwrap_err()
}

// shows: CL-13
#[test]
fn every_field_of_the_published_record_is_read() {
    let bytes = unhex(EVERY_FIELD);
    let record = Record::parse(&bytes).unwrap();
    assert_eq!(record.size(), 101);
    assert_eq!(record.version(), Version::V1);
    assert_eq!((record.body_crc(), record.queue_id(), record.flag()), (0, 1, 2));
    assert_eq!((record.queue_offset(), record.physical_offset()), (3, 4));
    assert_eq!((record.sys_flag(), record.transaction_type()), (0, TransactionType::Not));
    assert_eq!((record.born_timestamp(), record.born_host()), (5, Some(host("10.0.0.1:1"))));
    assert_eq!((record.store_timestamp(), record.store_host()), (6, Some(host("10.0.0.2:10911"))));
    assert_eq!((record.reconsume_times(), record.prepared_offset()), (7, 8));
    assert_eq!((record.body(), record.topic()), (&b"hello"[..], &b"T"[..]));
    assert_eq!(record.properties(), b"k\x01v\x02");
    assert_eq!(record.offset_message_id(), "0A00000200002A9F0000000000000004");
}

// shows: CL-31
#[test]
fn ipv6_hosts_move_the_fields_behind_them() {
    let bytes = unhex(IPV6_HOSTS);
    let record = Record::parse(&bytes).unwrap();
    assert_eq!(record.size(), 121);
    assert_eq!(record.born_host(), Some(host("[fe80::1]:1")));
    assert_eq!(record.store_host(), Some(host("[fe80::2]:2")));
    assert_eq!((record.body(), record.topic(), record.properties()), (&b"hello"[..], &b"T"[..], &b""[..]));
    assert_eq!(record.offset_message_id(), "FE800000000000000000000000000002000000020000000000000004");
}

#[test]
fn bytes_behind_the_record_do_not_matter() {
    let mut bytes = sample();
    let size = bytes.len();
    bytes.extend_from_slice(&[0xFF; 40]);
    assert_eq!(Record::parse(&bytes).unwrap().size(), size);
}

#[test]
fn a_body_whose_stored_crc_is_zero_is_not_intact() {
    assert!(!Record::parse(&unhex(EVERY_FIELD)).unwrap().body_is_intact());
}

#[test]
fn a_changed_body_is_not_intact() {
    let mut bytes = sample();
    assert!(Record::parse(&bytes).unwrap().body_is_intact());
    bytes[BODY_AT] ^= 1;
    assert!(!Record::parse(&bytes).unwrap().body_is_intact());
}

#[test]
fn the_property_checksum_covers_every_byte_before_it() {
    let intact = sealed();
    assert_eq!(Record::parse(&intact).unwrap().property_crc_state(), PropertyCrc::Intact);
    for at in 0..intact.len() {
        let mut bytes = intact.clone();
        bytes[at] ^= 1;
        if let Ok(record) = Record::parse(&bytes) {
            assert_ne!(record.property_crc_state(), PropertyCrc::Intact, "byte {at}");
        }
    }
}

#[test]
fn a_record_without_the_property_has_no_checksum_state() {
    assert_eq!(Record::parse(&sample()).unwrap().property_crc_state(), PropertyCrc::Absent);
}

// shows: CL-15
#[test]
fn an_unknown_magic_is_named() {
    assert_eq!(error_with(7, 0xA8), BadRecord::UnknownMagic(0xDAA3_20A8));
    assert_eq!(BadRecord::UnknownMagic(0xDAA3_20A8).to_string(), "magic 0xdaa320a8 belongs to no record");
}

#[test]
fn lengths_that_lie_are_refused() {
    assert_eq!(error_with(0, 0x80), BadRecord::ImpossibleSize(i32::MIN + 101));
    assert_eq!(error_with(3, 90), BadRecord::ImpossibleSize(90));
    assert_eq!(error_with(3, 102), BadRecord::Cut { stated: 102, present: 101 });
    assert_eq!(error_with(3, 100), BadRecord::LengthsDisagree(100));
    assert_eq!(error_with(39, 0x10), BadRecord::LengthsDisagree(101));
    assert_eq!(error_with(87, 4), BadRecord::LengthsDisagree(101));
    assert_eq!(error_with(84, 0xFF), BadRecord::LengthsDisagree(101));
    assert_eq!(error_with(93, 0xFF), BadRecord::LengthsDisagree(101));
    assert_eq!(error_with(96, 5), BadRecord::LengthsDisagree(101));
}

#[test]
fn a_record_cut_anywhere_is_refused() {
    let bytes = sample();
    for len in 0..bytes.len() {
        assert!(matches!(Record::parse(&bytes[..len]), Err(BadRecord::Cut { .. })), "cut to {len}");
    }
}

#[test]
fn a_port_that_is_none_does_not_hide_the_record() {
    let mut bytes = sample();
    bytes[BORN_HOST_AT + 4] = 1;
    assert_eq!(Record::parse(&bytes).unwrap().born_host(), None);
}

// shows: CL-22
#[test]
fn a_blank_record_closes_the_file() {
    let head = blank_head(1000).unwrap();
    assert_eq!(head, [0x00, 0x00, 0x03, 0xE8, 0xCB, 0xD4, 0x31, 0x94]);
    assert!(matches!(look(&head), Ok(Found::Blank { size: 1000 })));
}

#[test]
fn a_blank_record_needs_room_for_its_head() {
    assert_eq!(blank_head(7), None);
    assert!(blank_head(8).is_some());
    assert_eq!(blank_head(i32::MAX as usize + 1), None);
    let mut head = blank_head(8).unwrap();
    head[3] = 7;
    assert!(matches!(look(&head), Err(BadRecord::ImpossibleSize(7))));
}

#[test]
fn unwritten_space_and_a_short_rest_hold_nothing() {
    assert!(matches!(look(&[0; 200]), Ok(Found::Nothing)));
    assert!(matches!(look(&[0xFF; 7]), Ok(Found::Nothing)));
    assert!(matches!(look(b""), Ok(Found::Nothing)));
}

#[test]
fn a_size_without_a_magic_is_an_error() {
    assert!(matches!(look(&[0, 0, 0, 101, 0, 0, 0, 0]), Err(BadRecord::UnknownMagic(0))));
}

#[test]
fn a_magic_without_a_size_is_an_error() {
    let mut bytes = sample();
    bytes[..4].fill(0);
    assert!(matches!(look(&bytes), Err(BadRecord::ImpossibleSize(0))));
}

/// Calls everything that reads the record.
fn touch(bytes: &[u8]) {
    if let Ok(Found::Record(record)) = look(bytes) {
        let _ = (record.born_host(), record.store_host(), record.offset_message_id());
        let _ = (record.store_timestamp(), record.reconsume_times(), record.prepared_offset());
        let _ = (record.body_is_intact(), record.property_crc_state());
        assert_eq!(record.bytes(), &bytes[..record.size()]);
    }
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        touch(&bytes);
    }

    #[test]
    fn arbitrary_bytes_behind_a_good_head_never_panic(mut bytes: [u8; 200], size in 91..=200_u32, v2: bool) {
        let version = if v2 { Version::V2 } else { Version::V1 };
        bytes[..MAGIC_AT].copy_from_slice(&size.to_be_bytes());
        bytes[MAGIC_AT..HEAD_BYTES].copy_from_slice(&version.magic().to_be_bytes());
        touch(&bytes);
    }

    #[test]
    fn damaged_records_never_panic(
        message in any_message(),
        at in any_stamp(),
        flip: prop::sample::Index,
        bit in 0..8_u8,
        cut: prop::sample::Index,
    ) {
        let draft = message.draft();
        let mut bytes = encoded(&draft, usual(&draft), at);
        let flip = flip.index(bytes.len());
        bytes[flip] ^= 1 << bit;
        touch(&bytes);
        bytes.truncate(cut.index(bytes.len()));
        touch(&bytes);
    }
}
