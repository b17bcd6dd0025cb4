//! The words of an expression. Read one by one: what follows a whole expression is never looked at.

use super::BadExpression;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Token<'a> {
    And,
    Between,
    Contains,
    EndsWith,
    False,
    In,
    Is,
    Not,
    Null,
    Or,
    StartsWith,
    True,
    Name(&'a str),
    Integer(&'a str),
    Float(&'a str),
    /// As written, with its quotes.
    Text(&'a str),
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Open,
    Close,
    Comma,
    Plus,
    Minus,
    End,
}

const KEYWORDS: [(&str, Token<'_>); 12] = [
    ("AND", Token::And),
    ("BETWEEN", Token::Between),
    ("CONTAINS", Token::Contains),
    ("ENDSWITH", Token::EndsWith),
    ("FALSE", Token::False),
    ("IN", Token::In),
    ("IS", Token::Is),
    ("NOT", Token::Not),
    ("NULL", Token::Null),
    ("OR", Token::Or),
    ("STARTSWITH", Token::StartsWith),
    ("TRUE", Token::True),
];

/// Longer ones first.
const SYMBOLS: [(&str, Token<'_>); 11] = [
    ("<>", Token::Unequal),
    ("<=", Token::LessOrEqual),
    (">=", Token::GreaterOrEqual),
    ("=", Token::Equal),
    ("<", Token::Less),
    (">", Token::Greater),
    ("(", Token::Open),
    (")", Token::Close),
    (",", Token::Comma),
    ("+", Token::Plus),
    ("-", Token::Minus),
];

#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token and where it begins, in bytes.
    pub fn next(&mut self) -> Result<(Token<'a>, usize), BadExpression> {
        self.skip_blanks();
        let start = self.at;
        let rest = &self.text[start..];
        let (token, len) = match rest.as_bytes().first() {
            None => (Token::End, 0),
            Some(b'\'') => self.text_literal(rest)?,
            Some(first) if is_name_start(*first) => {
                let len = run(rest.as_bytes(), is_name_byte);
                (word(&rest[..len]), len)
            }
            Some(_) => number(rest).or_else(|| symbol(rest)).ok_or_else(|| self.strange(rest))?,
        };
        self.at += len;
        Ok((token, start))
    }

    /// An error at a place given in bytes.
    pub fn bad(&self, at: usize, what: impl Into<String>) -> BadExpression {
        BadExpression { what: what.into(), position: self.text[..at].chars().count() + 1 }
    }

    fn skip_blanks(&mut self) {
        loop {
            let rest = &self.text.as_bytes()[self.at..];
            let skipped = match rest {
                [b' ' | b'\t' | b'\n' | b'\r' | b'\x0c', ..] => Some(1),
                // Without an end of its line it is no comment, but two signs.
                [b'-', b'-', ..] => memchr::memchr2(b'\n', b'\r', rest).map(|end| end + 1),
                [b'/', b'*', inside @ ..] => memchr::memmem::find(inside, b"*/").map(|end| end + 4),
                _ => None,
            };
            match skipped {
                Some(len) => self.at += len,
                None => return,
            }
        }
    }

    /// A quote inside is written twice. Where no closing quote follows, the last that could be one is.
    fn text_literal(&self, rest: &'a str) -> Result<(Token<'a>, usize), BadExpression> {
        let bytes = rest.as_bytes();
        let (mut at, mut closed) = (1, None);
        while let Some(found) = memchr::memchr(b'\'', &bytes[at..]) {
            let quote = at + found;
            closed = Some(quote + 1);
            if bytes.get(quote + 1) != Some(&b'\'') {
                break;
            }
            at = quote + 2;
        }
        let len = closed.ok_or_else(|| self.bad(self.at, "a text without a closing quote"))?;
        Ok((Token::Text(&rest[..len]), len))
    }

    fn strange(&self, rest: &str) -> BadExpression {
        if rest.starts_with("/*") {
            return self.bad(self.at, "a comment without an end");
        }
        let sign = rest.chars().next().unwrap_or_default();
        self.bad(self.at, format!("{sign:?} has no meaning here"))
    }
}

/// How the token is written, for errors.
pub fn shown(token: Token<'_>) -> String {
    let fixed = KEYWORDS.iter().chain(&SYMBOLS).find(|(_, known)| *known == token);
    match (token, fixed) {
        (Token::End, _) => "the end".into(),
        (_, Some((text, _))) => format!("\"{text}\""),
        (Token::Name(text) | Token::Integer(text) | Token::Float(text) | Token::Text(text), _) => {
            format!("{text:?}")
        }
        _ => "something else".into(),
    }
}

fn word(text: &str) -> Token<'_> {
    let keyword = KEYWORDS.iter().find(|(keyword, _)| keyword.eq_ignore_ascii_case(text));
    keyword.map_or(Token::Name(text), |(_, token)| *token)
}

fn symbol(rest: &str) -> Option<(Token<'_>, usize)> {
    SYMBOLS.iter().find(|(text, _)| rest.starts_with(text)).map(|(text, token)| (*token, text.len()))
}

/// The longest number that the text begins with.
fn number(rest: &str) -> Option<(Token<'_>, usize)> {
    let bytes = rest.as_bytes();
    let whole = run(bytes, |byte| byte.is_ascii_digit());
    let fraction = match bytes.get(whole) {
        Some(b'.') => Some(run(&bytes[whole + 1..], |byte| byte.is_ascii_digit())),
        _ => None,
    };
    let mantissa = match fraction {
        Some(digits) if whole + digits > 0 => whole + 1 + digits,
        _ => whole,
    };
    if mantissa == 0 {
        return None;
    }
    let len = mantissa + exponent(&bytes[mantissa..]);
    if len > whole {
        return Some((Token::Float(&rest[..len]), len));
    }
    let len = match bytes {
        [b'0', ..] => 1,
        _ if matches!(bytes.get(whole), Some(b'l' | b'L')) => whole + 1,
        _ => whole,
    };
    Some((Token::Integer(&rest[..len]), len))
}

fn exponent(bytes: &[u8]) -> usize {
    let sign = match bytes {
        [b'e' | b'E', b'+' | b'-', ..] => 2,
        [b'e' | b'E', ..] => 1,
        _ => return 0,
    };
    match run(&bytes[sign..], |byte| byte.is_ascii_digit()) {
        0 => 0,
        digits => sign + digits,
    }
}

fn run(bytes: &[u8], belongs: impl Fn(u8) -> bool) -> usize {
    bytes.iter().position(|byte| !belongs(*byte)).unwrap_or(bytes.len())
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$')
}

fn is_name_byte(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token<'_>> {
        let mut lexer = Lexer::new(text);
        let mut found = Vec::new();
        loop {
            match lexer.next() {
                Ok((Token::End, _)) | Err(_) => return found,
                Ok((token, _)) => found.push(token),
            }
        }
    }

    #[test]
    fn numbers_are_as_long_as_they_can_be() {
        use Token::{Float, Integer, Name};
        let table: [(&str, &[Token<'_>]); 12] = [
            ("12L", &[Integer("12L")]),
            ("0L", &[Integer("0"), Name("L")]),
            ("012", &[Integer("0"), Integer("12")]),
            ("012.5", &[Float("012.5")]),
            ("5.", &[Float("5.")]),
            (".5e-3x", &[Float(".5e-3"), Name("x")]),
            ("5.E10", &[Float("5.E10")]),
            ("1e", &[Integer("1"), Name("e")]),
            ("1.5.5", &[Float("1.5"), Float(".5")]),
            ("1.e+", &[Float("1."), Name("e"), Token::Plus]),
            ("00.1", &[Float("00.1")]),
            ("7E2L", &[Float("7E2"), Name("L")]),
        ];
        for (text, expected) in table {
            assert_eq!(tokens(text), expected, "{text}");
        }
    }

    #[test]
    fn quotes_inside_a_text_are_doubled_and_an_open_text_ends_at_the_last_quote_that_can_end_it() {
        assert_eq!(tokens("'it''s' ''"), [Token::Text("'it''s'"), Token::Text("''")]);
        assert_eq!(tokens("''''"), [Token::Text("''''")]);
        assert_eq!(tokens("'a''b"), [Token::Text("'a'")]);
        assert_eq!(tokens("'''"), [Token::Text("''")]);
    }

    #[test]
    fn comments_end_and_a_line_comment_needs_the_end_of_its_line() {
        assert_eq!(
            tokens("a/**/ -- x = 1\r\n b /* * / ** */c"),
            [Token::Name("a"), Token::Name("b"), Token::Name("c")]
        );
        assert_eq!(tokens("--1"), [Token::Minus, Token::Minus, Token::Integer("1")]);
        assert_eq!(tokens("a /*/"), [Token::Name("a")]);
    }

    #[test]
    fn keywords_ignore_case_and_names_do_not() {
        assert_eq!(
            tokens("bEtWeEn between$ TAGS"),
            [Token::Between, Token::Name("between$"), Token::Name("TAGS")]
        );
    }

    #[test]
    fn an_error_is_placed_in_characters() {
        let mut lexer = Lexer::new("'äöü' #");
        assert_eq!(lexer.next().unwrap().0, Token::Text("'äöü'"));
        assert_eq!(lexer.next().unwrap_err().position, 7);
    }
}
