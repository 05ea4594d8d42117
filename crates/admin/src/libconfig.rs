//! Configuration files in ProxySQL's form, the syntax of libconfig: groups, lists, arrays and scalars. `@include` is refused.

use std::fmt::Write;

/// How deep groups and lists may be nested.
const DEPTH_MAX: usize = 32;

/// A value.
#[derive(Debug, Clone, PartialEq)]
pub enum ConfigValue {
    /// `true` or `false`.
    Bool(bool),
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// A text.
    Text(String),
    /// `( … )` or `[ … ]`.
    List(Vec<ConfigValue>),
    /// `{ … }`.
    Group(Vec<Setting>),
}

/// A name and its value.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// The name.
    pub name: String,
    /// Its value.
    pub value: ConfigValue,
}

/// Why a text is no configuration.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {what}")]
pub struct Wrong {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub what: &'static str,
}

/// Returns the settings of a text, in their order.
///
/// # Errors
/// The first place that is not understood.
pub fn parse(text: &str) -> Result<Vec<Setting>, Wrong> {
    let mut reader = ConfigReader { text: text.as_bytes(), at: 0 };
    let settings = reader.settings(None, 0)?;
    Ok(settings)
}

struct ConfigReader<'a> {
    text: &'a [u8],
    at: usize,
}

impl ConfigReader<'_> {
    fn wrong(&self, what: &'static str) -> Wrong {
        let before = &self.text[..self.at.min(self.text.len())];
        Wrong { line: 1 + before.iter().filter(|byte| **byte == b'\n').count(), what }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn takes(&mut self, what: &[u8]) -> bool {
        let is = self.text.get(self.at..).is_some_and(|rest| rest.starts_with(what));
        self.at += if is { what.len() } else { 0 };
        is
    }

    /// Passes blanks and comments over.
    fn skip(&mut self) -> Result<(), Wrong> {
        loop {
            while self.peek().is_some_and(|byte| byte.is_ascii_whitespace() || byte == 0x0b) {
                self.at += 1;
            }
            if self.takes(b"#") || self.takes(b"//") {
                while self.peek().is_some_and(|byte| byte != b'\n') {
                    self.at += 1;
                }
            } else if self.takes(b"/*") {
                let rest = &self.text[self.at..];
                let end = rest.windows(2).position(|window| window == b"*/");
                self.at += end.ok_or_else(|| self.wrong("a comment has no end"))? + 2;
            } else {
                return Ok(());
            }
        }
    }

    /// Reads settings up to `end`, or to the end of the text.
    fn settings(&mut self, end: Option<u8>, depth: usize) -> Result<Vec<Setting>, Wrong> {
        let mut settings = Vec::new();
        loop {
            self.skip()?;
            match (self.peek(), end) {
                (None, None) => return Ok(settings),
                (None, Some(_)) => return Err(self.wrong("a group has no end")),
                (found, _) if found == end => {
                    self.at += 1;
                    return Ok(settings);
                }
                _ => settings.push(self.setting(depth)?),
            }
        }
    }

    fn setting(&mut self, depth: usize) -> Result<Setting, Wrong> {
        let from = self.at;
        let begins = self.peek().is_some_and(|byte| byte.is_ascii_alphabetic() || byte == b'*');
        if !begins {
            return Err(self.wrong(match self.peek() {
                Some(b'@') => "@include is not supported",
                _ => "a name is expected here",
            }));
        }
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"-_*".contains(&byte)) {
            self.at += 1;
        }
        let name = String::from_utf8_lossy(&self.text[from..self.at]).into_owned();
        self.skip()?;
        if !self.takes(b"=") && !self.takes(b":") {
            return Err(self.wrong("'=' or ':' is expected behind a name"));
        }
        let value = self.value(depth)?;
        self.skip()?;
        // One of them may follow.
        let _ = self.takes(b";") || self.takes(b",");
        Ok(Setting { name, value })
    }

    fn value(&mut self, depth: usize) -> Result<ConfigValue, Wrong> {
        if depth > DEPTH_MAX {
            return Err(self.wrong("groups and lists stand too deep in one another"));
        }
        self.skip()?;
        match self.peek() {
            Some(b'{') => {
                self.at += 1;
                self.settings(Some(b'}'), depth + 1).map(ConfigValue::Group)
            }
            Some(b'(') => self.list(b')', depth + 1),
            Some(b'[') => self.list(b']', depth + 1),
            Some(b'"') => self.texts(),
            Some(_) => self.scalar(),
            None => Err(self.wrong("a value is expected here")),
        }
    }

    fn list(&mut self, end: u8, depth: usize) -> Result<ConfigValue, Wrong> {
        self.at += 1;
        let mut values = Vec::new();
        loop {
            self.skip()?;
            match self.peek() {
                None => return Err(self.wrong("a list has no end")),
                Some(byte) if byte == end => {
                    self.at += 1;
                    return Ok(ConfigValue::List(values));
                }
                Some(_) => values.push(self.value(depth)?),
            }
            self.skip()?;
            if !self.takes(b",") && self.peek() != Some(end) {
                return Err(self.wrong("',' is expected between the values of a list"));
            }
        }
    }

    /// Reads texts. Several in a row are one text.
    fn texts(&mut self) -> Result<ConfigValue, Wrong> {
        let mut bytes = Vec::new();
        while self.takes(b"\"") {
            self.text_into(&mut bytes)?;
            self.skip()?;
        }
        String::from_utf8(bytes).map(ConfigValue::Text).map_err(|_| self.wrong("a text is not in UTF-8"))
    }

    fn text_into(&mut self, bytes: &mut Vec<u8>) -> Result<(), Wrong> {
        loop {
            let byte = self.peek().ok_or_else(|| self.wrong("a text has no end"))?;
            self.at += 1;
            match byte {
                b'"' => return Ok(()),
                b'\\' => bytes.push(self.escaped()),
                _ => bytes.push(byte),
            }
        }
    }

    /// Returns the character for a backslash and what follows it. A backslash before any other character stands for itself.
    fn escaped(&mut self) -> u8 {
        const ESCAPES: [(u8, u8); 9] = [
            (b'"', b'"'),
            (b'\\', b'\\'),
            (b'a', 0x07),
            (b'b', 0x08),
            (b'f', 0x0c),
            (b'n', b'\n'),
            (b'r', b'\r'),
            (b't', b'\t'),
            (b'v', 0x0b),
        ];
        let next = self.peek();
        if let Some((_, byte)) = ESCAPES.iter().find(|(escape, _)| Some(*escape) == next) {
            self.at += 1;
            return *byte;
        }
        let digits = self.text.get(self.at + 1..self.at + 3).filter(|_| next == Some(b'x'));
        let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.filter(|digits| digits.bytes().all(|it| it.is_ascii_hexdigit())) {
            Some(digits) => {
                self.at += 3;
                u8::from_str_radix(digits, 16).unwrap_or(b'?')
            }
            None => b'\\',
        }
    }

    fn scalar(&mut self) -> Result<ConfigValue, Wrong> {
        let from = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_alphanumeric() || b"+-._".contains(&byte)) {
            self.at += 1;
        }
        let word = String::from_utf8_lossy(&self.text[from..self.at]).into_owned();
        let word = word.to_ascii_lowercase();
        let value = match word.as_str() {
            "true" => Some(ConfigValue::Bool(true)),
            "false" => Some(ConfigValue::Bool(false)),
            _ => number(&word),
        };
        value.ok_or_else(|| {
            self.at = from;
            self.wrong("a value is expected here: true, false, a number, a text in quotes, a group or a list")
        })
    }
}

/// Reads a number in lower case.
fn number(word: &str) -> Option<ConfigValue> {
    let whole = word.trim_end_matches('l');
    let whole = if word.len() - whole.len() <= 2 { whole } else { word };
    if let Some(digits) = whole.strip_prefix("0x") {
        // Sixteen digits are the bits of a signed number.
        return u64::from_str_radix(digits, 16).ok().map(|bits| ConfigValue::Integer(bits as i64));
    }
    if let Ok(number) = whole.parse() {
        return Some(ConfigValue::Integer(number));
    }
    let is_real = word.bytes().any(|byte| byte.is_ascii_digit()) && word.contains(['.', 'e']);
    word.parse().ok().filter(|_| is_real).filter(|real: &f64| real.is_finite()).map(ConfigValue::Real)
}

/// Returns settings as a text. Reading the text gives the same settings.
pub fn write(settings: &[Setting]) -> String {
    let mut text = String::new();
    for setting in settings {
        put_setting(&mut text, setting, 0);
    }
    text
}

fn put_setting(text: &mut String, Setting { name, value }: &Setting, depth: usize) {
    let _ = write!(text, "{:1$}{name} = ", "", depth * 4);
    put_value(text, value, depth);
    text.push_str(";\n");
}

fn put_value(text: &mut String, value: &ConfigValue, depth: usize) {
    match value {
        ConfigValue::Bool(is) => {
            let _ = write!(text, "{is}");
        }
        ConfigValue::Integer(number) => {
            let _ = write!(text, "{number}");
        }
        ConfigValue::Real(number) => {
            let _ = write!(text, "{number:?}");
        }
        ConfigValue::Text(it) => put_text(text, it),
        ConfigValue::List(values) => {
            text.push('(');
            for (at, value) in values.iter().enumerate() {
                let _ = write!(text, "{}\n{:2$}", if at == 0 { "" } else { "," }, "", (depth + 1) * 4);
                put_value(text, value, depth + 1);
            }
            text.push_str("\n)");
        }
        ConfigValue::Group(settings) => {
            text.push_str("{\n");
            settings.iter().for_each(|setting| put_setting(text, setting, depth + 1));
            let _ = write!(text, "{:1$}}}", "", depth * 4);
        }
    }
}

fn put_text(text: &mut String, it: &str) {
    text.push('"');
    for char in it.chars() {
        match char {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            char if (char as u32) < 0x20 => {
                let _ = write!(text, "\\x{:02x}", char as u32);
            }
            char => text.push(char),
        }
    }
    text.push('"');
}

#[cfg(test)]
mod tests;
