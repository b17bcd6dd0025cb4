//! Any text is compiled or refused with a place inside it, and what is compiled judges any properties.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tailfin_engine::filter::SqlFilter;

fuzz_target!(|input: (&str, &[u8])| {
    let (expression, properties) = input;
    match SqlFilter::compile(expression) {
        Ok(filter) => {
            let result = filter.evaluate(properties);
            assert_eq!(filter.matches(properties), result == Ok(Some(true)));
            let unread = filter.unread().unwrap_or_default();
            assert!(expression.ends_with(unread));
            // The rest was not looked at, so it changes nothing.
            let read = &expression[..expression.len() - unread.len()];
            if unread.is_empty() || read.ends_with(char::is_whitespace) {
                assert_eq!(SqlFilter::compile(&format!("{read} ")).unwrap().evaluate(properties), result);
            }
        }
        Err(bad) => assert!((1..=expression.chars().count() + 1).contains(&bad.position)),
    }
});
