//! Host fields: the address bytes, then the port in four bytes.

use std::net::{IpAddr, SocketAddr};

use super::layout::{HOST_V4_BYTES, HOST_V6_BYTES, field};

/// Bytes that `host` takes in a record.
#[inline]
pub fn encoded_len(host: &SocketAddr) -> usize {
    if host.is_ipv6() { HOST_V6_BYTES } else { HOST_V4_BYTES }
}

/// Writes `host` to the front of `out` and returns the number of bytes written.
///
/// # Panics
/// If `out` is shorter than `encoded_len(host)`.
#[inline]
pub fn encode(host: &SocketAddr, out: &mut [u8]) -> usize {
    let port = u32::from(host.port()).to_be_bytes();
    match host.ip() {
        IpAddr::V4(ip) => {
            out[..4].copy_from_slice(&ip.octets());
            out[4..HOST_V4_BYTES].copy_from_slice(&port);
            HOST_V4_BYTES
        }
        IpAddr::V6(ip) => {
            out[..16].copy_from_slice(&ip.octets());
            out[16..HOST_V6_BYTES].copy_from_slice(&port);
            HOST_V6_BYTES
        }
    }
}

/// Reads a field of 8 (IPv4) or 20 (IPv6) bytes; `None` for another length or a port above 65535.
#[inline]
pub fn decode(bytes: &[u8]) -> Option<SocketAddr> {
    let (ip, port_at) = match bytes.len() {
        HOST_V4_BYTES => (IpAddr::from(field::<4>(bytes, 0)), 4),
        HOST_V6_BYTES => (IpAddr::from(field::<16>(bytes, 0)), 16),
        _ => return None,
    };
    let port = u16::try_from(u32::from_be_bytes(field(bytes, port_at))).ok()?;
    Some(SocketAddr::new(ip, port))
}

/// `address:port`, IPv6 in brackets.
pub fn shown(host: Option<SocketAddr>) -> String {
    host.map_or_else(|| "unknown".to_owned(), |host| host.to_string())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn encoded(host: &str) -> Vec<u8> {
        let host = host.parse().unwrap();
        let mut out = vec![0; encoded_len(&host)];
        assert_eq!(encode(&host, &mut out), out.len());
        out
    }

    // shows: CL-16
    #[test]
    fn an_ipv4_host_is_four_address_bytes_and_a_wide_port() {
        assert_eq!(encoded("10.0.6.82:8123"), [0x0A, 0x00, 0x06, 0x52, 0x00, 0x00, 0x1F, 0xBB]);
    }

    // shows: CL-31
    #[test]
    fn an_ipv6_host_is_sixteen_address_bytes_and_a_wide_port() {
        let mut expected = [0; 20];
        (expected[0], expected[1], expected[15], expected[19]) = (0xFE, 0x80, 0x02, 0x02);
        assert_eq!(encoded("[fe80::2]:2"), expected);
    }

    #[test]
    fn a_port_beyond_16_bits_is_no_host() {
        assert_eq!(decode(&[127, 0, 0, 1, 0, 1, 0, 0]), None);
        assert_eq!(decode(&[127, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF]), None);
    }

    proptest! {
        #[test]
        fn every_host_reads_back(ip: IpAddr, port: u16) {
            let host = SocketAddr::new(ip, port);
            let mut out = [0; HOST_V6_BYTES];
            let len = encode(&host, &mut out);
            prop_assert_eq!(decode(&out[..len]), Some(host));
        }

        #[test]
        fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..32)) {
            let _ = decode(&bytes);
        }
    }
}
