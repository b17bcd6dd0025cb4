//! How far the queues of a run reach: the sum tells when everything can be read.

use std::time::{Duration, Instant};

use super::connection::Connection;
use super::draft::Request;
use super::options::Options;
use super::poll::Poll;
use super::template::{OPAQUE_BASE, topic_name};
use super::{LoadError, Result};

const GET_MAX_OFFSET: i16 = 30;
const WINDOW: usize = 512;

/// The ends of all queues, topic after topic.
pub fn queue_ends(connection: &mut Connection, options: &Options) -> Result<Vec<i64>> {
    let queues = options.queues as usize;
    let mut ends = vec![0; options.topics as usize * queues];
    for start in (0..ends.len()).step_by(WINDOW) {
        let end = ends.len().min(start + WINDOW);
        for index in start..end {
            let topic = topic_name(options, (index / queues) as u32);
            let queue = (index % queues).to_string();
            let fields = [("committed", "true"), ("queueId", queue.as_str()), ("topic", &topic)];
            let opaque = OPAQUE_BASE + index as i32;
            let request = Request { code: GET_MAX_OFFSET, opaque, flag: 0, remark: "", fields: &fields };
            connection.out.extend_from_slice(&request.encode(options.binary, b"").frame);
        }
        receive(connection, options, end - start, &mut ends)?;
    }
    Ok(ends)
}

fn receive(connection: &mut Connection, options: &Options, mut left: usize, ends: &mut [i64]) -> Result<()> {
    let mut poll = Poll::default();
    poll.add(connection);
    let began = Instant::now();
    while left > 0 {
        connection.flush()?;
        poll.want_output(0, connection.has_output());
        poll.wait(Duration::from_millis(100)).map_err(|source| LoadError::Io { action: "poll", source })?;
        if poll.is_readable(0) && !connection.fill()? {
            return Err(connection.closed_by_peer());
        }
        while let Some(frame) = connection.next_frame()? {
            let index = frame.opaque.wrapping_sub(OPAQUE_BASE) as usize;
            if frame.code != 0 {
                let (code, remark) = (frame.code, frame.remark());
                return Err(LoadError::Refused { what: "the question for a queue's end", code, remark });
            }
            if let Some(end) = ends.get_mut(index) {
                *end = frame.number("offset").unwrap_or(0);
                left -= 1;
            }
        }
        if began.elapsed() > options.patience {
            let address = connection.address().to_owned();
            return Err(LoadError::Silent { address, seconds: options.patience.as_secs() });
        }
    }
    Ok(())
}
