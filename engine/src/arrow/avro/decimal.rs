//! Decimals: whole numbers of any length, the highest byte first.

use super::bad::Bad;

/// What Arrow's and Spark's decimals hold.
pub const PRECISION_MAX: u8 = 38;
const BYTES: usize = size_of::<i128>();

/// The number that some bytes are, if it has no more than so many digits.
pub fn unscaled(bytes: &[u8], precision: u8) -> Result<i128, Bad> {
    let Some(first) = bytes.first() else {
        return Err(Bad::new("a decimal has no bytes"));
    };
    let sign = if first & 0x80 == 0 { 0 } else { 0xFF };
    let (above, low) = bytes.split_at(bytes.len().saturating_sub(BYTES));
    let mut whole = [sign; BYTES];
    whole[BYTES - low.len()..].copy_from_slice(low);
    let value = i128::from_be_bytes(whole);
    let fits = above.iter().all(|&byte| byte == sign)
        && (value < 0) == (sign != 0)
        && value.unsigned_abs() < 10_u128.pow(u32::from(precision));
    if fits { Ok(value) } else { Err(Bad::new(format!("a decimal has more than {precision} digits"))) }
}

/// How many digits any number of so many bytes fits into; `None`: more than can be needed.
pub fn digits_of(bytes: usize) -> Option<u8> {
    let largest = i128::MAX.checked_shr(8 * u32::try_from(BYTES.checked_sub(bytes)?).ok()?)?;
    largest.checked_ilog10().map(|digits| digits as u8)
}
