//! The running flags: why a store may refuse writes. The bits are RocketMQ's.

use std::sync::atomic::{AtomicU32, Ordering};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Flag {
    NotReadable = 1,
    NotWritable = 1 << 1,
    QueueError = 1 << 2,
    IndexError = 1 << 3,
    DiskFull = 1 << 4,
    Fenced = 1 << 5,
    LogicDiskFull = 1 << 6,
    // Far from RocketMQ's, which has none for these.
    CommitError = 1 << 16,
    /// The keeper's own, so that it never takes back what Python said of the disk.
    QueuesNotKept = 1 << 17,
}

impl Flag {
    /// The flag that Python means by a name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "not_writable" => Some(Self::NotWritable),
            "disk_full" => Some(Self::DiskFull),
            "fenced" => Some(Self::Fenced),
            "logic_disk_full" => Some(Self::LogicDiskFull),
            _ => None,
        }
    }
}

#[derive(Debug, Default)]
pub struct Flags(AtomicU32);

impl Flags {
    /// Raise a flag; true when it was not raised before.
    pub fn raise(&self, flag: Flag) -> bool {
        self.0.fetch_or(flag as u32, Ordering::AcqRel) & flag as u32 == 0
    }

    /// Clear a flag; true when it was raised before.
    pub fn clear(&self, flag: Flag) -> bool {
        self.0.fetch_and(!(flag as u32), Ordering::AcqRel) & flag as u32 != 0
    }

    pub fn bits(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    pub fn is_writable(&self) -> bool {
        self.bits() & !(Flag::NotReadable as u32) == 0
    }
}

impl Flags {
    /// The raised flags in words.
    pub fn describe(&self) -> String {
        let bits = self.bits();
        let words = [
            (Flag::NotReadable, "not readable"),
            (Flag::NotWritable, "not writable (a flush failed, or an operator said so)"),
            (Flag::QueueError, "the consume queues cannot be written"),
            (Flag::IndexError, "the index cannot be written"),
            (Flag::DiskFull, "the disk is too full"),
            (Flag::Fenced, "fenced by the controller"),
            (Flag::LogicDiskFull, "the disk of the consume queues is too full"),
            (Flag::QueuesNotKept, "the consume queues cannot be written out"),
            (Flag::CommitError, "the buffers of the transient store pool cannot be written to the log"),
        ];
        let raised = words.into_iter().filter(|&(flag, _)| bits & flag as u32 != 0).map(|(_, word)| word);
        raised.collect::<Vec<_>>().join(", ")
    }
}
