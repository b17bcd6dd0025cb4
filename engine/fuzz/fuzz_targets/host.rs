//! What decodes as a host encodes back to the same bytes.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::message::host;

fuzz_target!(|bytes: &[u8]| {
    if let Some(decoded) = host::decode(bytes) {
        let mut again = vec![0; host::encoded_len(&decoded)];
        host::encode(&decoded, &mut again);
        assert_eq!(again, bytes);
    }
});
