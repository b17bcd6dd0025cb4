use bumpalo::Bump;
use proptest::prelude::*;

use crate::net::encode::{self, Head};
use crate::net::frame::{Frame, Malformed, frame_len, next_frame};
use crate::net::header::{Encoding, VERSION};
use crate::net::text::Value;

const MAX: usize = 16 << 20;

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

/// Decode the only frame of `bytes`.
fn only<'a>(mut bytes: &'a [u8], bump: &'a Bump) -> Result<Frame<'a>, Malformed> {
    let frame = next_frame(&mut bytes, MAX, bump)?.expect("a whole frame");
    assert!(bytes.is_empty());
    Ok(frame)
}

fn pairs(frame: &Frame<'_>) -> Vec<(String, String)> {
    let owned = |field: &crate::net::text::Field<'_>| {
        (field.key.to_str().into_owned(), field.value.to_str().into_owned())
    };
    frame.header.fields.iter().map(owned).collect()
}

fn json(header: &str) -> Result<(i32, Vec<(String, String)>), Malformed> {
    let mut bytes = Vec::new();
    bytes.extend_from_slice(&(header.len() as u32 + 4).to_be_bytes());
    bytes.extend_from_slice(&(header.len() as u32).to_be_bytes());
    bytes.extend_from_slice(header.as_bytes());
    let bump = Bump::new();
    only(&bytes, &bump).map(|frame| (frame.header.code, pairs(&frame)))
}

// shows: RM-11, RM-12, RM-13, RM-14
#[test]
fn a_json_frame_of_java_is_read() {
    let bytes = bytes(
        "000000810000007d7b22636f6465223a3130352c226578744669656c6473223a7b22746f706963223a2254227d2c22666c616722\
         3a302c226c616e6775616765223a22505954484f4e222c226f7061717565223a372c2273657269616c697a655479706543757272\
         656e74525043223a224a534f4e222c2276657273696f6e223a3437397d",
    );
    let bump = Bump::new();
    let frame = only(&bytes, &bump).unwrap();
    let header = &frame.header;
    assert_eq!((header.code, header.flag, header.opaque, header.version), (105, 0, 7, 479));
    assert_eq!((header.language.name(), frame.encoding), ("PYTHON", Encoding::Json));
    assert!(frame.field("topic").unwrap().is("T"));
    assert!(header.remark.is_none() && frame.field("Topic").is_none() && frame.body.is_empty());
}

// shows: RM-12, RM-14
#[test]
fn a_binary_frame_of_java_is_read() {
    let bytes =
        bytes("000000280100002200690301df000000070000000000000001720000000c0005746f70696300000001540102");
    let bump = Bump::new();
    let frame = only(&bytes, &bump).unwrap();
    let header = &frame.header;
    assert_eq!((header.code, header.flag, header.opaque, header.version), (105, 0, 7, 479));
    assert_eq!((header.language.name(), frame.encoding), ("PYTHON", Encoding::Binary));
    assert!(header.remark.unwrap().is("r"));
    assert_eq!(pairs(&frame), [("topic".to_owned(), "T".to_owned())]);
    assert_eq!(frame.body, [1, 2]);
}

#[test]
fn in_a_binary_header_large_codes_are_cut_and_empty_values_are_absent() {
    let bytes =
        bytes("00000028010000240d720000000000000200000000000000000000000f000161000000016200016500000000");
    let bump = Bump::new();
    let frame = only(&bytes, &bump).unwrap();
    assert_eq!((frame.header.code, frame.header.opaque), (3442, 2));
    assert_eq!(pairs(&frame), [("a".to_owned(), "b".to_owned())]);
}

#[test]
fn a_send_of_java_has_its_control_characters_back() {
    let (code, fields) = json(
        r#"{"code":310,"extFields":{"a":"PG","b":"T","c":"TBW102","d":"4","e":"0","f":"0","g":"1","h":"0","i":"k\u0001v\u0002","j":"0","k":"false","m":"false"},"flag":0,"language":"JAVA","opaque":0,"serializeTypeCurrentRPC":"JSON","version":0}"#,
    )
    .unwrap();
    assert_eq!((code, fields.len()), (310, 12));
    assert_eq!(fields[8], ("i".to_owned(), "k\u{1}v\u{2}".to_owned()));
}

#[test]
fn what_java_takes_is_taken() {
    let fields = |header: &str| json(header).unwrap().1;
    assert_eq!(json("{}").unwrap(), (0, vec![]));
    assert_eq!(json(" { \"code\" : \"34\" , \"code\":35 } ").unwrap().0, 35);
    assert!(fields(r#"{"extFields":null,"x":[[],{"a":-1.5e3}]}"#).is_empty());
    let odd =
        fields(r#"{"extFields":{"n":-7,"b":true,"z":null,"o":{"a":[1]},"e":"","\u0061":"\ud83d\ude00\/"}}"#);
    let odd: Vec<_> = odd.iter().map(|(key, value)| (key.as_str(), value.as_str())).collect();
    assert_eq!(odd, [("n", "-7"), ("b", "true"), ("o", r#"{"a":[1]}"#), ("e", ""), ("a", "😀/")]);
    assert_eq!(fields(r#"{"extFields":{"lone":"\ud83dx"}}"#)[0].1, "\u{FFFD}x");
}

#[test]
fn the_last_of_two_equal_fields_counts() {
    let mut bytes = Vec::new();
    let fields = [("k", Value::Int(1)), ("k", Value::Bool(true))];
    encode::head(&mut bytes, &head(Encoding::Json, None, &fields), 0);
    let bump = Bump::new();
    assert!(only(&bytes, &bump).unwrap().field("k").unwrap().bool());
}

#[test]
fn lengths_that_cannot_be_are_refused_before_the_rest_comes() {
    for (length, good) in
        [(-1, false), (i32::MIN, false), (0, false), (3, false), (4, true), (16 << 20, false)]
    {
        assert_eq!(frame_len(&i32::to_be_bytes(length), MAX).is_ok(), good, "{length}");
    }
    assert_eq!(frame_len(&[0, 0, 1], MAX), Ok(None));
}

fn head<'a>(encoding: Encoding, remark: Option<&'a str>, fields: encode::Fields<'a>) -> Head<'a> {
    Head { encoding, code: -12, opaque: i32::MIN, flag: 1, remark, fields }
}

proptest! {
    #[test]
    fn what_is_written_reads_back(
        binary: bool,
        remark in prop::option::of(".+"),
        fields in prop::collection::vec((".+", ".+"), 0..20),
        number: i64,
        body in prop::collection::vec(any::<u8>(), 0..100),
    ) {
        let encoding = if binary { Encoding::Binary } else { Encoding::Json };
        let mut values: Vec<_> = fields.iter().map(|(key, value)| (key.as_str(), Value::Text(value))).collect();
        values.push(("number", Value::Int(number)));
        let mut bytes = Vec::new();
        encode::head(&mut bytes, &head(encoding, remark.as_deref(), &values), body.len());
        bytes.extend_from_slice(&body);

        let bump = Bump::new();
        let frame = only(&bytes, &bump).unwrap();
        prop_assert_eq!((frame.header.code, frame.header.opaque, frame.header.flag), (-12, i32::MIN, 1));
        prop_assert_eq!((frame.header.version, frame.header.language.name()), (VERSION, "PYTHON"));
        prop_assert_eq!(frame.header.remark.map(|text| text.to_str().into_owned()), remark);
        prop_assert_eq!(frame.field("number").unwrap().int(), Some(number));
        let mut expected = fields;
        expected.push(("number".to_owned(), number.to_string()));
        prop_assert_eq!(pairs(&frame), expected);
        prop_assert_eq!(frame.body, &body[..]);
        for cut in 0..bytes.len() {
            prop_assert!(next_frame(&mut &bytes[..cut], MAX, &bump).unwrap().is_none());
        }
    }

    #[test]
    fn arbitrary_headers_never_panic(kind in 0_u8..3, header in prop::collection::vec(any::<u8>(), 0..200)) {
        let mut bytes = (header.len() as u32 + 4).to_be_bytes().to_vec();
        bytes.extend_from_slice(&(u32::from(kind) << 24 | header.len() as u32).to_be_bytes());
        bytes.extend_from_slice(&header);
        let _ = next_frame(&mut &bytes[..], MAX, &Bump::new());
    }

    #[test]
    fn arbitrary_json_never_panics(
        header in r#"\{("(code|flag|extFields|remark|x)" ?: ?([0-9]{1,12}|"(\\u[0-9a-f]{2,4}|\\.|é|[a-z])*"|\{"a":"b"\}|null|\[+\]*),?){0,4}\}"#,
    ) {
        let _ = json(&header);
    }
}
