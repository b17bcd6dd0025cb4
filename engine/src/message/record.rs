//! Reads what stands at a position of the log.

use std::net::SocketAddr;

use super::crc::{self, PROPERTY_CRC_BYTES, PROPERTY_CRC_PREFIX};
use super::host;
use super::ids::MessageId;
use super::layout::{
    BLANK_MAGIC, BODY_CRC_AT, BODY_LEN_AT, BORN_HOST_AT, BORN_TIMESTAMP_AT, END_FILE_MIN_BLANK, FLAG_AT,
    HEAD_BYTES, HOST_V4_BYTES, HOST_V6_BYTES, MAGIC_AT, PHYSICAL_OFFSET_AT, QUEUE_ID_AT, QUEUE_OFFSET_AT,
    RECORD_BYTES_MIN, SIZE_AT, SYS_FLAG_AT, TransactionType, Version, field, sys_flag,
};

/// Bytes that are no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRecord {
    #[error("magic {0:#010x} belongs to no record")]
    UnknownMagic(u32),
    #[error("the stated size {0} is no possible size")]
    ImpossibleSize(i32),
    #[error("the record states {stated} bytes, of which {present} are here")]
    Cut { stated: usize, present: usize },
    #[error("the lengths of body, topic and properties do not add up to the stated size {0}")]
    LengthsDisagree(usize),
    #[error("the record was written for offset {0}, not for where it stands")]
    Misplaced(i64),
    #[error("a blank record of {0} bytes does not reach to the end of the file")]
    ShortBlank(usize),
}

/// What stands at a log position.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    Record(Record<'a>),
    /// The rest of the file is unused; `size` bytes further the next file starts.
    Blank {
        size: usize,
    },
    /// Nothing has been written here yet.
    Nothing,
}

/// Tells what stands at the start of `bytes`.
#[inline(always)]
pub fn look(bytes: &[u8]) -> Result<Found<'_>, BadRecord> {
    if bytes.len() < HEAD_BYTES {
        return Ok(Found::Nothing);
    }
    let size = i32::from_be_bytes(field(bytes, SIZE_AT));
    match (size, u32::from_be_bytes(field(bytes, MAGIC_AT))) {
        (0, 0) => Ok(Found::Nothing),
        (_, BLANK_MAGIC) => match usize::try_from(size) {
            Ok(size) if size >= END_FILE_MIN_BLANK => Ok(Found::Blank { size }),
            _ => Err(BadRecord::ImpossibleSize(size)),
        },
        _ => Record::parse(bytes).map(Found::Record),
    }
}

/// The head of the blank record that closes a file with `space` bytes left; `None` if it has no room for one.
pub fn blank_head(space: usize) -> Option<[u8; HEAD_BYTES]> {
    let size = i32::try_from(space).ok().filter(|_| space >= END_FILE_MIN_BLANK)?;
    let mut head = [0; HEAD_BYTES];
    head[..MAGIC_AT].copy_from_slice(&size.to_be_bytes());
    head[MAGIC_AT..].copy_from_slice(&BLANK_MAGIC.to_be_bytes());
    Some(head)
}

/// Whether the checksum property at the end of a record agrees with the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropertyCrc {
    Absent,
    Intact,
    Broken,
}

/// One stored record whose lengths are known to add up. Checksums are not looked at until asked for.
#[derive(Clone, Copy, Debug)]
pub struct Record<'a> {
    bytes: &'a [u8],
    body: &'a [u8],
    topic: &'a [u8],
    properties: &'a [u8],
    version: Version,
}

impl<'a> Record<'a> {
    /// Reads the record at the start of `bytes`, which may go on behind it.
    #[inline(always)]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, BadRecord> {
        if bytes.len() < RECORD_BYTES_MIN {
            return Err(too_short(bytes));
        }
        let magic = u32::from_be_bytes(field(bytes, MAGIC_AT));
        let Some(version) = Version::of_magic(magic) else {
            return Err(BadRecord::UnknownMagic(magic));
        };
        let stated = i32::from_be_bytes(field(bytes, SIZE_AT));
        let size = match usize::try_from(stated) {
            Ok(size) if size >= RECORD_BYTES_MIN => size,
            _ => return Err(BadRecord::ImpossibleSize(stated)),
        };
        let Some(bytes) = bytes.get(..size) else {
            return Err(BadRecord::Cut { stated: size, present: bytes.len() });
        };
        let sys_flag = i32::from_be_bytes(field(bytes, SYS_FLAG_AT));
        let body_len_at = BODY_LEN_AT + born_host_growth(sys_flag) + store_host_growth(sys_flag);
        Self::split(bytes, body_len_at, version).ok_or(BadRecord::LengthsDisagree(size))
    }

    /// Cuts the variable part; `None` unless it ends exactly where the record does.
    #[inline(always)]
    fn split(bytes: &'a [u8], body_len_at: usize, version: Version) -> Option<Self> {
        let (len, rest) = bytes.get(body_len_at..)?.split_first_chunk()?;
        let (body, rest) = rest.split_at_checked(usize::try_from(i32::from_be_bytes(*len)).ok()?)?;
        let (topic_len, rest) = match version {
            Version::V1 => {
                rest.split_first_chunk().map(|(len, rest)| (i16::from(i8::from_be_bytes(*len)), rest))?
            }
            Version::V2 => rest.split_first_chunk().map(|(len, rest)| (i16::from_be_bytes(*len), rest))?,
        };
        let (topic, rest) = rest.split_at_checked(usize::try_from(topic_len).ok()?)?;
        let (len, properties) = rest.split_first_chunk()?;
        let properties_len = usize::try_from(i16::from_be_bytes(*len)).ok()?;
        (properties.len() == properties_len).then_some(Self { bytes, body, topic, properties, version })
    }

    #[inline]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    #[inline]
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    #[inline]
    pub fn version(&self) -> Version {
        self.version
    }

    #[inline]
    pub fn body_crc(&self) -> u32 {
        u32::from_be_bytes(field(self.bytes, BODY_CRC_AT))
    }

    #[inline]
    pub fn queue_id(&self) -> i32 {
        i32::from_be_bytes(field(self.bytes, QUEUE_ID_AT))
    }

    /// The application's own flag.
    #[inline]
    pub fn flag(&self) -> i32 {
        i32::from_be_bytes(field(self.bytes, FLAG_AT))
    }

    /// The place in the consume queue, counted in messages.
    #[inline]
    pub fn queue_offset(&self) -> i64 {
        i64::from_be_bytes(field(self.bytes, QUEUE_OFFSET_AT))
    }

    #[inline]
    pub fn physical_offset(&self) -> i64 {
        i64::from_be_bytes(field(self.bytes, PHYSICAL_OFFSET_AT))
    }

    #[inline]
    pub fn sys_flag(&self) -> i32 {
        i32::from_be_bytes(field(self.bytes, SYS_FLAG_AT))
    }

    #[inline]
    pub fn transaction_type(&self) -> TransactionType {
        TransactionType::of_sys_flag(self.sys_flag())
    }

    /// In milliseconds, as are all timestamps.
    #[inline]
    pub fn born_timestamp(&self) -> i64 {
        i64::from_be_bytes(field(self.bytes, BORN_TIMESTAMP_AT))
    }

    /// `None` when the stored port is above 65535.
    pub fn born_host(&self) -> Option<SocketAddr> {
        host::decode(self.born_host_field())
    }

    /// The born host as stored.
    #[inline]
    pub fn born_host_field(&self) -> &'a [u8] {
        &self.bytes[BORN_HOST_AT..self.store_timestamp_at()]
    }

    #[inline]
    pub fn store_timestamp(&self) -> i64 {
        i64::from_be_bytes(field(self.bytes, self.store_timestamp_at()))
    }

    /// `None` when the stored port is above 65535.
    pub fn store_host(&self) -> Option<SocketAddr> {
        host::decode(self.store_host_field())
    }

    #[inline]
    pub fn reconsume_times(&self) -> i32 {
        i32::from_be_bytes(field(self.bytes, self.reconsume_times_at()))
    }

    /// The physical offset of the half message that this record commits or rolls back.
    #[inline]
    pub fn prepared_offset(&self) -> i64 {
        i64::from_be_bytes(field(self.bytes, self.reconsume_times_at() + 4))
    }

    #[inline]
    pub fn body(&self) -> &'a [u8] {
        self.body
    }

    #[inline]
    pub fn topic(&self) -> &'a [u8] {
        self.topic
    }

    #[inline]
    pub fn properties(&self) -> &'a [u8] {
        self.properties
    }

    /// Whether the stored checksum is that of the body.
    pub fn body_is_intact(&self) -> bool {
        self.body_crc() == crc::body_crc(self.body)
    }

    /// The state of the checksum over the whole record, which is always its last property.
    pub fn property_crc_state(&self) -> PropertyCrc {
        match self.properties.last_chunk::<PROPERTY_CRC_BYTES>() {
            Some(stored) if stored.starts_with(PROPERTY_CRC_PREFIX) => {
                let covered = &self.bytes[..self.size() - PROPERTY_CRC_BYTES];
                if *stored == crc::property_crc_text(crc::body_crc(covered)) {
                    PropertyCrc::Intact
                } else {
                    PropertyCrc::Broken
                }
            }
            _ => PropertyCrc::Absent,
        }
    }

    /// The id by which brokers find the record again.
    pub fn offset_message_id(&self) -> String {
        self.message_id().as_str().to_owned()
    }

    /// As [`Record::offset_message_id`], without a place on the heap.
    #[inline]
    pub fn message_id(&self) -> MessageId {
        MessageId::of_field(self.store_host_field(), self.physical_offset())
    }

    #[inline]
    fn store_timestamp_at(&self) -> usize {
        BORN_HOST_AT + HOST_V4_BYTES + born_host_growth(self.sys_flag())
    }

    #[inline]
    fn reconsume_times_at(&self) -> usize {
        self.store_timestamp_at() + 8 + HOST_V4_BYTES + store_host_growth(self.sys_flag())
    }

    /// The store host as stored.
    #[inline]
    pub fn store_host_field(&self) -> &'a [u8] {
        &self.bytes[self.store_timestamp_at() + 8..self.reconsume_times_at()]
    }
}

/// A short rest of a file may hold the start of something else, so the magic is judged before the length.
#[cold]
fn too_short(bytes: &[u8]) -> BadRecord {
    if bytes.len() < HEAD_BYTES {
        return BadRecord::Cut { stated: RECORD_BYTES_MIN, present: bytes.len() };
    }
    let magic = u32::from_be_bytes(field(bytes, MAGIC_AT));
    let stated = i32::from_be_bytes(field(bytes, SIZE_AT));
    match usize::try_from(stated) {
        _ if Version::of_magic(magic).is_none() => BadRecord::UnknownMagic(magic),
        Ok(stated) if stated >= RECORD_BYTES_MIN => BadRecord::Cut { stated, present: bytes.len() },
        _ => BadRecord::ImpossibleSize(stated),
    }
}

#[inline]
const fn born_host_growth(flag: i32) -> usize {
    if flag & sys_flag::BORN_HOST_V6 == 0 { 0 } else { HOST_V6_BYTES - HOST_V4_BYTES }
}

#[inline]
const fn store_host_growth(flag: i32) -> usize {
    if flag & sys_flag::STORE_HOST_V6 == 0 { 0 } else { HOST_V6_BYTES - HOST_V4_BYTES }
}

#[cfg(test)]
mod tests;
