use proptest::prelude::*;

use crate::net::probe::{Start, probe};

const V1: &[u8] = b"PROXY TCP4 10.1.2.3 10.0.0.1 4711 10911\r\n";

// shows: RM-10
#[test]
fn the_first_byte_tells_tls_from_frames() {
    assert_eq!(probe(&[]), Ok(Start::Unknown));
    assert_eq!(probe(&[0x16]), Ok(Start::Tls));
    assert_eq!(probe(&[0, 0, 0, 1]), Ok(Start::Plain));
    assert_eq!(probe(b"POST"), Ok(Start::Plain));
}

#[test]
fn a_proxy_header_is_awaited_whole() {
    for cut in 1..V1.len() {
        assert_eq!(probe(&V1[..cut]), Ok(Start::Unknown), "{cut}");
    }
    let addresses = ("10.1.2.3:4711".parse().unwrap(), "10.0.0.1:10911".parse().unwrap());
    assert_eq!(probe(&[V1, b"rest"].concat()), Ok(Start::Proxy(V1.len(), Some(addresses))));
}

#[test]
fn a_header_that_is_none_is_refused() {
    for line in [
        &b"PROXY TCP4 10.1.2.3 10.0.0.1 4711 99999\r\n"[..],
        b"PROXY \r\n",
        &[V1[..6].to_vec(), vec![b'x'; 200]].concat(),
    ] {
        assert!(probe(line).is_err());
    }
    assert!(probe(b"\r\n\r\n\0\r\nQUIT\n\x31\x11\x00\x00").is_err());
    assert!(probe(b"\r\n\r\n\0\r\nQUIT\n\x21\x11\x00\x04abcd").is_err());
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(v2: bool, bytes in prop::collection::vec(any::<u8>(), 0..120)) {
        let start: &[u8] = if v2 { b"\r\n\r\n\0\r\nQUIT\n" } else { b"PROXY TCP" };
        let _ = probe(&bytes);
        let _ = probe(&[start, &bytes].concat());
    }
}
