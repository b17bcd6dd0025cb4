//! What a producer sends: single messages at once, others collected into batches by topic.
//!
//! - `draft` is a message on its way in, `load` what a request carries, `parcel` that with its fate
//! - `rows` are messages in the columns of a record batch, `tally` counts what became of them
//! - `lanes` collect messages by topic, `room` bounds what is under way; `Outbox` is the face

mod config;
mod draft;
mod face;
mod lanes;
mod load;
mod parcel;
mod room;
mod rows;
mod tally;
#[cfg(test)]
mod tests;

pub use config::{OutboxConfig, Target};
pub use draft::{Draft, Unsendable};
pub use face::{Batch, Outbox, Posted};
pub use lanes::Wanted;
pub use parcel::{Fate, Parcel, Receipt};
pub use rows::{BadRow, Course, Progress, Rows};
pub use tally::{Failed, Halves, Tally};
