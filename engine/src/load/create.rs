//! Topics made one by one through the admin request.

use super::draft::Request;
use super::drive::{Answer, Place, Work};
use super::options::Options;
use super::send::acknowledge;
use super::tally::Tally;
use super::template::{OPAQUE_BASE, topic_name};

const CREATE_TOPIC: i16 = 17;

pub struct Creations {
    options: Options,
    next: u32,
    step: u32,
}

impl Creations {
    /// Make every `step`th topic, from `first` on.
    pub fn new(options: &Options, first: u32, step: u32) -> Self {
        Self { options: options.clone(), next: first, step }
    }
}

impl Work for Creations {
    fn write(&mut self, out: &mut Vec<u8>, place: Place, _: u64) {
        let topic = topic_name(&self.options, self.next);
        self.next += self.step;
        let queues = self.options.queues.to_string();
        let fields = [
            ("defaultTopic", "TBW102"),
            ("order", "false"),
            ("perm", "6"),
            ("readQueueNums", &queues),
            ("topic", &topic),
            ("topicFilterType", "SINGLE_TAG"),
            ("topicSysFlag", "0"),
            ("writeQueueNums", &queues),
        ];
        let opaque = OPAQUE_BASE + place.slot as i32;
        let request = Request { code: CREATE_TOPIC, opaque, flag: 0, remark: "", fields: &fields };
        out.extend_from_slice(&request.encode(self.options.binary, b"").frame);
    }

    fn answer(&mut self, _: Place, answer: &Answer<'_>, tally: &mut Tally) -> bool {
        acknowledge(answer, 1, 0, tally);
        true
    }
}
