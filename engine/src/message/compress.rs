//! Compressed bodies: three formats, told apart by the message's system flag.

use std::io::{Error, Read, Write};

use flate2::{Compress, Decompress, FlushCompress, FlushDecompress, Status};
use lz4_flex::frame::{FrameDecoder, FrameEncoder};

use super::layout::sys_flag;

/// The shortest stream of any format; readers take the start of one for an empty body.
const STREAM_BYTES_MIN: usize = 8;
/// Put behind a body: the reader takes frames that end between two blocks for whole ones, unless more follows. Its
/// first bytes are no possible block.
const LZ4_EMPTY_FRAME: &[u8] = b"\x04\x22\x4d\x18\x60\x40\x82\0\0\0\0";

/// A format of compressed bodies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    Zlib,
    Lz4,
    Zstd,
}

/// A body that does not decompress.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadBody {
    #[error("its compression has the number {0}, which no format has")]
    UnknownFormat(i32),
    #[error("it decompresses to more than {0} bytes, which is the limit")]
    TooLong(usize),
    #[error("its compressed bytes end too early")]
    Cut,
    #[error("its compressed bytes are damaged: {0}")]
    Damaged(String),
}

impl Compression {
    pub const ALL: [Self; 3] = [Self::Zlib, Self::Lz4, Self::Zstd];

    /// The format of a body whose message has these flags; `None` when it is not compressed.
    #[inline]
    pub fn of_sys_flag(flag: i32) -> Result<Option<Self>, BadBody> {
        if flag & sys_flag::COMPRESSED == 0 {
            return Ok(None);
        }
        match flag & sys_flag::COMPRESSION_MASK {
            0 | sys_flag::COMPRESSION_ZLIB => Ok(Some(Self::Zlib)),
            sys_flag::COMPRESSION_LZ4 => Ok(Some(Self::Lz4)),
            sys_flag::COMPRESSION_ZSTD => Ok(Some(Self::Zstd)),
            other => Err(BadBody::UnknownFormat(other >> sys_flag::COMPRESSION_MASK.trailing_zeros())),
        }
    }

    /// The bits that say so in a message's system flag.
    pub const fn sys_flag(self) -> i32 {
        sys_flag::COMPRESSED
            | match self {
                Self::Zlib => sys_flag::COMPRESSION_ZLIB,
                Self::Lz4 => sys_flag::COMPRESSION_LZ4,
                Self::Zstd => sys_flag::COMPRESSION_ZSTD,
            }
    }

    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|format| format.name() == name)
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }

    /// Compress a body. A level beyond what the format has counts as its last one; LZ4 has only one.
    pub fn compress(self, body: &[u8], level: u32) -> Vec<u8> {
        let written = match self {
            Self::Zlib => Ok(deflate(body, level.min(9))),
            Self::Lz4 => {
                let mut encoder = FrameEncoder::new(Vec::with_capacity(body.len() / 2));
                encoder.write_all(body).and_then(|()| encoder.finish().map_err(Error::from))
            }
            Self::Zstd => {
                zstd::bulk::compress(body, (level as i32).min(*zstd::compression_level_range().end()))
            }
        };
        written.expect("memory takes every byte")
    }

    /// Decompress a body; one that would have more than `bytes_max` bytes is refused.
    pub fn decompress(self, body: &[u8], bytes_max: usize) -> Result<Vec<u8>, BadBody> {
        if body.len() < STREAM_BYTES_MIN {
            return Err(BadBody::Cut);
        }
        match self {
            Self::Zlib => inflate(body, bytes_max),
            Self::Lz4 => read_all(FrameDecoder::new(body.chain(LZ4_EMPTY_FRAME)), body.len(), bytes_max),
            Self::Zstd => {
                let decoder = zstd::stream::read::Decoder::with_buffer(body).map_err(|error| bad(&error))?;
                read_all(decoder, body.len(), bytes_max)
            }
        }
    }
}

fn deflate(body: &[u8], level: u32) -> Vec<u8> {
    let mut deflater = Compress::new(flate2::Compression::new(level), true);
    let mut out = Vec::with_capacity(body.len() / 2 + 64);
    loop {
        let rest = &body[deflater.total_in() as usize..];
        let status = deflater.compress_vec(rest, &mut out, FlushCompress::Finish);
        if status.expect("every byte can be deflated") == Status::StreamEnd {
            return out;
        }
        out.reserve(out.capacity().max(64));
    }
}

/// By hand, since the reader around it takes a stream that ends too early for a whole one.
fn inflate(body: &[u8], bytes_max: usize) -> Result<Vec<u8>, BadBody> {
    let mut inflater = Decompress::new(true);
    let mut out = Vec::with_capacity(first_guess(body.len(), bytes_max));
    loop {
        let before = (inflater.total_in(), inflater.total_out());
        let rest = &body[before.0 as usize..];
        let status = inflater
            .decompress_vec(rest, &mut out, FlushDecompress::None)
            .map_err(|error| BadBody::Damaged(error.to_string()))?;
        if out.len() > bytes_max {
            return Err(BadBody::TooLong(bytes_max));
        }
        if status == Status::StreamEnd {
            return Ok(out);
        }
        let is_full = out.len() == out.capacity();
        if !is_full && before == (inflater.total_in(), inflater.total_out()) {
            return Err(BadBody::Cut);
        }
        if is_full {
            // One byte beyond the limit tells a body that fits from one that does not.
            out.reserve_exact(out.capacity().min(bytes_max + 1 - out.len()));
        }
    }
}

fn read_all(reader: impl Read, compressed: usize, bytes_max: usize) -> Result<Vec<u8>, BadBody> {
    let mut out = Vec::with_capacity(first_guess(compressed, bytes_max));
    reader.take(bytes_max as u64 + 1).read_to_end(&mut out).map_err(|error| bad(&error))?;
    if out.len() > bytes_max { Err(BadBody::TooLong(bytes_max)) } else { Ok(out) }
}

/// Texts shrink to about a quarter. What a stream says of its own length is not believed.
fn first_guess(compressed: usize, bytes_max: usize) -> usize {
    (compressed * 4).clamp(64, bytes_max.saturating_add(1).max(64))
}

fn bad(error: &Error) -> BadBody {
    match error.kind() {
        std::io::ErrorKind::UnexpectedEof => BadBody::Cut,
        _ => BadBody::Damaged(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LIMIT: usize = 1 << 20;
    const TEXT: &[u8] = b"a message that says the same thing, the same thing, the same thing";

    #[test]
    fn every_format_reads_back_at_every_level() {
        for format in Compression::ALL {
            for level in [0, 1, 5, 9, 22, u32::from(u16::MAX)] {
                let compressed = format.compress(TEXT, level);
                assert_eq!(format.decompress(&compressed, LIMIT).as_deref(), Ok(TEXT), "{format:?} {level}");
            }
        }
    }

    #[test]
    fn repeated_text_gets_shorter() {
        let body = TEXT.repeat(100);
        for format in Compression::ALL {
            assert!(format.compress(&body, 5).len() < body.len() / 10, "{format:?}");
        }
    }

    /// Written by other programs: Python's zlib, `lz4` and `zstd` on the command line.
    #[test]
    fn streams_of_other_programs_are_read() {
        let zlib = b"\x78\x9c\xcb\x48\xcd\xc9\xc9\x07\x00\x06\x2c\x02\x15";
        assert_eq!(Compression::Zlib.decompress(zlib, LIMIT).as_deref(), Ok(&b"hello"[..]));
        let lz4 = b"\x04\x22\x4d\x18\x64\x40\xa7\x05\x00\x00\x80\x68\x65\x6c\x6c\x6f\x00\x00\x00\x00\xf9\x77\x00\xfb";
        assert_eq!(Compression::Lz4.decompress(lz4, LIMIT).as_deref(), Ok(&b"hello"[..]));
        let zstd = b"\x28\xb5\x2f\xfd\x04\x58\x29\x00\x00\x68\x65\x6c\x6c\x6f\xa3\x6d\x9f\x88";
        assert_eq!(Compression::Zstd.decompress(zstd, LIMIT).as_deref(), Ok(&b"hello"[..]));
    }

    #[test]
    fn the_bits_tell_the_format() {
        for format in Compression::ALL {
            assert_eq!(Compression::of_sys_flag(format.sys_flag()), Ok(Some(format)));
            assert_eq!(Compression::named(format.name()), Some(format));
        }
        assert_eq!(Compression::of_sys_flag(0x1), Ok(Some(Compression::Zlib)), "clients before the mask");
        assert_eq!(Compression::of_sys_flag(0x300), Ok(None), "the type alone compresses nothing");
        assert_eq!(Compression::of_sys_flag(0x501), Err(BadBody::UnknownFormat(5)));
        assert_eq!(Compression::named("gzip"), None);
    }

    #[test]
    fn the_limit_is_exact() {
        for format in Compression::ALL {
            let compressed = format.compress(&[7; 10_000], 5);
            assert_eq!(format.decompress(&compressed, 10_000).map(|body| body.len()), Ok(10_000));
            assert_eq!(format.decompress(&compressed, 9_999), Err(BadBody::TooLong(9_999)), "{format:?}");
            assert_eq!(format.decompress(&compressed, 0), Err(BadBody::TooLong(0)), "{format:?}");
        }
    }

    #[test]
    fn a_bomb_is_refused_before_it_takes_memory() {
        let bomb = vec![0; 64 << 20];
        for format in Compression::ALL {
            let compressed = format.compress(&bomb, 9);
            assert_eq!(format.decompress(&compressed, LIMIT), Err(BadBody::TooLong(LIMIT)), "{format:?}");
        }
    }

    #[test]
    fn a_stream_that_ends_early_is_an_error() {
        for format in Compression::ALL {
            let compressed = format.compress(TEXT, 5);
            for cut in 0..compressed.len() {
                assert!(format.decompress(&compressed[..cut], LIMIT).is_err(), "{format:?} cut at {cut}");
            }
        }
    }

    proptest! {
        #[test]
        fn every_body_reads_back(body in prop::collection::vec(any::<u8>(), 0..4000), level in 0..10_u32) {
            for format in Compression::ALL {
                let compressed = format.compress(&body, level);
                prop_assert_eq!(format.decompress(&compressed, body.len()), Ok(body.clone()));
            }
        }

        #[test]
        fn arbitrary_bytes_never_panic(body in prop::collection::vec(any::<u8>(), 0..400), at: prop::sample::Index) {
            for format in Compression::ALL {
                let _ = format.decompress(&body, LIMIT);
                let mut damaged = format.compress(&body, 5);
                let at = at.index(damaged.len());
                damaged[at] ^= 0x55;
                let _ = format.decompress(&damaged, LIMIT);
            }
        }
    }
}
