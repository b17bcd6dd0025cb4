//! What the machine itself allows: a plain copy into a mapped file, and one write with its sync.

use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::{Duration, Instant};

use memmap2::{Advice, MmapMut, MmapOptions};
use tailfin_engine::message::crc::body_crc;
use tailfin_engine::message::{Draft, Encoding, Stamp};

use crate::Outcome;
use crate::args::Args;
use crate::measure::{Line, Timing, real};

const BLOCK: [u8; 4096] = [b'x'; 4096];

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
