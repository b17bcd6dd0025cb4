//! Where things stand in a stored record, and the values that have a meaning there.
//!
//! All numbers are big-endian. Fields after the born host move by 12 bytes for each host that is IPv6.

pub const SIZE_AT: usize = 0;
pub const MAGIC_AT: usize = SIZE_AT + 4;
pub const BODY_CRC_AT: usize = MAGIC_AT + 4;
pub const QUEUE_ID_AT: usize = BODY_CRC_AT + 4;
pub const FLAG_AT: usize = QUEUE_ID_AT + 4;
pub const QUEUE_OFFSET_AT: usize = FLAG_AT + 4;
pub const PHYSICAL_OFFSET_AT: usize = QUEUE_OFFSET_AT + 8;
pub const SYS_FLAG_AT: usize = PHYSICAL_OFFSET_AT + 8;
pub const BORN_TIMESTAMP_AT: usize = SYS_FLAG_AT + 4;
pub const BORN_HOST_AT: usize = BORN_TIMESTAMP_AT + 8;
/// This and the positions below hold while both hosts are IPv4.
pub const STORE_TIMESTAMP_AT: usize = BORN_HOST_AT + HOST_V4_BYTES;
pub const STORE_HOST_AT: usize = STORE_TIMESTAMP_AT + 8;
pub const RECONSUME_TIMES_AT: usize = STORE_HOST_AT + HOST_V4_BYTES;
pub const PREPARED_OFFSET_AT: usize = RECONSUME_TIMES_AT + 4;
pub const BODY_LEN_AT: usize = PREPARED_OFFSET_AT + 8;
pub const BODY_AT: usize = BODY_LEN_AT + 4;

pub const HOST_V4_BYTES: usize = 4 + 4;
pub const HOST_V6_BYTES: usize = 16 + 4;

/// Total size and magic: what makes a record visible to readers.
pub const HEAD_BYTES: usize = BODY_CRC_AT;
/// A record of version 1 with IPv4 hosts and no body, topic or properties.
pub const RECORD_BYTES_MIN: usize = BODY_AT + 1 + 2;
/// A file always keeps room for the blank record that closes it.
pub const END_FILE_MIN_BLANK: usize = HEAD_BYTES;

/// Java reads the length as a signed byte or short, so the upper half of the range does not exist.
pub const TOPIC_BYTES_MAX_V1: usize = i8::MAX as usize;
pub const TOPIC_BYTES_MAX: usize = 255;
pub const PROPERTIES_BYTES_MAX: usize = i16::MAX as usize;

pub const BLANK_MAGIC: u32 = 0xCBD4_3194;

const _: () = {
    assert!(QUEUE_OFFSET_AT == 20 && PHYSICAL_OFFSET_AT == 28 && SYS_FLAG_AT == 36);
    assert!(BORN_TIMESTAMP_AT == 40 && BORN_HOST_AT == 48 && STORE_TIMESTAMP_AT == 56);
    assert!(HEAD_BYTES == 8 && RECORD_BYTES_MIN == 91);
    assert!(Version::V1.magic() as i32 == -626_843_481 && Version::V2.magic() as i32 == -626_843_477);
    assert!(BLANK_MAGIC as i32 == -875_286_124);
};

/// Version 2 gives the topic a length of two bytes, for retry topics with long names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    V1,
    V2,
}

impl Version {
    pub const fn magic(self) -> u32 {
        match self {
            Self::V1 => 0xDAA3_20A7,
            Self::V2 => 0xDAA3_20AB,
        }
    }

    pub const fn of_magic(magic: u32) -> Option<Self> {
        match magic {
            0xDAA3_20A7 => Some(Self::V1),
            0xDAA3_20AB => Some(Self::V2),
            _ => None,
        }
    }

    pub(super) const fn topic_len_bytes(self) -> usize {
        match self {
            Self::V1 => 1,
            Self::V2 => 2,
        }
    }
}

/// Bits of a record's system flag.
pub mod sys_flag {
    pub const COMPRESSED: i32 = 0x1;
    pub const MULTI_TAGS: i32 = 0x2;
    pub const TRANSACTION_MASK: i32 = 0xC;
    pub const TRANSACTION_PREPARED: i32 = 0x4;
    pub const TRANSACTION_COMMIT: i32 = 0x8;
    pub const TRANSACTION_ROLLBACK: i32 = 0xC;
    pub const BORN_HOST_V6: i32 = 0x10;
    pub const STORE_HOST_V6: i32 = 0x20;
    /// The consumer must unpack the inner batch.
    pub const NEED_UNWRAP: i32 = 0x40;
    pub const INNER_BATCH: i32 = 0x80;
    /// Zero here with `COMPRESSED` set means ZLIB: clients before the mask wrote nothing else.
    pub const COMPRESSION_MASK: i32 = 0x700;
    pub const COMPRESSION_LZ4: i32 = 0x100;
    pub const COMPRESSION_ZSTD: i32 = 0x200;
    pub const COMPRESSION_ZLIB: i32 = 0x300;
}

/// The part a record plays in a transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransactionType {
    Not,
    Prepared,
    Commit,
    Rollback,
}

impl TransactionType {
    #[inline]
    pub const fn of_sys_flag(flag: i32) -> Self {
        match flag & sys_flag::TRANSACTION_MASK {
            sys_flag::TRANSACTION_PREPARED => Self::Prepared,
            sys_flag::TRANSACTION_COMMIT => Self::Commit,
            sys_flag::TRANSACTION_ROLLBACK => Self::Rollback,
            _ => Self::Not,
        }
    }

    /// Whether such a record takes a place in its consume queue.
    #[inline]
    pub const fn is_consumable(self) -> bool {
        matches!(self, Self::Not | Self::Commit)
    }
}

/// Well-known property names.
pub mod property {
    pub const NAME_END: u8 = 1;
    pub const VALUE_END: u8 = 2;

    pub const KEYS: &[u8] = b"KEYS";
    pub const TAGS: &[u8] = b"TAGS";
    pub const WAIT: &[u8] = b"WAIT";
    pub const DELAY: &[u8] = b"DELAY";
    pub const RETRY_TOPIC: &[u8] = b"RETRY_TOPIC";
    pub const REAL_TOPIC: &[u8] = b"REAL_TOPIC";
    pub const REAL_QID: &[u8] = b"REAL_QID";
    pub const TRAN_MSG: &[u8] = b"TRAN_MSG";
    pub const PGROUP: &[u8] = b"PGROUP";
    pub const MIN_OFFSET: &[u8] = b"MIN_OFFSET";
    pub const MAX_OFFSET: &[u8] = b"MAX_OFFSET";
    pub const BUYER_ID: &[u8] = b"BUYER_ID";
    pub const ORIGIN_MESSAGE_ID: &[u8] = b"ORIGIN_MESSAGE_ID";
    pub const TRANSFER_FLAG: &[u8] = b"TRANSFER_FLAG";
    pub const CORRECTION_FLAG: &[u8] = b"CORRECTION_FLAG";
    pub const MQ2_FLAG: &[u8] = b"MQ2_FLAG";
    pub const RECONSUME_TIME: &[u8] = b"RECONSUME_TIME";
    pub const MSG_REGION: &[u8] = b"MSG_REGION";
    pub const TRACE_ON: &[u8] = b"TRACE_ON";
    pub const UNIQ_KEY: &[u8] = b"UNIQ_KEY";
    pub const EXTEND_UNIQ_INFO: &[u8] = b"EXTEND_UNIQ_INFO";
    pub const MAX_RECONSUME_TIMES: &[u8] = b"MAX_RECONSUME_TIMES";
    pub const CONSUME_START_TIME: &[u8] = b"CONSUME_START_TIME";
    pub const INNER_NUM: &[u8] = b"INNER_NUM";
    pub const INNER_BASE: &[u8] = b"INNER_BASE";
    pub const DUP_INFO: &[u8] = b"DUP_INFO";
    pub const CHECK_IMMUNITY_TIME_IN_SECONDS: &[u8] = b"CHECK_IMMUNITY_TIME_IN_SECONDS";
    pub const TRAN_PREPARED_QUEUE_OFFSET: &[u8] = b"TRAN_PREPARED_QUEUE_OFFSET";
    pub const TRANSACTION_ID: &[u8] = b"__transactionId__";
    pub const TRANSACTION_CHECK_TIMES: &[u8] = b"TRANSACTION_CHECK_TIMES";
    pub const INSTANCE_ID: &[u8] = b"INSTANCE_ID";
    pub const CORRELATION_ID: &[u8] = b"CORRELATION_ID";
    pub const REPLY_TO_CLIENT: &[u8] = b"REPLY_TO_CLIENT";
    pub const TTL: &[u8] = b"TTL";
    pub const ARRIVE_TIME: &[u8] = b"ARRIVE_TIME";
    pub const PUSH_REPLY_TIME: &[u8] = b"PUSH_REPLY_TIME";
    pub const CLUSTER: &[u8] = b"CLUSTER";
    pub const MSG_TYPE: &[u8] = b"MSG_TYPE";
    pub const POP_CK: &[u8] = b"POP_CK";
    pub const POP_CK_OFFSET: &[u8] = b"POP_CK_OFFSET";
    pub const FIRST_POP_TIME: &[u8] = b"1ST_POP_TIME";
    pub const SHARDING_KEY: &[u8] = b"__SHARDINGKEY";
    pub const FORWARD_QUEUE_ID: &[u8] = b"PROPERTY_FORWARD_QUEUE_ID";
    pub const REDIRECT: &[u8] = b"REDIRECT";
    pub const INNER_MULTI_DISPATCH: &[u8] = b"INNER_MULTI_DISPATCH";
    pub const INNER_MULTI_QUEUE_OFFSET: &[u8] = b"INNER_MULTI_QUEUE_OFFSET";
    pub const TRACE_CONTEXT: &[u8] = b"TRACE_CONTEXT";
    pub const TIMER_DELAY_SEC: &[u8] = b"TIMER_DELAY_SEC";
    pub const TIMER_DELAY_MS: &[u8] = b"TIMER_DELAY_MS";
    pub const TIMER_DELIVER_MS: &[u8] = b"TIMER_DELIVER_MS";
    pub const TIMER_ENQUEUE_MS: &[u8] = b"TIMER_ENQUEUE_MS";
    pub const TIMER_DEQUEUE_MS: &[u8] = b"TIMER_DEQUEUE_MS";
    pub const TIMER_ROLL_TIMES: &[u8] = b"TIMER_ROLL_TIMES";
    pub const TIMER_OUT_MS: &[u8] = b"TIMER_OUT_MS";
    pub const TIMER_DEL_UNIQKEY: &[u8] = b"TIMER_DEL_UNIQKEY";
    pub const TIMER_DELAY_LEVEL: &[u8] = b"TIMER_DELAY_LEVEL";
    pub const BORN_HOST: &[u8] = b"__BORNHOST";
    pub const BORN_TIMESTAMP: &[u8] = b"BORN_TIMESTAMP";
    pub const TRANSIENT_TOPIC_SYS_FLAG: &[u8] = b"__RMQ.TRANSIENT.TOPIC_SYS_FLAG";
    pub const TRANSIENT_GROUP_SYS_FLAG: &[u8] = b"__RMQ.TRANSIENT.GROUP_SYS_FLAG";
    pub const CRC32: &[u8] = b"__CRC32#";
    pub const DLQ_ORIGIN_TOPIC: &[u8] = b"DLQ_ORIGIN_TOPIC";
    pub const DLQ_ORIGIN_MESSAGE_ID: &[u8] = b"DLQ_ORIGIN_MESSAGE_ID";
}

/// A big-endian field. The callers know from a check before that `at + N` lies inside.
#[inline]
pub(crate) fn field<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut value = [0; N];
    value.copy_from_slice(&bytes[at..at + N]);
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    // shows: CL-15
    #[test]
    fn a_version_is_found_again_by_its_magic() {
        for version in [Version::V1, Version::V2] {
            assert_eq!(Version::of_magic(version.magic()), Some(version));
        }
        assert_eq!(Version::of_magic(BLANK_MAGIC), None);
        assert_eq!(Version::of_magic(0), None);
    }

    #[test]
    fn the_transaction_type_ignores_all_other_bits() {
        let others = !sys_flag::TRANSACTION_MASK;
        assert_eq!(TransactionType::of_sys_flag(others), TransactionType::Not);
        assert_eq!(TransactionType::of_sys_flag(others | 0x4), TransactionType::Prepared);
        assert_eq!(TransactionType::of_sys_flag(others | 0x8), TransactionType::Commit);
        assert_eq!(TransactionType::of_sys_flag(others | 0xC), TransactionType::Rollback);
    }

    #[test]
    fn only_finished_messages_are_consumable() {
        let consumable = [0x0, 0x4, 0x8, 0xC].map(|flag| TransactionType::of_sys_flag(flag).is_consumable());
        assert_eq!(consumable, [true, false, true, false]);
    }
}
