//! Messages gathered into columns as their answers come, while the processor still has them at hand.

use std::collections::VecDeque;

use super::config::Amount;
use crate::arrow::{Chosen, Columns, Opening, Origin, Size};
use crate::client::received::Damage;
use crate::message::{BadRecord, Record};

/// What a batch is.
#[derive(Clone, Debug)]
pub struct Gathering {
    /// Rows and bytes after which it is full, about.
    pub full: Amount,
    pub chosen: Chosen,
    pub origin: Origin,
}

/// Columns, and what their messages took in the answers.
#[derive(Debug)]
pub struct Batch {
    pub columns: Columns,
    pub amount: Amount,
}

/// What ends an answer before its end.
#[derive(Debug)]
pub enum Unreadable {
    Bytes(BadRecord),
    /// Of the message at this offset.
    Message(i64, Damage),
}

/// The batches that wait to be taken.
#[derive(Debug)]
pub struct Gathered {
    gathering: Gathering,
    full: VecDeque<Batch>,
    growing: Option<Batch>,
}

impl Gathered {
    pub fn new(gathering: Gathering) -> Self {
        Self { gathering, full: VecDeque::new(), growing: None }
    }

    /// Adds the messages of an answer; returns what they take.
    pub fn add(&mut self, answer: &[u8], opening: &Opening<'_>) -> (Amount, Option<Unreadable>) {
        let mut added = Amount::default();
        let mut at = 0;
        while at < answer.len() {
            let record = match Record::parse(&answer[at..]) {
                Ok(record) => record,
                Err(bad) => return (added, Some(Unreadable::Bytes(bad))),
            };
            at += record.size();
            match self.add_record(&record, opening) {
                Ok(amount) => {
                    added.messages += amount.messages;
                    added.bytes += amount.bytes;
                }
                Err(damage) => {
                    let offset = opening.offset_of(&record);
                    return (added, Some(Unreadable::Message(offset, damage)));
                }
            }
        }
        (added, None)
    }

    fn add_record(&mut self, record: &Record<'_>, opening: &Opening<'_>) -> Result<Amount, Damage> {
        let Gathering { full, chosen, origin } = &self.gathering;
        let batch = self.growing.get_or_insert_with(|| Batch {
            columns: Columns::new(
                origin.clone(),
                Size { rows: full.messages, bytes: full.bytes },
                chosen.clone(),
            ),
            amount: Amount::default(),
        });
        let before = batch.columns.len();
        if !batch.columns.add(record, opening)? {
            self.full.extend(self.growing.take());
            return self.add_record(record, opening);
        }
        let messages = batch.columns.len() - before;
        let amount = Amount { messages, bytes: if messages > 0 { record.size() } else { 0 } };
        batch.amount.messages += amount.messages;
        batch.amount.bytes += amount.bytes;
        if batch.columns.len() >= full.messages || batch.columns.bytes() >= full.bytes {
            self.full.extend(self.growing.take());
        }
        Ok(amount)
    }

    /// The next batch, full or not.
    pub fn take(&mut self) -> Option<Batch> {
        self.full.pop_front().or_else(|| self.growing.take()).filter(|batch| !batch.columns.is_empty())
    }

    pub fn has_full(&self) -> bool {
        !self.full.is_empty()
    }

    /// Messages that can be taken.
    pub fn rows(&self) -> usize {
        self.full.iter().chain(&self.growing).map(|batch| batch.amount.messages).sum()
    }

    /// The offset behind the last message.
    pub fn next_offset(&self) -> Option<i64> {
        let last = self.growing.as_ref().or_else(|| self.full.back())?;
        last.columns.last_offset().map(|offset| offset.wrapping_add(1))
    }
}
