//! Columns of text and bytes.

use std::sync::Arc;

use arrow_array::{ArrayRef, BinaryArray, StringArray};
use arrow_buffer::{Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};

/// Values one after the other, and where each ends. As text it holds only what is UTF-8.
#[derive(Debug)]
pub struct Texts {
    ends: Vec<i32>,
    values: Vec<u8>,
    nulls: NullBufferBuilder,
}

impl Texts {
    /// For about so many values, of so many bytes each.
    pub fn new(rows: usize, bytes: usize) -> Self {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        Self { ends, values: Vec::with_capacity(rows * bytes), nulls: NullBufferBuilder::new(rows) }
    }

    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.push_with(|values| values.extend_from_slice(text.as_bytes()));
    }

    /// Text as Java would read it: malformed bytes are replaced, never refused.
    #[inline]
    pub fn push_text(&mut self, text: &[u8]) {
        if text.is_ascii() {
            self.push_with(|values| values.extend_from_slice(text));
        } else {
            self.push_str(&String::from_utf8_lossy(text));
        }
    }

    #[inline]
    pub fn push_optional(&mut self, text: Option<&[u8]>) {
        if let Some(text) = text {
            self.push_text(text);
        } else {
            self.push_nulls(1);
        }
    }

    /// Have a value written behind the others.
    #[inline]
    pub fn push_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        write(&mut self.values);
        // The columns are full long before.
        self.ends.push(self.values.len() as i32);
        self.nulls.append_non_null();
    }

    /// The same text so many times.
    pub fn push_run(&mut self, text: &str, count: usize) {
        let start = self.values.len();
        let end = start + text.len() * count;
        self.values.extend_from_slice(&text.as_bytes()[..text.len() * count.min(1)]);
        while self.values.len() < end {
            let more = (self.values.len() - start).min(end - self.values.len());
            self.values.extend_from_within(start..start + more);
        }
        self.ends.extend((1..=count).map(|nth| (start + text.len() * nth) as i32));
        self.nulls.append_n_non_nulls(count);
    }

    /// No value, so many times.
    pub fn push_nulls(&mut self, count: usize) {
        self.ends.extend(std::iter::repeat_n(self.values.len() as i32, count));
        self.nulls.append_n_nulls(count);
    }

    /// Make room for so many bytes more.
    pub fn reserve(&mut self, bytes: usize) {
        self.values.reserve(bytes);
    }

    /// Take back all values behind the first so many.
    pub fn truncate(&mut self, len: usize) {
        self.ends.truncate(len + 1);
        self.values.truncate(self.ends[self.ends.len() - 1] as usize);
        self.nulls.truncate(len);
    }

    pub fn len(&self) -> usize {
        self.ends.len() - 1
    }

    pub fn bytes(&self) -> usize {
        self.values.len()
    }

    pub fn into_texts(self) -> ArrayRef {
        let Self { ends, values, mut nulls } = self;
        // SAFETY: the ends only grow, up to the length of the values, and each value is whole UTF-8: `push_text` and
        // `push_str` take nothing else, and what others write is ASCII.
        Arc::new(unsafe {
            StringArray::new_unchecked(offsets(ends), Buffer::from_vec(values), nulls.finish())
        })
    }

    pub fn into_bytes(self) -> ArrayRef {
        let Self { ends, values, mut nulls } = self;
        // SAFETY: the ends only grow, up to the length of the values.
        Arc::new(unsafe {
            BinaryArray::new_unchecked(offsets(ends), Buffer::from_vec(values), nulls.finish())
        })
    }
}

/// Where each value ends, the first beginning at 0.
pub fn offsets(ends: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(ScalarBuffer::from(ends))
}

/// A column whose neighbours are mostly equal: each is put into words once per run, and written when all are known.
#[derive(Debug, Default)]
pub struct Runs {
    stored: Vec<u8>,
    ended: Vec<(String, usize)>,
    text: String,
    count: usize,
}

impl Runs {
    #[inline]
    pub fn push(&mut self, stored: &[u8], show: impl FnOnce(&[u8]) -> String) {
        if self.stored != stored || self.count == 0 {
            self.begin(stored, show(stored));
        }
        self.count += 1;
    }

    #[cold]
    fn begin(&mut self, stored: &[u8], text: String) {
        self.end();
        self.stored.clear();
        self.stored.extend_from_slice(stored);
        self.text = text;
    }

    fn end(&mut self) {
        if self.count > 0 {
            self.ended.push((std::mem::take(&mut self.text), std::mem::take(&mut self.count)));
        }
    }

    pub fn into_texts(mut self) -> ArrayRef {
        self.end();
        let rows = self.ended.iter().map(|run| run.1).sum();
        let mut column = Texts::new(rows, 0);
        column.reserve(self.ended.iter().map(|(text, count)| text.len() * count).sum());
        for (text, count) in &self.ended {
            column.push_run(text, *count);
        }
        column.into_texts()
    }
}
