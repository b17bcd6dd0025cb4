//! What a connection begins with: a PROXY header, a TLS hello, or a frame. The first byte tells:
//! as the top byte of a frame's length the others would mean a frame far over the limit.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use super::frame::Malformed;

const TLS_HELLO: u8 = 0x16;
const V1: &[u8] = b"PROXY ";
const V1_BYTES_MAX: usize = 107;
const V2: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
const V2_FIXED_BYTES: usize = 16;

/// The client's own address and the one it dialled.
pub type Addresses = (SocketAddr, SocketAddr);

#[derive(Debug, PartialEq, Eq)]
pub enum Start {
    /// Too few bytes to tell.
    Unknown,
    Plain,
    Tls,
    /// A header of so many bytes; without addresses when the proxy speaks for itself.
    Proxy(usize, Option<Addresses>),
}

pub fn probe(bytes: &[u8]) -> Result<Start, Malformed> {
    match bytes.first() {
        None => Ok(Start::Unknown),
        Some(&TLS_HELLO) => Ok(Start::Tls),
        Some(_) if begins(bytes, V1) => version_1(bytes),
        Some(_) if begins(bytes, V2) => version_2(bytes),
        Some(_) => Ok(Start::Plain),
    }
}

/// Whether `bytes`, as far as they go, are `signature`.
fn begins(bytes: &[u8], signature: &[u8]) -> bool {
    bytes.iter().zip(signature).all(|(one, other)| one == other)
}

fn version_1(bytes: &[u8]) -> Result<Start, Malformed> {
    const BAD: Malformed = Malformed("the PROXY line is not one");
    let line = &bytes[..bytes.len().min(V1_BYTES_MAX)];
    let Some(end) = line.windows(2).position(|pair| pair == b"\r\n") else {
        return if line.len() == V1_BYTES_MAX { Err(BAD) } else { Ok(Start::Unknown) };
    };
    let text = str::from_utf8(&line[..end]).map_err(|_| BAD)?;
    let mut words = text.split(' ').skip(1);
    let addresses = match words.next() {
        Some("UNKNOWN") => None,
        Some("TCP4" | "TCP6") => {
            let mut ip = || words.next()?.parse::<IpAddr>().ok();
            let (source, target) = (ip().ok_or(BAD)?, ip().ok_or(BAD)?);
            let mut port = || words.next()?.parse::<u16>().ok();
            let (from, to) = (port().ok_or(BAD)?, port().ok_or(BAD)?);
            Some((SocketAddr::new(source, from), SocketAddr::new(target, to)))
        }
        _ => return Err(BAD),
    };
    Ok(Start::Proxy(end + 2, addresses))
}

fn version_2(bytes: &[u8]) -> Result<Start, Malformed> {
    let Some(fixed) = bytes.first_chunk::<V2_FIXED_BYTES>() else { return Ok(Start::Unknown) };
    let len = V2_FIXED_BYTES + usize::from(u16::from_be_bytes([fixed[14], fixed[15]]));
    let Some(block) = bytes.get(V2_FIXED_BYTES..len) else { return Ok(Start::Unknown) };
    let addresses = match (fixed[12], fixed[13]) {
        (0x21, 0x11) => Some(pair::<4, 12>(block, |ip| Ipv4Addr::from(ip).into())?),
        (0x21, 0x21) => Some(pair::<16, 36>(block, |ip| Ipv6Addr::from(ip).into())?),
        (0x20 | 0x21, _) => None,
        _ => return Err(Malformed("the PROXY header is neither LOCAL nor PROXY of version 2")),
    };
    Ok(Start::Proxy(len, addresses))
}

/// Two addresses of `N` bytes and two ports, `ALL` bytes together.
fn pair<const N: usize, const ALL: usize>(
    block: &[u8],
    ip: impl Fn([u8; N]) -> IpAddr,
) -> Result<Addresses, Malformed> {
    let block = block.first_chunk::<ALL>().ok_or(Malformed("the PROXY header lacks its addresses"))?;
    let address = |at: usize| {
        let mut octets = [0; N];
        octets.copy_from_slice(&block[at..at + N]);
        ip(octets)
    };
    let port = |at: usize| u16::from_be_bytes([block[at], block[at + 1]]);
    Ok((SocketAddr::new(address(0), port(2 * N)), SocketAddr::new(address(N), port(2 * N + 2))))
}
