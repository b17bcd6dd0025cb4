//! The values of a datum, as its bytes give them.

use super::bad::Bad;

/// What a body may make beyond its own bytes, for its first byte and for each: a null may stand for many columns, and
/// a number for a long symbol.
const GROWTH: usize = 1 << 20;
const GROWTH_PER_BYTE: usize = 64;

/// Reads a datum from its front.
#[derive(Debug)]
pub struct Reader<'a> {
    rest: &'a [u8],
    growth: usize,
}

impl<'a> Reader<'a> {
    pub fn new(datum: &'a [u8]) -> Self {
        Self { rest: datum, growth: GROWTH + datum.len().saturating_mul(GROWTH_PER_BYTE) }
    }

    /// Nothing may be left.
    pub fn end(&self) -> Result<(), Bad> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(Bad::new(format!("{left} bytes are left behind the datum"))),
        }
    }

    /// Charges what is made without bytes of the body.
    #[inline]
    pub fn grow(&mut self, bytes: usize) -> Result<(), Bad> {
        self.growth = self.growth.checked_sub(bytes).ok_or(Bad::new("it grows to many times its size"))?;
        Ok(())
    }

    #[inline]
    pub fn fixed(&mut self, bytes: usize) -> Result<&'a [u8], Bad> {
        let (value, rest) =
            self.rest.split_at_checked(bytes).ok_or_else(|| Bad::new("the body ends before it does"))?;
        self.rest = rest;
        Ok(value)
    }

    #[inline]
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], Bad> {
        let (value, rest) =
            self.rest.split_first_chunk().ok_or_else(|| Bad::new("the body ends before it does"))?;
        self.rest = rest;
        Ok(*value)
    }

    pub fn boolean(&mut self) -> Result<bool, Bad> {
        match self.array()? {
            [0] => Ok(false),
            [1] => Ok(true),
            [other] => Err(Bad::new(format!("a boolean is 0 or 1, not {other}"))),
        }
    }

    #[inline]
    pub fn long(&mut self) -> Result<i64, Bad> {
        let mut value = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let [byte] = self.array()?;
            let bits = u64::from(byte & 0x7F);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok((value >> 1) as i64 ^ -((value & 1) as i64));
            }
        }
        Err(Bad::new("a number has more than 64 bits"))
    }

    #[inline]
    pub fn int(&mut self) -> Result<i32, Bad> {
        let value = self.long()?;
        i32::try_from(value).map_err(|_| Bad::new(format!("{value} does not fit into 32 bits")))
    }

    /// An index of something that there are so many of.
    pub fn index(&mut self, of: &'static str, count: usize) -> Result<usize, Bad> {
        let index = self.long()?;
        usize::try_from(index)
            .ok()
            .filter(|&index| index < count)
            .ok_or_else(|| Bad::new(format!("there is no {of} {index}, only {count}")))
    }

    /// Bytes behind their length.
    #[inline]
    pub fn bytes(&mut self) -> Result<&'a [u8], Bad> {
        let length = self.long()?;
        let left = self.rest.len();
        usize::try_from(length)
            .ok()
            .and_then(|length| self.fixed(length).ok())
            .ok_or_else(|| Bad::new(format!("its length is {length}, and {left} bytes are left")))
    }

    #[inline]
    pub fn text(&mut self) -> Result<&'a str, Bad> {
        str::from_utf8(self.bytes()?).map_err(|_| Bad::new("its text is not UTF-8"))
    }

    /// How many items the next block of an array or a map has; 0 behind the last.
    pub fn block(&mut self) -> Result<usize, Bad> {
        let count = self.long()?;
        if count < 0 {
            // The block's size in bytes, for those who skip it.
            self.long()?;
        }
        let items = count.unsigned_abs();
        // Each item of a plan has a byte at least.
        let left = self.rest.len();
        if items > left as u64 {
            return Err(Bad::new(format!("a block has {items} items, and {left} bytes are left")));
        }
        Ok(items as usize)
    }
}
