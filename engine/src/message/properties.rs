//! Properties text: `name 0x01 value 0x02`, repeated. There is no escaping.
//!
//! The last separator may be missing. A pair without a name or a value is skipped. When a name occurs twice
//! the later value counts, as it does in the map a Java reader builds.

use super::layout::property::{self, NAME_END, VALUE_END};

/// The pairs of `text` in stored order.
pub fn iter(text: &[u8]) -> Pairs<'_> {
    Pairs { rest: text }
}

/// The value of `name`.
pub fn find<'a>(text: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut found = None;
    let mut pairs = iter(text);
    while let Some(pair) = pairs.next_pair() {
        if let Some(value) = pair.strip_prefix(name).and_then(|rest| rest.strip_prefix(&[NAME_END]))
            && !value.is_empty()
        {
            found = Some(value);
        }
    }
    found
}

/// Appends a pair. An empty value writes nothing, since readers would skip it anyway.
pub fn push(text: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    if value.is_empty() {
        return;
    }
    if text.last().is_some_and(|&last| last != VALUE_END) {
        text.push(VALUE_END);
    }
    text.reserve(name.len() + value.len() + 2);
    text.extend_from_slice(name);
    text.push(NAME_END);
    text.extend_from_slice(value);
    text.push(VALUE_END);
}

/// Iterator of [`iter`].
#[derive(Clone, Debug)]
pub struct Pairs<'a> {
    rest: &'a [u8],
}

impl<'a> Pairs<'a> {
    /// What stands before the next separator of pairs.
    #[inline]
    fn next_pair(&mut self) -> Option<&'a [u8]> {
        if self.rest.is_empty() {
            return None;
        }
        let Some(end) = position(self.rest, VALUE_END) else { return Some(std::mem::take(&mut self.rest)) };
        let pair = &self.rest[..end];
        self.rest = &self.rest[end + 1..];
        Some(pair)
    }
}

impl<'a> Iterator for Pairs<'a> {
    type Item = (&'a [u8], &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        while let Some(pair) = self.next_pair() {
            if let Some(name_end) = position(pair, NAME_END) {
                let (name, value) = (&pair[..name_end], &pair[name_end + 1..]);
                if !name.is_empty() && !value.is_empty() {
                    return Some((name, value));
                }
            }
        }
        None
    }
}

/// The properties that decide where a record is dispatched to, collected in one pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DispatchProperties<'a> {
    pub tags: Option<&'a [u8]>,
    pub keys: Option<&'a [u8]>,
    pub uniq_key: Option<&'a [u8]>,
    pub delay: Option<&'a [u8]>,
    pub multi_dispatch: Option<&'a [u8]>,
    pub multi_queue_offset: Option<&'a [u8]>,
}

impl<'a> DispatchProperties<'a> {
    pub fn for_dispatch(text: &'a [u8]) -> Self {
        let mut found = Self::default();
        for (name, value) in iter(text) {
            let slot = match name {
                property::TAGS => &mut found.tags,
                property::KEYS => &mut found.keys,
                property::UNIQ_KEY => &mut found.uniq_key,
                property::DELAY => &mut found.delay,
                property::INNER_MULTI_DISPATCH => &mut found.multi_dispatch,
                property::INNER_MULTI_QUEUE_OFFSET => &mut found.multi_queue_offset,
                _ => continue,
            };
            *slot = Some(value);
        }
        found
    }
}

/// Where `byte` first occurs, looking at eight bytes at a time.
#[inline]
fn position(text: &[u8], byte: u8) -> Option<usize> {
    let (words, tail) = text.as_chunks();
    for (index, &word) in words.iter().enumerate() {
        if let Some(at) = position_in_word(word, byte) {
            return Some(index * 8 + at);
        }
    }
    match text.last_chunk() {
        // Some bytes are looked at twice; one by one they would take longer.
        Some(&last) => position_in_word(last, byte).map(|at| text.len() - 8 + at),
        None => tail.iter().position(|&b| b == byte),
    }
}

#[inline]
fn position_in_word(word: [u8; 8], byte: u8) -> Option<usize> {
    const LOW: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // Zero bytes of `x` are the matches; the lowest high bit that stays set marks the first of them.
    let x = u64::from_le_bytes(word) ^ (LOW * u64::from(byte));
    let matches = x.wrapping_sub(LOW) & !x & HIGH;
    (matches != 0).then(|| matches.trailing_zeros() as usize / 8)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pairs(text: &[u8]) -> Vec<(&[u8], &[u8])> {
        iter(text).collect()
    }

    #[test]
    fn a_pair_is_written_with_both_separators() {
        let mut text = Vec::new();
        push(&mut text, b"a", b"1");
        assert_eq!(text, b"a\x011\x02");
    }

    #[test]
    fn an_empty_value_is_not_written() {
        let mut text = Vec::new();
        push(&mut text, b"a", b"");
        assert!(text.is_empty());
    }

    #[test]
    fn a_pair_pushed_after_an_open_end_does_not_grow_the_last_value() {
        let mut text = b"a\x011".to_vec();
        push(&mut text, b"b", b"2");
        assert_eq!(text, b"a\x011\x02b\x012\x02");
    }

    #[test]
    fn the_last_separator_may_be_missing() {
        assert_eq!(pairs(b"k\x01v\x02WAIT\x01true"), [(&b"k"[..], &b"v"[..]), (b"WAIT", b"true")]);
    }

    #[test]
    fn pairs_without_name_or_value_are_skipped() {
        assert_eq!(pairs(b"\x01v\x02k\x01\x02k\x02\x02\x01\x02a\x01b\x02"), [(&b"a"[..], &b"b"[..])]);
    }

    #[test]
    fn a_value_may_hold_the_name_separator() {
        assert_eq!(pairs(b"k\x01v\x01w\x02"), [(&b"k"[..], &b"v\x01w"[..])]);
    }

    #[test]
    fn the_later_of_two_values_counts() {
        let text = b"TAGS\x01a\x02TAGS\x01b\x02";
        assert_eq!(find(text, b"TAGS"), Some(&b"b"[..]));
        assert_eq!(DispatchProperties::for_dispatch(text).tags, Some(&b"b"[..]));
    }

    #[test]
    fn a_name_is_not_found_inside_another_name_or_value() {
        assert_eq!(find(b"XTAGS\x01a\x02TAGSX\x01b\x02k\x01TAGS\x02", b"TAGS"), None);
    }

    #[test]
    fn dispatch_properties_come_from_one_pass() {
        let text = b"MSG_REGION\x01DefaultRegion\x02UNIQ_KEY\x017F00\x02CLUSTER\x01c\x02TAGS\x01TagA\x02\
            KEYS\x01k1 k2\x02DELAY\x013\x02INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02\
            INNER_MULTI_QUEUE_OFFSET\x011,2\x02WAIT\x01true\x02";
        let expected = DispatchProperties {
            tags: Some(b"TagA"),
            keys: Some(b"k1 k2"),
            uniq_key: Some(b"7F00"),
            delay: Some(b"3"),
            multi_dispatch: Some(b"%LMQ%a,%LMQ%b"),
            multi_queue_offset: Some(b"1,2"),
        };
        assert_eq!(DispatchProperties::for_dispatch(text), expected);
    }

    fn plain_text() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(3..=u8::MAX, 1..40)
    }

    proptest! {
        #[test]
        fn pushed_pairs_read_back(pairs in prop::collection::vec((plain_text(), plain_text()), 0..10)) {
            let mut text = Vec::new();
            for (name, value) in &pairs {
                push(&mut text, name, value);
            }
            let read: Vec<_> = iter(&text).map(|(name, value)| (name.to_vec(), value.to_vec())).collect();
            prop_assert_eq!(read, pairs);
        }

        #[test]
        fn the_word_scan_agrees_with_the_byte_scan(text in prop::collection::vec(0..4_u8, 0..40), byte in 0..4_u8) {
            prop_assert_eq!(position(&text, byte), text.iter().position(|&b| b == byte));
        }

        #[test]
        fn one_pass_agrees_with_single_lookups(text in "((TAGS|KEYS|UNIQ_KEY|DELAY|X)?\u{1}[a-c\u{1}]{0,9}\u{2}?){0,8}") {
            let text = text.as_bytes();
            let found = DispatchProperties::for_dispatch(text);
            prop_assert_eq!(found.tags, find(text, property::TAGS));
            prop_assert_eq!(found.keys, find(text, property::KEYS));
            prop_assert_eq!(found.uniq_key, find(text, property::UNIQ_KEY));
            prop_assert_eq!(found.delay, find(text, property::DELAY));
        }

        #[test]
        fn arbitrary_bytes_never_panic(text in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(iter(&text).all(|(name, value)| !name.is_empty() && !value.is_empty()));
        }
    }
}
