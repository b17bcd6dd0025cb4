//! What the machine itself allows: a plain copy into a mapped file, a walk over the records in one, and one write
//! with its sync.

use std::fs::{self, File, OpenOptions};
use std::hint::black_box;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memmap2::{Advice, Mmap, MmapMut, MmapOptions};
use tailfin_engine::message::crc::body_crc;
use tailfin_engine::message::{Draft, Encoding, Stamp};

use crate::Outcome;
use crate::args::Args;
use crate::measure::{Line, Timing, real};
use crate::read::touched;

const BLOCK: [u8; 4096] = [b'x'; 4096];
const UNIT_BYTES: usize = 20;
/// How far ahead the walk fetches records from memory.
const WALK_AHEAD: usize = 16;

/// Copy as many records as `append` writes, of the same size, into a new file: faulting its pages in on the
/// way, and with all of them there before the clock starts.
pub fn memcpy(dir: &Path, args: &Args) -> Outcome<Vec<Line>> {
    let body = vec![b'x'; args.number("body", 128)?];
    let count: u64 = args.number("count", 2_000_000)?;
    let record = record(&body)?;
    fs::create_dir_all(dir)?;
    let mut lines = Vec::new();
    for (name, ahead) in [("memcpy-fresh", false), ("memcpy-prefaulted", true)] {
        let path = dir.join(name);
        let mut map = map_new(&path, count * record.len() as u64)?;
        if ahead {
            map.advise(Advice::PopulateWrite)?;
        }
        let timing = Timing::start();
        for place in map.chunks_exact_mut(record.len()) {
            place.copy_from_slice(&record);
        }
        let seconds = timing.seconds();
        lines.push(
            Line::of(name)
                .count("body", body.len() as u64)
                .count("messages", count)
                .real("seconds", seconds)
                .real("perSecond", real(count) / seconds)
                .real("logBytesPerSecond", real(count * record.len() as u64) / seconds)
                .real("cpuSecondsPerMillion", timing.cpu_seconds() / real(count) * 1e6)
                .count("pageFaults", timing.faults()),
        );
        drop(map);
        fs::remove_file(&path)?;
    }
    Ok(lines)
}

fn map_new(path: &Path, len: u64) -> Outcome<MmapMut> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(path)?;
    file.set_len(len)?;
    // SAFETY: the file was made a moment ago for this mapping alone.
    Ok(unsafe { MmapOptions::new().map_mut(&file)? })
}

/// The record of one bench message.
fn record(body: &[u8]) -> Outcome<Vec<u8>> {
    let draft = Draft {
        topic: crate::messages::TOPIC,
        queue_id: 0,
        flag: 0,
        sys_flag: 0,
        born_timestamp: 0,
        born_host: "127.0.0.1:50000".parse()?,
        store_host: "127.0.0.1:10911".parse()?,
        reconsume_times: 0,
        prepared_offset: 0,
        body,
        properties: &crate::messages::property_text(0),
    };
    let encoding = Encoding { body_crc: body_crc(body), property_crc: false, long_topics: true };
    let prepared = draft.prepare(encoding)?;
    let mut bytes = vec![0; prepared.encoded_len()];
    prepared.encode_hidden(&mut bytes, Stamp { queue_offset: 0, physical_offset: 0, store_timestamp: 0 });
    prepared.reveal(&mut bytes);
    Ok(bytes)
}

/// Write 4 KiB into allocated space and sync it, over and over.
pub fn fdatasync(dir: &Path, args: &Args) -> Outcome<Line> {
    let count: usize = args.number("count", 2000)?;
    fs::create_dir_all(dir)?;
    let path = dir.join("fdatasync");
    let file = File::create_new(&path)?;
    let (block_bytes, blocks) = (BLOCK.len() as u64, 4096);
    for block in 0..blocks {
        file.write_all_at(&BLOCK, block * block_bytes)?;
    }
    file.sync_all()?;
    let mut times = Vec::with_capacity(count);
    for turn in 0..count as u64 {
        let began = Instant::now();
        file.write_all_at(&BLOCK, turn % blocks * block_bytes)?;
        file.sync_data()?;
        times.push(began.elapsed());
    }
    fs::remove_file(&path)?;
    times.sort_unstable();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    let total: Duration = times.iter().sum();
    Ok(Line::of("fdatasync")
        .count("writes", count as u64)
        .real("p50Ms", ms(times[count / 2]))
        .real("p99Ms", ms(times[count * 99 / 100]))
        .real("perSecond", real(count as u64) / total.as_secs_f64()))
}

/// Touch every record of a store that `fill` made, queue after queue, straight from the maps: what reading costs
/// when nothing is checked, limited or kept.
pub fn walk(dir: &Path, args: &Args) -> Outcome<Line> {
    let log: Vec<Mmap> = files_of(&dir.join("commitlog"))?
        .iter()
        // SAFETY: nobody writes to the store meanwhile.
        .map(|path| File::open(path).and_then(|file| unsafe { Mmap::map(&file) }))
        .collect::<Result<_, _>>()?;
    let mut line = walk_once(dir, &log, args.number("queues", 8)?)?;
    for _ in 0..args.number("runs", 2)? {
        line = walk_once(dir, &log, args.number("queues", 8)?)?;
    }
    Ok(line)
}

fn walk_once(dir: &Path, log: &[Mmap], queues: u64) -> Outcome<Line> {
    let timing = Timing::start();
    let (mut messages, mut sink) = (0, 0);
    let mut bytes = Vec::new();
    for queue_id in 0..queues {
        let queue = dir.join("consumequeue").join(str::from_utf8(crate::messages::TOPIC)?);
        for path in files_of(&queue.join(queue_id.to_string()))? {
            bytes.clear();
            File::open(path)?.read_to_end(&mut bytes)?;
            let units = bytes.as_chunks::<UNIT_BYTES>().0;
            for (index, unit) in units.iter().enumerate() {
                if let Some(record) = units.get(index + WALK_AHEAD).and_then(|soon| record_of(log, soon)) {
                    prefetch(record);
                }
                let Some(record) = record_of(log, unit) else { break };
                sink ^= touched(record);
                messages += 1;
            }
        }
    }
    let seconds = timing.seconds();
    black_box(sink);
    Ok(Line::of("walk")
        .count("messages", messages)
        .real("seconds", seconds)
        .real("perSecond", real(messages) / seconds)
        .real("cpuSecondsPerMillion", timing.cpu_seconds() / real(messages) * 1e6))
}

fn files_of(dir: &Path) -> Outcome<Vec<PathBuf>> {
    let mut paths = fs::read_dir(dir)?.map(|entry| Ok(entry?.path())).collect::<Outcome<Vec<_>>>()?;
    paths.sort();
    Ok(paths)
}

/// The record that a unit of a queue leads to; `None` for a unit that was never written.
fn record_of<'a>(log: &'a [Mmap], unit: &[u8; UNIT_BYTES]) -> Option<&'a [u8]> {
    let (offset, rest) = unit.split_first_chunk()?;
    let (size, _) = rest.split_first_chunk()?;
    let (mut from, size) = (u64::from_be_bytes(*offset) as usize, u32::from_be_bytes(*size) as usize);
    let mut files = log.iter();
    let mut file = files.next()?;
    // There are few files, and to divide takes longer than to go over them.
    while from >= file.len() {
        from -= file.len();
        file = files.next()?;
    }
    file.get(from..from + size).filter(|_| size > 0)
}

fn prefetch(record: &[u8]) {
    #[cfg(target_arch = "x86_64")]
    for line in record.chunks(64) {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: a prefetch changes nothing and never faults.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = record;
}
