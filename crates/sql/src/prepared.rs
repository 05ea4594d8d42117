//! Statements that prepare a text: PREPARE, EXECUTE and MariaDB's EXECUTE IMMEDIATE.

use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::statement::Statement;
use crate::string::unquote_bytes;
use crate::token::TokenKind;
use crate::user_variables::user_variable;

/// What a text does with a statement that is prepared from a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TextPrepared {
    /// PREPARE name FROM 'text'.
    Prepare {
        /// The statement's name, in lower case: names are compared without case.
        name: String,
        /// Its text; None where it is not a literal.
        text: Option<Vec<u8>>,
        /// The user variable that holds its text, in lower case, if it is given so.
        variable: Option<String>,
    },
    /// EXECUTE name, with or without values.
    Execute {
        /// The statement's name, in lower case.
        name: String,
        /// The values for its markers.
        using: Using,
    },
    /// EXECUTE IMMEDIATE 'text', with or without values.
    Immediate {
        /// The statement's text.
        text: Vec<u8>,
        /// The values for its markers.
        using: Using,
    },
    /// DEALLOCATE PREPARE name, or DROP PREPARE name.
    Deallocate {
        /// The statement's name, in lower case.
        name: String,
    },
}

/// The values that EXECUTE gives to the markers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Using {
    /// Nothing.
    Nothing,
    /// One number.
    Number(u64),
    /// One user variable, as it is written, with its `@`.
    Variable(String),
    /// Several user variables, by their names in lower case.
    Variables(Vec<String>),
    /// Anything else.
    Other,
}

/// Reads a text that is one such statement; None for any other, and where it cannot be told.
pub fn text_prepared(text: &[u8], modes: Modes) -> Option<TextPrepared> {
    if modes.other_syntax {
        return None;
    }
    let mut lexer = Lexer::new(text, modes);
    let starts = |word| lexer.clone().next().is_some_and(|token| token.is_word(text, word));
    if !["PREPARE", "EXECUTE", "DEALLOCATE", "DROP"].into_iter().any(starts) {
        return None;
    }
    let statement = Statement::next(&mut lexer, text, modes)?;
    let is_alone = lexer.all(|token| token.is(b';')) && !statement.cut_short && !statement.facts.lost;
    // A value may be an expression.
    (is_alone && statement.calls.is_nothing()).then_some(())?;
    let mut cursor = statement.cursor();
    if cursor.word("PREPARE") {
        let name = name(&mut cursor)?;
        cursor.word("FROM").then_some(())?;
        let mut given = cursor;
        let text = literal(&mut cursor).filter(|_| cursor.at_end());
        let variable = user_variable(&mut given).filter(|_| given.at_end());
        return Some(TextPrepared::Prepare { name, text, variable });
    }
    if cursor.words(&["DEALLOCATE", "PREPARE"]) || cursor.words(&["DROP", "PREPARE"]) {
        let name = name(&mut cursor)?;
        return cursor.at_end().then_some(TextPrepared::Deallocate { name });
    }
    cursor.word("EXECUTE").then_some(())?;
    let is_literal = cursor.peek_at(1).is_some_and(|token| token.kind == TokenKind::Str);
    if is_literal && cursor.word("IMMEDIATE") {
        let text = literal(&mut cursor)?;
        return Some(TextPrepared::Immediate { text, using: using(cursor)? });
    }
    let name = name(&mut cursor)?;
    Some(TextPrepared::Execute { name, using: using(cursor)? })
}

fn name(cursor: &mut Cursor<'_>) -> Option<String> {
    cursor.identifier().map(|name| name.to_ascii_lowercase())
}

/// Reads [USING …], to the end.
fn using(mut cursor: Cursor<'_>) -> Option<Using> {
    if cursor.at_end() {
        return Some(Using::Nothing);
    }
    cursor.word("USING").then_some(())?;
    let given = cursor.rest_text();
    let is_variable = match cursor.rest() {
        [number] if number.kind == TokenKind::Int => {
            let digits = std::str::from_utf8(given).ok().and_then(|digits| digits.parse().ok());
            return Some(digits.map_or(Using::Other, Using::Number));
        }
        [at, name] => {
            at.kind == TokenKind::At
                && (name.is_name() || name.kind == TokenKind::Str)
                && name.start == at.end
        }
        _ => false,
    };
    let text = std::str::from_utf8(given).ok().filter(|_| is_variable);
    let several = || variables(cursor).map_or(Using::Other, Using::Variables);
    Some(text.map_or_else(several, |text| Using::Variable(text.to_owned())))
}

/// Reads `@a, @b`, to the end.
fn variables(mut cursor: Cursor<'_>) -> Option<Vec<String>> {
    let mut names = Vec::new();
    loop {
        names.push(user_variable(&mut cursor)?);
        if cursor.at_end() {
            return Some(names);
        }
        cursor.punct(b',').then_some(())?;
    }
}

impl Using {
    /// Returns the names of the user variables of which the text is a list, in lower case; `None` if it is anything else, or if it is not
    /// known here how the server compares the names.
    #[must_use]
    pub fn variables(&self) -> Option<Vec<String>> {
        match self {
            Self::Nothing => Some(Vec::new()),
            Self::Variables(names) => Some(names.clone()),
            Self::Variable(written) => {
                let name = written.strip_prefix('@')?;
                let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$';
                (!name.is_empty() && name.bytes().all(is_plain)).then(|| vec![name.to_ascii_lowercase()])
            }
            Self::Number(_) | Self::Other => None,
        }
    }
}

/// Returns how many markers `text` has; `None` if it cannot be cut into tokens.
#[must_use]
pub fn markers(text: &[u8], modes: Modes) -> Option<usize> {
    let mut count = 0;
    for token in Lexer::new(text, modes) {
        match token.kind {
            TokenKind::Unknown => return None,
            TokenKind::Param => count += 1,
            _ => {}
        }
    }
    Some(count)
}

/// Returns `text` with these values in the places of its markers; `None` if the numbers differ, or if the text cannot be cut into tokens.
#[must_use]
pub fn with_values(text: &[u8], values: &[Vec<u8>], modes: Modes) -> Option<Vec<u8>> {
    let (mut filled, mut behind, mut values) = (Vec::new(), 0, values.iter());
    for token in Lexer::new(text, modes) {
        match token.kind {
            TokenKind::Unknown => return None,
            TokenKind::Param => {
                filled.extend_from_slice(text.get(behind..token.start)?);
                filled.extend_from_slice(values.next()?);
                behind = token.end;
            }
            _ => {}
        }
    }
    filled.extend_from_slice(text.get(behind..)?);
    values.next().is_none().then_some(filled)
}

/// Reads a string by itself. The servers turn it into UTF-8, and read that in the client's character set again.
fn literal(cursor: &mut Cursor<'_>) -> Option<Vec<u8>> {
    let token = cursor.next().filter(|token| token.kind == TokenKind::Str)?;
    let content = unquote_bytes(cursor.bytes(token), cursor.modes)?;
    (content.is_ascii() || cursor.modes.multi_byte.is_none()).then_some(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::Flavor;

    fn read(text: &str) -> Option<TextPrepared> {
        text_prepared(text.as_bytes(), Modes::new(Flavor::MariaDb))
    }

    #[test]
    fn a_literal_is_read_and_nothing_else() {
        let prepare = |text: Option<&str>| {
            let text = text.map(|text| text.as_bytes().to_vec());
            Some(TextPrepared::Prepare { name: "s".into(), text, variable: None })
        };
        assert_eq!(read("PREPARE S FROM 'SELECT ''a'''"), prepare(Some("SELECT 'a'")));
        assert_eq!(read("PREPARE s FROM \"SELECT 1\";"), prepare(Some("SELECT 1")));
        for other in ["@t", "'a' 'b'", "CONCAT('a', 'b')", "'a' || 'b'", "_utf8'a'"] {
            assert!(matches!(
                read(&format!("PREPARE s FROM {other}")),
                None | Some(TextPrepared::Prepare { text: None, .. })
            ));
        }
        let execute = |using| Some(TextPrepared::Execute { name: "s".into(), using });
        assert_eq!(read("EXECUTE s"), execute(Using::Nothing));
        let several = Using::Variables(vec!["a".into(), "b".into()]);
        assert_eq!(read("EXECUTE `S` USING @a, @B"), execute(several));
        assert_eq!(read("EXECUTE s USING @a, 1"), execute(Using::Other));
        let deallocate = Some(TextPrepared::Deallocate { name: "s".into() });
        assert_eq!(read("deallocate prepare S"), deallocate);
        assert_eq!(read("DROP PREPARE s;"), deallocate);
        assert_eq!(read("DROP TABLE s"), None);
        assert_eq!(markers(b"SELECT ? + '?' /* ? */", Modes::new(Flavor::MySql)), Some(1));
        assert_eq!(read("EXECUTE s USING 3000000000"), execute(Using::Number(3_000_000_000)));
        assert_eq!(read("EXECUTE s USING @`an id`"), execute(Using::Variable("@`an id`".into())));
        assert_eq!(read("EXECUTE s USING @@a"), execute(Using::Other));
        assert_eq!(read("EXECUTE s USING f(1)"), None, "it runs a function");
        let immediate = TextPrepared::Immediate { text: b"DELETE FROM t".to_vec(), using: Using::Nothing };
        assert_eq!(read("EXECUTE IMMEDIATE 'DELETE FROM t'"), Some(immediate));
        assert!(read("EXECUTE IMMEDIATE 'DELETE FROM t WHERE a = ?' USING 1").is_some());
        for other in [
            "EXECUTE IMMEDIATE @t",
            "EXECUTE IMMEDIATE 'a' 'b'",
            "EXECUTE IMMEDIATE CONCAT('a', @b)",
            "EXECUTE s; EXECUTE s",
            "PREPARE s FROM 'a'; EXECUTE s",
            "SELECT 1",
        ] {
            assert!(!matches!(read(other), Some(TextPrepared::Immediate { .. })), "{other}");
        }
        assert_eq!(read("EXECUTE s; EXECUTE s"), None);
    }
}
