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
            self.ends.push(self.values.len() as i32);
            self.nulls.append_null();
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

    /// Make room for so many bytes more.
    pub fn reserve(&mut self, bytes: usize) {
        self.values.reserve(bytes);
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

/// A column whose neighbours are mostly equal: each is put into words once per run.
#[derive(Debug)]
pub struct Runs {
    stored: Vec<u8>,
    text: String,
    column: Texts,
}

impl Runs {
    pub fn new(rows: usize) -> Self {
        Self { stored: Vec::new(), text: String::new(), column: Texts::new(rows, 24) }
    }

    #[inline]
    pub fn push(&mut self, stored: &[u8], show: impl FnOnce(&[u8]) -> String) {
        if self.stored != stored || self.column.len() == 0 {
            self.stored = stored.to_vec();
            self.text = show(stored);
        }
        self.column.push_str(&self.text);
    }

    pub fn into_texts(self) -> ArrayRef {
        self.column.into_texts()
    }
}
