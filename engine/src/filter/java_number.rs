//! Numbers as Java reads them from a property: `Integer.valueOf`, `Long.valueOf`, `Double.valueOf`.

use std::str::FromStr;

use super::Unconvertible;

/// Where the ten digits of each script begin, but for the Latin ones; Java takes them all.
const ZEROS: [u32; 36] = [
    0x0660, 0x06F0, 0x07C0, 0x0966, 0x09E6, 0x0A66, 0x0AE6, 0x0B66, 0x0BE6, 0x0C66, 0x0CE6, 0x0D66, 0x0DE6,
    0x0E50, 0x0ED0, 0x0F20, 0x1040, 0x1090, 0x17E0, 0x1810, 0x1946, 0x19D0, 0x1A80, 0x1A90, 0x1B50, 0x1BB0,
    0x1C40, 0x1C50, 0xA620, 0xA8D0, 0xA900, 0xA9D0, 0xA9F0, 0xAA50, 0xABF0, 0xFF10,
];

/// Read a whole number: a sign or none, digits, nothing else, and in range.
pub fn parse_integer<T: FromStr>(text: &str) -> Result<T, Unconvertible> {
    if text.is_ascii() {
        return text.parse().map_err(|_| Unconvertible);
    }
    let latin: Option<String> = text.chars().map(latin_digit).collect();
    latin.and_then(|latin| latin.parse().ok()).ok_or(Unconvertible)
}

fn latin_digit(sign: char) -> Option<char> {
    if sign.is_ascii() {
        return Some(sign);
    }
    let zero = ZEROS.iter().find(|zero| (**zero..**zero + 10).contains(&u32::from(sign)))?;
    char::from_digit(u32::from(sign) - zero, 10)
}

/// Read a floating point number as Java writes literals, blanks around it allowed.
pub fn parse_double(text: &str) -> Option<f64> {
    let text = text.trim_matches(|sign| sign <= ' ');
    let (negative, number) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let value = match number {
        "NaN" => f64::NAN,
        "Infinity" => f64::INFINITY,
        _ => {
            // Behind the exponent, without which a hexadecimal number is none, `d` is no digit any more.
            let plain = number.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(number);
            match plain.strip_prefix("0x").or_else(|| plain.strip_prefix("0X")) {
                Some(hexadecimal) => of_hexadecimal(hexadecimal)?,
                None => of_decimal(plain)?,
            }
        }
    };
    Some(if negative { -value } else { value })
}

fn of_decimal(text: &str) -> Option<f64> {
    // Words like `inf`, and signs, are Rust's here and not Java's.
    let starts_well = text.starts_with(|sign: char| sign.is_ascii_digit() || sign == '.');
    text.parse().ok().filter(|_| starts_well)
}

/// Read what follows `0x`: digits with or without a point, and an exponent of two, which must be there.
fn of_hexadecimal(text: &str) -> Option<f64> {
    let (mantissa, exponent) = text.split_once(['p', 'P'])?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Beyond this everything is zero or infinite, unless the mantissa is absurdly long.
    let limit: i64 = 1 << 40;
    let magnitude = digits.parse::<i64>().map_or(limit, |value| value.min(limit));
    let mut power = if exponent.starts_with('-') { -magnitude } else { magnitude };
    power -= 4 * fraction.len() as i64;

    let (mut bits, mut lost) = (0_u64, false);
    for sign in whole.chars().chain(fraction.chars()) {
        let digit = u64::from(sign.to_digit(16)?);
        if bits >> 60 == 0 {
            bits = bits << 4 | digit;
        } else {
            lost |= digit != 0;
            power += 4;
        }
    }
    Some(scaled(bits, lost, power))
}

/// `bits` times two to the `power`, rounded to the nearest, to the even one of two; `lost` says that `bits`
/// is a little short.
#[allow(clippy::cast_precision_loss)] // at most 53 bits are left
fn scaled(bits: u64, lost: bool, power: i64) -> f64 {
    const PRECISION: i64 = f64::MANTISSA_DIGITS as i64;
    const LEAST: i64 = -1022;
    let len = i64::from(u64::BITS - bits.leading_zeros());
    let top = power + len - 1;
    if bits == 0 {
        return 0.0;
    }
    if top > 1023 {
        return f64::INFINITY;
    }
    let kept = if top >= LEAST { PRECISION } else { PRECISION - (LEAST - top) };
    if kept < 0 {
        return 0.0;
    }
    let dropped = (len - kept).max(0);
    let mut result = bits.checked_shr(dropped as u32).unwrap_or(0);
    if dropped > 0 {
        let half = 1_u64 << (dropped - 1);
        let below = bits & (half - 1);
        let up = bits & half != 0 && (below != 0 || lost || result & 1 == 1);
        result += u64::from(up);
    }
    result as f64 * power_of_two(power + dropped)
}

/// From 2^-1074, the least that a double can be, on.
fn power_of_two(power: i64) -> f64 {
    let bits = if power < -1022 { 1_u64 << (power + 1074) } else { ((power + 1023) as u64) << 52 };
    f64::from_bits(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_read_as_java_reads_them() {
        for (text, expected) in
            [("+5", 5), ("-0", 0), ("007", 7), ("2147483647", i32::MAX), ("٣٤", 34), ("-１", -1)]
        {
            assert_eq!(parse_integer(text), Ok(expected), "{text}");
        }
        for text in ["", "+", "-", " 5", "5 ", "1.0", "2147483648", "0x10", "5L", "1_000", "۩", "𝟓"] {
            assert_eq!(parse_integer::<i32>(text), Err(Unconvertible), "{text}");
        }
        assert_eq!(parse_integer("-9223372036854775808"), Ok(i64::MIN));
    }

    #[test]
    fn floating_point_numbers_are_read_as_java_reads_them() {
        let table = [
            ("1", 1.0),
            (" 1.5\t", 1.5),
            ("+.5", 0.5),
            ("5.", 5.0),
            ("5.e1D", 50.0),
            ("1e-3f", 0.001),
            ("1e400", f64::INFINITY),
            ("-Infinity", f64::NEG_INFINITY),
            ("0x1p3", 8.0),
            ("-0X.8P1d", -1.0),
            ("0x1.8p0F", 1.5),
            ("0x1d.p0", 29.0),
            ("0x1p-1074", f64::from_bits(1)),
            ("0x1p-1075", 0.0),
            ("0x1.8p-1075", f64::from_bits(1)),
            ("0x1.fffffffffffff8p1023", f64::INFINITY),
            ("0x1.fffffffffffff7p1023", f64::MAX),
            ("0x1.00000000000008p0", 1.0),
            ("0x1.000000000000080000000000000000001p0", 1.0 + f64::EPSILON),
            ("0x1p99999999999999999999", f64::INFINITY),
        ];
        for (text, expected) in table {
            assert_eq!(parse_double(text), Some(expected), "{text}");
        }
        assert!(parse_double("-NaN").is_some_and(f64::is_nan));
        for text in [
            "", "+", ".", "1e", "e5", "inf", "nan", "infinity", "--1", "1ff", "0x1", "0x.p1", "0x1p", "1_0",
            "٣", "f",
        ] {
            assert_eq!(parse_double(text), None, "{text}");
        }
    }
}
