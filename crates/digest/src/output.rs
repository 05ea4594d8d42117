//! A digest text as it is written: the state of its end, and the lists that are cut short.

use crate::options::Options;

/// The end of the text, as far as blanks and signs depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Nothing, or something that a value may follow: a sign here belongs to a value.
    Open,
    /// A value or something in its place: a name, a `?`, a closing parenthesis.
    Operand,
    /// A word of the language, which a value follows.
    Keyword,
}

/// Lists and rows: the repeated parts, and where they are cut.
#[derive(Debug, Default)]
struct Repeats {
    /// How many have come in a row.
    count: usize,
    /// Where the last one ended.
    end: usize,
    /// Where the last one that stays ended.
    kept: usize,
}

impl Repeats {
    /// Notes one more item that begins at `start` and is the end of `text`. From the second above the limit on, items become `...`.
    fn put(&mut self, text: &mut Vec<u8>, start: usize, limit: usize) {
        let is_next = self.count > 0 && start == self.end + 1 && text.get(self.end) == Some(&b',');
        self.count = if is_next { self.count + 1 } else { 1 };
        if self.count == limit {
            self.kept = text.len();
        }
        if limit > 0 && self.count >= limit + 2 {
            text.truncate(self.kept);
            text.extend_from_slice(b",...");
        }
        self.end = text.len();
    }
}

/// The text that is being written.
#[derive(Debug)]
pub struct Output<'a> {
    text: &'a mut Vec<u8>,
    /// The length of the text before it.
    start: usize,
    options: &'a Options,
    end: End,
    /// A blank has been passed.
    blank: bool,
    values: Repeats,
    rows: Repeats,
    /// Where the innermost parenthesis without another one in it opened.
    opened: Option<usize>,
    /// Where the last such parenthesis opened, after the first of equal rows.
    row: Option<(usize, usize)>,
}

impl<'a> Output<'a> {
    pub fn new(text: &'a mut Vec<u8>, options: &'a Options) -> Self {
        let start = text.len();
        Self {
            text,
            start,
            options,
            end: End::Open,
            blank: false,
            values: Repeats::default(),
            rows: Repeats::default(),
            opened: None,
            row: None,
        }
    }

    pub const fn end(&self) -> End {
        self.end
    }

    /// Whether no more of the text is kept.
    pub fn is_full(&self) -> bool {
        self.text.len() - self.start > self.options.digest_length_max
    }

    pub const fn put_blank(&mut self) {
        self.blank = true;
    }

    /// Writes the blank that is due.
    fn write_blank(&mut self) {
        if std::mem::take(&mut self.blank)
            && self.text.len() > self.start
            && !matches!(self.text.last(), Some(b'(' | b','))
        {
            self.text.push(b' ');
        }
    }

    /// Writes a piece of the statement unchanged.
    pub fn put(&mut self, piece: &[u8], end: End) {
        self.write_blank();
        let from = self.text.len();
        self.text.extend_from_slice(piece);
        if self.options.lowercase
            && let Some(piece) = self.text.get_mut(from..)
        {
            piece.make_ascii_lowercase();
        }
        self.end = end;
    }

    /// Writes a name or a word; its digits become `?` if the options say so.
    pub fn put_word(&mut self, word: &[u8], end: End) {
        if !self.options.no_digits {
            return self.put(word, end);
        }
        for run in word.chunk_by(|one, two| one.is_ascii_digit() == two.is_ascii_digit()) {
            let is_digits = run.first().is_some_and(u8::is_ascii_digit);
            self.put(if is_digits { b"?" } else { run }, end);
        }
    }

    /// Writes a value.
    pub fn put_value(&mut self) {
        self.write_blank();
        let start = self.text.len();
        self.text.push(b'?');
        self.values.put(self.text, start, self.options.grouping_limit);
        self.end = End::Operand;
    }

    pub fn open(&mut self) {
        self.put(b"(", End::Open);
        self.opened = Some(self.text.len() - 1);
    }

    /// Closes a parenthesis. If its content is the same as that of the one before, both are rows of one list.
    pub fn close(&mut self) {
        self.blank = false;
        self.text.push(b')');
        self.end = End::Operand;
        let Some(start) = self.opened.take() else { return };
        let is_same = self.row.is_some_and(|(from, to)| {
            self.text.get(from..to) == self.text.get(start..) && self.rows.end + 1 == start
        });
        if !is_same {
            self.rows.count = 0;
        }
        let row = (start, self.text.len());
        self.rows.put(self.text, start, self.options.groups_grouping_limit);
        if self.rows.count == 1 {
            self.row = Some(row);
        }
    }

    pub fn comma(&mut self) {
        self.blank = false;
        self.text.push(b',');
        self.end = End::Open;
    }

    /// Writes a piece without blanks on either side.
    pub fn put_tight(&mut self, byte: u8) {
        self.blank = false;
        self.text.push(byte);
        self.end = End::Open;
    }

    /// Removes what does not belong to the end, and what is too long.
    pub fn finish(self) {
        let length = self.text.len() - self.start;
        self.text.truncate(self.start + length.min(self.options.digest_length_max));
        while self.text.len() > self.start && matches!(self.text.last(), Some(b' ' | b';')) {
            self.text.pop();
        }
    }
}
