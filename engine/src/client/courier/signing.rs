//! Signatures of requests, as RocketMQ's access control asks for them.

use ring::hmac;

use super::config::Keys;
use crate::net::encode::Fields;
use crate::net::text::Value;

pub struct Signer {
    access_key: String,
    token: Option<String>,
    key: hmac::Key,
}

impl Signer {
    pub fn new(keys: &Keys) -> Self {
        let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, keys.secret_key.as_bytes());
        let token = keys.security_token.clone().filter(|token| !token.is_empty());
        Self { access_key: keys.access_key.clone(), token, key }
    }

    /// Let `with` see the fields with those of the signature behind them.
    pub fn sign<T>(&self, fields: Fields<'_>, body: &[u8], with: impl FnOnce(Fields<'_>) -> T) -> T {
        let mut all = Vec::with_capacity(fields.len() + 3);
        all.extend_from_slice(fields);
        all.push(("AccessKey", Value::Text(&self.access_key)));
        if let Some(token) = &self.token {
            all.push(("SecurityToken", Value::Text(token)));
        }
        let signature = self.signature(&all, body);
        all.push(("Signature", Value::Text(&signature)));
        with(&all)
    }

    /// Over the values, by the order of their keys, and the body.
    fn signature(&self, fields: Fields<'_>, body: &[u8]) -> String {
        let mut sorted: Vec<_> = fields.iter().collect();
        sorted.sort_by_key(|(key, _)| *key);
        let mut context = hmac::Context::with_key(&self.key);
        for (_, value) in sorted {
            match value {
                Value::Text(text) => context.update(text.as_bytes()),
                Value::Int(number) => context.update(itoa::Buffer::new().format(*number).as_bytes()),
                Value::Bool(value) => context.update(if *value { b"true" } else { b"false" }),
            }
        }
        context.update(body);
        base64(context.sign().as_ref())
    }
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let word =
            chunk.iter().fold(0_u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            let value = (word >> (18 - 6 * digit)) & 63;
            text.push(if digit <= chunk.len() { char::from(DIGITS[value as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_has_the_published_values() {
        let cases = [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")];
        for (text, expected) in cases {
            assert_eq!(base64(text.as_bytes()), expected);
        }
    }

    #[test]
    fn a_signature_covers_the_sorted_values_and_the_body() {
        let keys = Keys { access_key: "ak".into(), secret_key: "sk".into(), security_token: None };
        let signer = Signer::new(&keys);
        let sign = |fields: Fields<'_>| {
            signer.sign(fields, b"body", |all| match all.last() {
                Some(("Signature", Value::Text(text))) => (*text).to_owned(),
                other => panic!("{other:?}"),
            })
        };
        let one = sign(&[("topic", "T".into()), ("queueId", 7.into())]);
        // What Python's hmac gives for "ak" "7" "T" "body".
        assert_eq!(one, "NFn9qwiSuTYyNaXV3p5Lk/Yh5QI=");
        assert_eq!(one, sign(&[("queueId", 7.into()), ("topic", "T".into())]));
        assert_ne!(one, sign(&[("queueId", 8.into()), ("topic", "T".into())]));
    }
}
