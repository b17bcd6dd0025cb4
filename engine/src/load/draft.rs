//! A frame written field by field: for requests that are rare, and as the origin of templates.

use super::header::PREFIX_BYTES;

const VERSION: i16 = 479;
const LANGUAGE_OTHER: u8 = 7;

pub struct Request<'a> {
    pub code: i16,
    pub opaque: i32,
    pub flag: i32,
    pub remark: &'a str,
    pub fields: &'a [(&'a str, &'a str)],
}

/// A frame, and where in it stands what a template changes.
pub struct Encoded {
    pub frame: Vec<u8>,
    pub opaque_at: usize,
    /// The beginning of each field's value, in the order of the fields.
    pub values_at: Vec<usize>,
}

impl Request<'_> {
    /// The whole frame. Texts must not need escapes in JSON, except those that are escaped already.
    pub fn encode(&self, binary: bool, body: &[u8]) -> Encoded {
        let frame = Vec::with_capacity(512 + body.len());
        let mut encoded = Encoded { frame, opaque_at: 0, values_at: Vec::with_capacity(self.fields.len()) };
        encoded.frame.extend_from_slice(&[0; PREFIX_BYTES]);
        if binary {
            self.binary(&mut encoded);
        } else {
            self.json(&mut encoded);
        }
        let header = encoded.frame.len() - PREFIX_BYTES;
        encoded.frame[..4].copy_from_slice(&((4 + header + body.len()) as u32).to_be_bytes());
        encoded.frame[4..8].copy_from_slice(&(header as u32).to_be_bytes());
        encoded.frame[4] = u8::from(binary);
        encoded.frame.extend_from_slice(body);
        encoded
    }

    fn json(&self, into: &mut Encoded) {
        let frame = &mut into.frame;
        put(frame, &["{\"code\":", &self.code.to_string(), ",\"extFields\":{"]);
        for (index, (name, value)) in self.fields.iter().enumerate() {
            put(frame, &[if index > 0 { ",\"" } else { "\"" }, name, "\":\""]);
            into.values_at.push(frame.len());
            put(frame, &[value, "\""]);
        }
        put(frame, &["},\"flag\":", &self.flag.to_string(), ",\"language\":\"OTHER\",\"opaque\":"]);
        into.opaque_at = frame.len();
        put(frame, &[&self.opaque.to_string()]);
        if !self.remark.is_empty() {
            put(frame, &[",\"remark\":\"", self.remark, "\""]);
        }
        put(frame, &[",\"serializeTypeCurrentRPC\":\"JSON\",\"version\":", &VERSION.to_string(), "}"]);
    }

    fn binary(&self, into: &mut Encoded) {
        let frame = &mut into.frame;
        frame.extend_from_slice(&self.code.to_be_bytes());
        frame.push(LANGUAGE_OTHER);
        frame.extend_from_slice(&VERSION.to_be_bytes());
        into.opaque_at = frame.len();
        frame.extend_from_slice(&self.opaque.to_be_bytes());
        frame.extend_from_slice(&self.flag.to_be_bytes());
        frame.extend_from_slice(&(self.remark.len() as u32).to_be_bytes());
        frame.extend_from_slice(self.remark.as_bytes());
        let length_at = frame.len();
        frame.extend_from_slice(&[0; 4]);
        for (name, value) in self.fields {
            frame.extend_from_slice(&(name.len() as u16).to_be_bytes());
            frame.extend_from_slice(name.as_bytes());
            frame.extend_from_slice(&(value.len() as u32).to_be_bytes());
            into.values_at.push(frame.len());
            frame.extend_from_slice(value.as_bytes());
        }
        let length = (frame.len() - length_at - 4) as u32;
        frame[length_at..length_at + 4].copy_from_slice(&length.to_be_bytes());
    }
}

fn put(frame: &mut Vec<u8>, texts: &[&str]) {
    for text in texts {
        frame.extend_from_slice(text.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_json_header_has_the_keys_that_java_writes() {
        let frame = Request { code: 105, opaque: 7, flag: 0, remark: "", fields: &[("topic", "T")] };
        let frame = frame.encode(false, b"").frame;
        let text = "{\"code\":105,\"extFields\":{\"topic\":\"T\"},\"flag\":0,\"language\":\"OTHER\",\"opaque\":7,\
                    \"serializeTypeCurrentRPC\":\"JSON\",\"version\":479}";
        assert_eq!(frame[..8], [0, 0, 0, 128, 0, 0, 0, 124]);
        assert_eq!(&frame[8..], text.as_bytes());
    }

    #[test]
    fn the_binary_header_is_the_one_of_the_released_classes() {
        let request = Request { code: 105, opaque: 7, flag: 0, remark: "r", fields: &[("topic", "T")] };
        let expected =
            b"\x00\x00\x00\x28\x01\x00\x00\x22\x00\x69\x07\x01\xdf\x00\x00\x00\x07\x00\x00\x00\x00\
            \x00\x00\x00\x01r\x00\x00\x00\x0c\x00\x05topic\x00\x00\x00\x01T\x01\x02";
        assert_eq!(request.encode(true, &[1, 2]).frame, expected);
    }
}
