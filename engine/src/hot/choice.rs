//! Which queue a send goes to.

use super::codes::response;
use super::path::HotPath;
use super::rulebook::Topic;
use super::verdict::{Verdict, refuse};

impl HotPath {
    /// The queue a send goes to: the one it names, or any that is written to if it names none.
    pub(super) fn choose_queue(&self, topic: &Topic, named: i32) -> Result<i32, Verdict> {
        if named < 0 {
            if topic.write_queues <= 0 {
                let remark = "the topic has no queue to write to; give it one, or name a queue";
                return refuse(response::SYSTEM_ERROR, remark);
            }
            return Ok((self.random() % topic.write_queues.cast_unsigned()).cast_signed());
        }
        let count = topic.write_queues.max(topic.read_queues);
        if named >= count {
            let name = String::from_utf8_lossy(&topic.name);
            return refuse(
                response::INVALID_PARAMETER,
                format!(
                    "request queueId[{named}] is illegal: topic {name} has the queues 0 to {}",
                    count - 1
                ),
            );
        }
        Ok(named)
    }
}
