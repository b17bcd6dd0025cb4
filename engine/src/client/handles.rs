//! Where halves stand, and their compact form: all of a task's travel through Spark's driver, and into the log.

/// Where a half stands at its broker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Handle {
    pub log_offset: i64,
    pub queue_offset: i64,
}

/// Bytes that are no handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "these bytes are no handles of transactions: they end in the middle of one, or hold an impossible number"
)]
pub struct BadHandles;

const MORE: u8 = 0x80;
const VARINT_BYTES_MAX: usize = 10;

/// Handles in the order of the log, each as its distance from the one before: about three bytes.
pub fn encode(handles: &mut [Handle]) -> Vec<u8> {
    handles.sort_unstable();
    let mut out = Vec::with_capacity(handles.len() * 3 + 16);
    let mut before = Handle { log_offset: 0, queue_offset: 0 };
    for each in handles.iter() {
        push(&mut out, each.log_offset.wrapping_sub(before.log_offset));
        push(&mut out, each.queue_offset.wrapping_sub(before.queue_offset));
        before = *each;
    }
    out
}

pub fn decode(mut bytes: &[u8]) -> Result<Vec<Handle>, BadHandles> {
    let mut handles = Vec::with_capacity(bytes.len() / 3);
    let mut last = Handle { log_offset: 0, queue_offset: 0 };
    while !bytes.is_empty() {
        last.log_offset = last.log_offset.wrapping_add(take(&mut bytes)?);
        last.queue_offset = last.queue_offset.wrapping_add(take(&mut bytes)?);
        handles.push(last);
    }
    Ok(handles)
}

/// Seven bits a byte, the sign in the lowest one.
fn push(out: &mut Vec<u8>, number: i64) {
    let mut rest = ((number << 1) ^ (number >> 63)) as u64;
    while rest >= u64::from(MORE) {
        out.push(rest as u8 | MORE);
        rest >>= 7;
    }
    out.push(rest as u8);
}

fn take(bytes: &mut &[u8]) -> Result<i64, BadHandles> {
    let mut folded = 0_u64;
    for (index, &byte) in bytes.iter().take(VARINT_BYTES_MAX).enumerate() {
        let bits = u64::from(byte & !MORE);
        if index == VARINT_BYTES_MAX - 1 && bits > 1 {
            break;
        }
        folded |= bits << (7 * index);
        if byte & MORE == 0 {
            *bytes = &bytes[index + 1..];
            return Ok((folded >> 1) as i64 ^ -((folded & 1) as i64));
        }
    }
    Err(BadHandles)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn handles_are_the_same_again_in_the_order_of_the_log(
            places in prop::collection::vec((any::<i64>(), any::<i64>()), 0..50)
        ) {
            let made = places.iter().map(|&(log_offset, queue_offset)| Handle { log_offset, queue_offset });
            let mut handles: Vec<Handle> = made.collect();
            let bytes = encode(&mut handles);
            prop_assert_eq!(decode(&bytes), Ok(handles));
        }

        #[test]
        fn any_bytes_are_handles_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let _ = decode(&bytes);
        }
    }

    #[test]
    fn a_handle_among_many_takes_three_bytes() {
        let place =
            |number: i64| Handle { log_offset: (1 << 40) | (number * 300), queue_offset: 70_000 + number };
        let mut handles: Vec<Handle> = (0..1000).map(place).collect();
        assert!(encode(&mut handles).len() < 3 * 1000 + 16);
    }

    #[test]
    fn bytes_that_end_too_early_are_refused() {
        let mut handles = [Handle { log_offset: 1 << 40, queue_offset: 5 }];
        let bytes = encode(&mut handles);
        for end in 1..bytes.len() {
            assert_eq!(decode(&bytes[..end]), Err(BadHandles));
        }
        assert_eq!(decode(&[0xFF; 11]), Err(BadHandles));
    }
}
