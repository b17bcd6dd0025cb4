//! Whatever a connection begins with is told apart, and by the same bytes however many come at once.

#![no_main]

use libfuzzer_sys::fuzz_target;
use net::probe::{Start, probe};

/// The module itself, which the engine keeps to itself.
#[path = "../../src/net"]
mod net {
    pub use tailfin_engine::net::frame;
    #[path = "probe.rs"]
    pub mod probe;
}

const SIGNATURES: [&[u8]; 5] =
    [b"", b"PROXY ", b"PROXY TCP4 127.0.0.1 ", b"\r\n\r\n\0\r\nQUIT\n", b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0"];

fuzz_target!(|input: (u8, &[u8])| {
    let (begins, rest) = input;
    let bytes = [SIGNATURES[usize::from(begins) % SIGNATURES.len()], rest].concat();
    let told = probe(&bytes);
    let length = match told {
        Ok(Start::Unknown) => return,
        Ok(Start::Proxy(length, _)) => length,
        Ok(Start::Plain | Start::Tls) | Err(_) => bytes.len(),
    };
    assert!((1..=bytes.len()).contains(&length));
    if let Ok(Start::Proxy(..)) = told {
        assert_eq!(probe(&bytes[..length]), told);
        assert_eq!(probe(&bytes[..length - 1]), Ok(Start::Unknown));
    }
    let more = [&bytes[..], b"\0"].concat();
    assert_eq!(probe(&more), told);
});
