//! Sends, single ones and batches.

use super::drive::{Answer, Place, Work};
use super::options::{Options, STAMP_BYTES};
use super::tally::Tally;
use super::template::{Target, Template};

pub struct Sends {
    template: Template,
    topics: u32,
    queues: u32,
    next: u64,
    messages: u64,
    bytes: u64,
    run_id: Option<u64>,
}

impl Sends {
    /// With a run id each body carries it and the time its message was due.
    pub fn new(options: &Options, salt: u64, first: u64, run_id: Option<u64>) -> Self {
        let messages = u64::from(options.batch);
        Self {
            template: Template::new(options, salt),
            topics: options.topics,
            queues: options.queues,
            next: first,
            messages,
            bytes: messages * options.body_bytes as u64,
            run_id,
        }
    }

    /// Queue after queue of a topic, topic after topic.
    fn target(&mut self) -> Target {
        let at = self.next;
        self.next += 1;
        let (topics, queues) = (u64::from(self.topics), u64::from(self.queues));
        Target { queue: (at % queues) as u32, topic: (at / queues % topics) as u32 }
    }
}

impl Work for Sends {
    fn tick(&mut self) {
        self.template.tick();
    }

    fn write(&mut self, out: &mut Vec<u8>, place: Place, due: u64) {
        let target = self.target();
        self.template.write(out, place.slot, target, self.run_id.map(|run_id| stamp(run_id, due)));
    }

    fn answer(&mut self, _: Place, answer: &Answer<'_>, tally: &mut Tally) -> bool {
        acknowledge(answer, self.messages, self.bytes, tally);
        true
    }
}

/// Count the answer to a request that stands for so many messages.
pub fn acknowledge(answer: &Answer<'_>, messages: u64, bytes: u64, tally: &mut Tally) {
    let accepted = answer.frame.code == 0;
    if accepted {
        tally.messages_ever += messages;
    }
    if !answer.counts {
        return;
    }
    tally.requests += 1;
    tally.last_at = answer.now;
    if accepted {
        tally.messages += messages;
        tally.bytes += bytes;
        tally.record(answer.now.saturating_sub(answer.due));
    } else {
        tally.refuse(answer.frame.code, || answer.frame.remark());
    }
}

fn stamp(run_id: u64, due: u64) -> [u8; STAMP_BYTES] {
    let mut stamp = [0; STAMP_BYTES];
    stamp[..8].copy_from_slice(&run_id.to_be_bytes());
    stamp[8..].copy_from_slice(&due.to_be_bytes());
    stamp
}

/// When the message was due, if it belongs to this run.
pub fn due_of(body: &[u8], run_id: u64) -> Option<u64> {
    let (mine, rest) = body.split_first_chunk::<8>()?;
    let (due, _) = rest.split_first_chunk::<8>()?;
    (u64::from_be_bytes(*mine) == run_id).then(|| u64::from_be_bytes(*due))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::options::tests::options;

    #[test]
    fn messages_go_round_the_queues_and_then_the_topics() {
        let options = Options { topics: 2, queues: 2, ..options() };
        let mut sends = Sends::new(&options, 0, 1, None);
        let targets: Vec<(u32, u32)> =
            (0..4).map(|_| sends.target()).map(|at| (at.topic, at.queue)).collect();
        assert_eq!(targets, [(0, 1), (1, 0), (1, 1), (0, 0)]);
    }

    #[test]
    fn a_stamp_is_known_by_its_run_alone() {
        let stamp = stamp(7, 42);
        assert_eq!(due_of(&stamp, 7), Some(42));
        assert_eq!(due_of(&stamp, 8), None);
        assert_eq!(due_of(&stamp[..15], 7), None);
    }
}
