//! Definitions of a table that keep its rows and values, except in columns that come, go or change.
//!
//! A holder of copies of rows can keep them across such a definition: it reads the later row images with the new columns. A text is read
//! to its end or not at all: a definition with anything that is not known here is not told.

use crate::cursor::Cursor;
use crate::token::{Token, TokenKind};

/// What a definition does to the columns of a table. All rows stay, and so does each value of a column that is not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alteration {
    steps: Vec<ColumnChange>,
}

/// A column of the table after the definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AlteredColumn {
    /// Its name, lower case.
    pub name: String,
    /// The place that the column had before, if nothing of it has changed.
    pub from: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ColumnChange {
    Add { name: String, place: ColumnPlace, unless_there: bool },
    Drop { name: String, if_there: bool },
    Change { name: String, to: String, place: ColumnPlace, if_there: bool },
}

/// The place of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
enum ColumnPlace {
    First,
    After(String),
    /// No place is given: a new column becomes the last, and an existing column keeps its place.
    Unsaid,
}

/// The most columns that one definition may name.
const STEPS_MAX: usize = 4096;

impl ColumnChange {
    /// Returns the names that the definition gives or takes.
    fn names(&self) -> Vec<&str> {
        match self {
            Self::Add { name, .. } | Self::Drop { name, .. } => vec![name],
            Self::Change { name, to, .. } if name == to => vec![name],
            Self::Change { name, to, .. } => vec![name, to],
        }
    }
}

impl Alteration {
    /// Whether a column of this name, in lower case, goes or changes.
    #[must_use]
    pub fn touches(&self, column: &str) -> bool {
        self.steps.iter().any(|step| match step {
            ColumnChange::Drop { name, .. } | ColumnChange::Change { name, .. } => name == column,
            ColumnChange::Add { .. } => false,
        })
    }

    /// Returns the columns after the definition, in the order of the row images. `None` if they cannot be told. `names` are the columns
    /// before.
    ///
    /// The order is that of the servers: first columns go, or change in place; then the others are put in their places in the order of
    /// the text.
    #[must_use]
    pub fn apply(&self, before: &[&str]) -> Option<Vec<AlteredColumn>> {
        let mut named: Vec<&str> = self.steps.iter().flat_map(ColumnChange::names).collect();
        named.sort_unstable();
        if named.windows(2).any(|two| two[0] == two[1]) {
            return None;
        }
        let is_there = |name: &str| before.contains(&name);
        let column = |(at, name): (usize, &&str)| AlteredColumn { name: (*name).to_owned(), from: Some(at) };
        let mut columns: Vec<AlteredColumn> = before.iter().enumerate().map(column).collect();
        for step in &self.steps {
            match step {
                ColumnChange::Drop { name, if_there } | ColumnChange::Change { name, if_there, .. }
                    if !is_there(name) =>
                {
                    if_there.then_some(())?;
                }
                ColumnChange::Drop { name, .. } => columns.retain(|column| column.name != *name),
                ColumnChange::Change { name, to, place: ColumnPlace::Unsaid, .. } => {
                    let changed = AlteredColumn { name: to.clone(), from: None };
                    *columns.iter_mut().find(|column| column.name == *name)? = changed;
                }
                ColumnChange::Change { name, .. } => columns.retain(|column| column.name != *name),
                ColumnChange::Add { .. } => {}
            }
        }
        for step in &self.steps {
            match step {
                ColumnChange::Add { name, unless_there: true, .. } if is_there(name) => {}
                ColumnChange::Add { name, place, .. } => put(&mut columns, name, place)?,
                ColumnChange::Change { place: ColumnPlace::Unsaid, .. } => {}
                ColumnChange::Change { name, to, place, .. } if is_there(name) => {
                    put(&mut columns, to, place)?;
                }
                _ => {}
            }
        }
        let mut names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
        names.sort_unstable();
        names.windows(2).all(|two| two[0] != two[1]).then_some(columns)
    }
}

fn put(columns: &mut Vec<AlteredColumn>, name: &str, place: &ColumnPlace) -> Option<()> {
    let at = match place {
        ColumnPlace::First => 0,
        ColumnPlace::After(other) => columns.iter().position(|column| column.name == *other)? + 1,
        ColumnPlace::Unsaid => columns.len(),
    };
    columns.insert(at, AlteredColumn { name: name.to_owned(), from: None });
    Some(())
}

/// Returns what a defining statement does; `cursor` stands at its first word. `None` if that is not known in full.
pub(crate) fn alteration(mut cursor: Cursor<'_>) -> Option<Alteration> {
    // A server may read the contents of such a comment or not.
    if cursor.text.windows(3).any(|part| part == b"/*!" || part == b"/*M") {
        return None;
    }
    if cursor.any(&["ANALYZE", "OPTIMIZE"]) {
        return Some(Alteration::default());
    }
    if cursor.word("CREATE") {
        cursor.words(&["OR", "REPLACE"]);
        cursor.any(&["ONLINE", "OFFLINE"]);
        cursor.any(&["UNIQUE", "FULLTEXT", "SPATIAL", "VECTOR"]);
        return cursor.word("INDEX").then(Alteration::default);
    }
    if cursor.word("DROP") {
        cursor.any(&["ONLINE", "OFFLINE"]);
        cursor.word("INDEX").then_some(())?;
        cursor.skip_if_exists();
        return (!is_primary(&cursor.identifier()?)).then(Alteration::default);
    }
    cursor.word("ALTER").then_some(())?;
    cursor.any(&["ONLINE", "OFFLINE"]);
    cursor.word("TABLE").then_some(())?;
    cursor.skip_if_exists();
    cursor.table_name()?;
    crate::ddl::skip_wait(&mut cursor);
    let mut steps = Vec::new();
    while !cursor.at_end() {
        action(&mut cursor, &mut steps)?;
        cursor.punct(b',');
        if steps.len() > STEPS_MAX {
            return None;
        }
    }
    Some(Alteration { steps })
}

fn is_primary(name: &str) -> bool {
    name.eq_ignore_ascii_case("PRIMARY")
}

/// Reads one of the actions of ALTER TABLE.
fn action(cursor: &mut Cursor<'_>, steps: &mut Vec<ColumnChange>) -> Option<()> {
    const OPTIONS: &[&str] = &[
        "ALGORITHM",
        "AUTO_INCREMENT",
        "AVG_ROW_LENGTH",
        "COMMENT",
        "KEY_BLOCK_SIZE",
        "LOCK",
        "MAX_ROWS",
        "MIN_ROWS",
        "ROW_FORMAT",
        "STATS_AUTO_RECALC",
        "STATS_PERSISTENT",
        "STATS_SAMPLE_PAGES",
    ];
    if cursor.word("ADD") {
        return add(cursor, steps);
    } else if cursor.word("DROP") {
        return drop(cursor, steps);
    } else if cursor.any(&["MODIFY", "CHANGE"]) {
        return change(cursor, steps);
    } else if cursor.word("RENAME") {
        return rename(cursor, steps);
    } else if cursor.word("ALTER") {
        return alter(cursor, steps);
    } else if cursor.word("FORCE") {
        return Some(());
    } else if cursor.word("ENGINE") {
        cursor.punct(b'=');
        return cursor.word("INNODB").then_some(());
    }
    cursor.any(OPTIONS).then_some(())?;
    cursor.punct(b'=');
    let value = cursor.next()?;
    matches!(value.kind, TokenKind::Word | TokenKind::Str | TokenKind::Int).then_some(())
}

/// Reads what follows ADD: an index, or columns.
fn add(cursor: &mut Cursor<'_>, steps: &mut Vec<ColumnChange>) -> Option<()> {
    const OTHERS: &[&str] = &["CHECK", "CONSTRAINT", "FOREIGN", "PARTITION", "PERIOD", "PRIMARY", "SYSTEM"];
    let is_vector =
        cursor.at_word("VECTOR") && ["INDEX", "KEY"].iter().any(|word| cursor.at_word_ahead(1, word));
    if is_vector || cursor.at_any(&["FULLTEXT", "INDEX", "KEY", "SPATIAL", "UNIQUE"]) {
        return skip(cursor, &[]);
    }
    if !cursor.word("COLUMN") && cursor.at_any(OTHERS) {
        return None;
    }
    let unless_there = cursor.words(&["IF", "NOT", "EXISTS"]);
    if cursor.punct(b'(') {
        loop {
            let name = column(cursor)?;
            declared(cursor)?;
            steps.push(ColumnChange::Add { name, place: ColumnPlace::Unsaid, unless_there });
            if !cursor.punct(b',') {
                return cursor.punct(b')').then_some(());
            }
        }
    }
    let name = column(cursor)?;
    declared(cursor)?;
    let place = place(cursor)?;
    steps.push(ColumnChange::Add { name, place, unless_there });
    Some(())
}

/// Reads what follows DROP: an index, or a column.
fn drop(cursor: &mut Cursor<'_>, steps: &mut Vec<ColumnChange>) -> Option<()> {
    if cursor.any(&["INDEX", "KEY"]) {
        cursor.skip_if_exists();
        return (!is_primary(&cursor.identifier()?)).then_some(());
    }
    const OTHERS: &[&str] = &["CHECK", "CONSTRAINT", "FOREIGN", "PARTITION", "PERIOD", "PRIMARY", "SYSTEM"];
    if !cursor.word("COLUMN") && cursor.at_any(OTHERS) {
        return None;
    }
    let if_there = cursor.words(&["IF", "EXISTS"]);
    let name = column(cursor)?;
    cursor.any(&["CASCADE", "RESTRICT"]);
    steps.push(ColumnChange::Drop { name, if_there });
    is_over(cursor)
}

/// Reads what follows MODIFY or CHANGE. With CHANGE there are two names.
fn change(cursor: &mut Cursor<'_>, steps: &mut Vec<ColumnChange>) -> Option<()> {
    let has_two = cursor.previous()?.is_word(cursor.text, "CHANGE");
    cursor.word("COLUMN");
    let if_there = cursor.words(&["IF", "EXISTS"]);
    let name = column(cursor)?;
    let to = if has_two { column(cursor)? } else { name.clone() };
    declared(cursor)?;
    let place = place(cursor)?;
    steps.push(ColumnChange::Change { name, to, place, if_there });
    Some(())
}

/// Reads what follows RENAME: an index, or a column. A table with another name is another table.
fn rename(cursor: &mut Cursor<'_>, steps: &mut Vec<ColumnChange>) -> Option<()> {
    let is_column = cursor.word("COLUMN");
    (is_column || cursor.any(&["INDEX", "KEY"])).then_some(())?;
    let if_there = cursor.words(&["IF", "EXISTS"]);
    let name = column(cursor)?;
    cursor.word("TO").then_some(())?;
    let to = column(cursor)?;
    if is_column {
        steps.push(ColumnChange::Change { name, to, place: ColumnPlace::Unsaid, if_there });
    }
    is_over(cursor)
}

/// Reads what follows ALTER: whether an index is used, or the default of a column.
fn alter(cursor: &mut Cursor<'_>, steps: &mut Vec<ColumnChange>) -> Option<()> {
    if cursor.any(&["INDEX", "KEY"]) {
        return skip(cursor, &[]);
    }
    if !cursor.word("COLUMN") && cursor.at_any(&["CHECK", "CONSTRAINT"]) {
        return None;
    }
    let if_there = cursor.words(&["IF", "EXISTS"]);
    let name = column(cursor)?;
    cursor.at_any(&["DROP", "SET"]).then_some(())?;
    steps.push(ColumnChange::Change { to: name.clone(), name, place: ColumnPlace::Unsaid, if_there });
    skip(cursor, &[])
}

fn column(cursor: &mut Cursor<'_>) -> Option<String> {
    Some(cursor.identifier()?.to_ascii_lowercase())
}

/// Moves behind the declaration of a column, if it concerns this column alone.
fn declared(cursor: &mut Cursor<'_>) -> Option<()> {
    const MORE: &[&str] = &[
        "AS",
        "AUTO_INCREMENT",
        "GENERATED",
        "KEY",
        "PARTITION",
        "PERIOD",
        "PRIMARY",
        "REFERENCES",
        "REMOVE",
        "ROW",
        "SERIAL",
        "SYSTEM",
        "UNIQUE",
    ];
    skip(cursor, MORE)
}

/// Moves to the next comma, the place of a column, the closing parenthesis, or the end; `None` if one of the refused words comes before
/// that.
fn skip(cursor: &mut Cursor<'_>, refused: &[&str]) -> Option<()> {
    let begun = cursor.rest().len();
    while let Some(token) = cursor.peek() {
        if token.is(b',') || token.is(b')') || cursor.at_any(&["AFTER", "FIRST"]) {
            break;
        }
        if cursor.at_any(refused) || token.kind == TokenKind::Unknown {
            return None;
        }
        cursor.next();
        if token.is(b'(') {
            cursor.close();
        }
    }
    (cursor.rest().len() < begun).then_some(())
}

/// Reads where a column is put. The last place that is given counts.
fn place(cursor: &mut Cursor<'_>) -> Option<ColumnPlace> {
    let place = if cursor.word("FIRST") {
        ColumnPlace::First
    } else if cursor.word("AFTER") {
        ColumnPlace::After(column(cursor)?)
    } else {
        ColumnPlace::Unsaid
    };
    is_over(cursor)?;
    Some(place)
}

fn is_over(cursor: &Cursor<'_>) -> Option<()> {
    cursor.peek().is_none_or(|token: Token| token.is(b',')).then_some(())
}

#[cfg(test)]
mod tests;
