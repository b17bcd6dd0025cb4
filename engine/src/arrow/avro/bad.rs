//! What is wrong with a schema or a body, and in which field.

use std::borrow::Cow;
use std::fmt;

/// A reason, and the way to the field it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Innermost first.
    path: Vec<String>,
    what: Cow<'static, str>,
}

impl Bad {
    pub fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Self { path: Vec::new(), what: what.into() }
    }

    /// The same, seen from the record that has the field.
    #[must_use]
    pub fn within(mut self, field: &str) -> Self {
        self.path.push(field.to_owned());
        self
    }
}

impl fmt::Display for Bad {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.path.is_empty() {
            let path: Vec<&str> = self.path.iter().rev().map(String::as_str).collect();
            write!(out, "field {}: ", path.join("."))?;
        }
        out.write_str(&self.what)
    }
}

impl std::error::Error for Bad {}
