//! The command line: words, `--name value`, and switches.

use std::collections::HashMap;
use std::path::PathBuf;
use std::str::FromStr;

use crate::Outcome;

/// `--bench` is cargo's own, when it starts the program.
const SWITCHES: [&str; 2] = ["hang", "bench"];

pub struct Args {
    words: Vec<String>,
    options: HashMap<String, String>,
}

impl Args {
    pub fn from_command_line() -> Outcome<Self> {
        let mut given = std::env::args().skip(1);
        let mut args = Self { words: Vec::new(), options: HashMap::new() };
        while let Some(arg) = given.next() {
            let Some(name) = arg.strip_prefix("--") else {
                args.words.push(arg);
                continue;
            };
            let value = if SWITCHES.contains(&name) {
                String::new()
            } else {
                given.next().ok_or_else(|| format!("--{name} needs a value"))?
            };
            args.options.insert(name.to_owned(), value);
        }
        Ok(args)
    }

    pub fn word(&self, index: usize) -> Option<&str> {
        self.words.get(index).map(String::as_str)
    }

    pub fn path(&self, index: usize) -> Outcome<PathBuf> {
        Ok(self.word(index).ok_or("usage: store CASE DIR [--option value ...]")?.into())
    }

    pub fn has(&self, name: &str) -> bool {
        self.options.contains_key(name)
    }

    pub fn number<T: FromStr>(&self, name: &str, otherwise: T) -> Outcome<T> {
        match self.options.get(name) {
            None => Ok(otherwise),
            Some(text) => text
                .replace('_', "")
                .parse()
                .map_err(|_| format!("--{name}: {text:?} is no such number").into()),
        }
    }
}
