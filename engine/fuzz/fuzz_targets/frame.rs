//! Any bytes a socket may bring: frames and headers of both encodings. What decodes encodes back.

#![no_main]

use bumpalo::Bump;
use libfuzzer_sys::fuzz_target;
use tailfin_engine::net::encode::{self, Head};
use tailfin_engine::net::frame::{Frame, next_frame};
use tailfin_engine::net::header::Encoding;
use tailfin_engine::net::text::Value;

const FRAME_BYTES_MAX: usize = 1 << 20;

fn again(frame: &Frame<'_>) {
    let texts: Vec<_> =
        frame.header.fields.iter().map(|field| (field.key.to_str(), field.value.to_str())).collect();
    let fields: Vec<_> = texts.iter().map(|(key, value)| (&**key, Value::Text(value))).collect();
    let remark = frame.header.remark.map(|remark| remark.to_str());
    let header = &frame.header;
    let mut bytes = Vec::new();
    let head = Head {
        encoding: Encoding::Json,
        code: header.code,
        opaque: header.opaque,
        flag: header.flag,
        remark: remark.as_deref(),
        fields: &fields,
    };
    encode::head(&mut bytes, &head, frame.body.len());
    bytes.extend_from_slice(frame.body);
    let bump = Bump::new();
    let read = next_frame(&mut &bytes[..], usize::MAX, &bump).unwrap().unwrap();
    assert_eq!((read.header.code, read.header.opaque, read.header.flag), (head.code, head.opaque, head.flag));
    assert_eq!(read.header.remark.map(|remark| remark.to_str()), remark);
    assert!(read.header.fields.iter().map(|field| (field.key.to_str(), field.value.to_str())).eq(texts));
    assert_eq!(read.body, frame.body);
}

fuzz_target!(|bytes: &[u8]| {
    let bump = Bump::new();
    let mut rest = bytes;
    while let Ok(Some(frame)) = next_frame(&mut rest, FRAME_BYTES_MAX, &bump) {
        again(&frame);
    }
});
