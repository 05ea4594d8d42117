//! `SET @a = 1`: user variables that are given literals.

use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::Modes;
use crate::statement::Statement;
use crate::token::TokenKind;

/// A user variable and its value in a SET.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserVariable {
    /// Its name, in lower case: names are compared without case.
    pub name: String,
    /// The literal as it is written, with its sign.
    pub literal: Vec<u8>,
}

/// Returns the variables that `text` sets, if it is a SET of only user variables, each to one literal: a number, a string or NULL. Such a
/// SET has no other effect.
#[must_use]
pub fn user_variables_set(text: &[u8], modes: Modes) -> Option<Vec<UserVariable>> {
    if modes.other_syntax || !text.contains(&b'@') {
        return None;
    }
    let mut lexer = Lexer::new(text, modes);
    let statement = Statement::next(&mut lexer, text, modes)?;
    let is_alone = lexer.next().is_none() && !lexer.hint_sets_variable();
    if !is_alone || statement.cut_short || statement.facts.lost {
        return None;
    }
    let mut cursor = statement.cursor();
    cursor.word("SET").then_some(())?;
    let mut variables = Vec::new();
    loop {
        variables.push(assignment(&mut cursor)?);
        if cursor.at_end() {
            return Some(variables);
        }
        cursor.punct(b',').then_some(())?;
    }
}

fn assignment(cursor: &mut Cursor<'_>) -> Option<UserVariable> {
    let name = user_variable(cursor)?;
    let sign = cursor.next()?;
    (sign.is(b'=') || cursor.bytes(sign) == b":=").then_some(())?;
    let start = cursor.peek()?.start;
    let is_signed = cursor.punct(b'-');
    let value = cursor.next()?;
    let is_number = matches!(value.kind, TokenKind::Int | TokenKind::Real);
    let is_other = value.kind == TokenKind::Str || value.is_word(cursor.text, "NULL");
    (is_number || is_other && !is_signed).then_some(())?;
    Some(UserVariable { name, literal: cursor.range_text(start..value.end).to_vec() })
}

/// Reads `@name`, in lower case. Names beyond plain ASCII may be compared in ways that are not known here.
pub(crate) fn user_variable(cursor: &mut Cursor<'_>) -> Option<String> {
    let at = cursor.next().filter(|token| token.kind == TokenKind::At)?;
    let name = cursor.next().filter(|name| name.kind == TokenKind::Word && name.start == at.end)?;
    let name = std::str::from_utf8(cursor.bytes(name)).ok().filter(|name| name.is_ascii())?;
    Some(name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Flavor;

    #[test]
    fn only_literals_are_known() {
        let set = |text: &str| {
            let set = user_variables_set(text.as_bytes(), Modes::new(Flavor::MySql))?;
            let show = |it: &UserVariable| format!("{}={}", it.name, String::from_utf8_lossy(&it.literal));
            Some(set.iter().map(show).collect::<Vec<_>>().join(";"))
        };
        assert_eq!(set("SET @A = 1").as_deref(), Some("a=1"));
        assert_eq!(
            set("set @a:='x''y', @b_1 = -2.5, @c = NULL;").as_deref(),
            Some("a='x''y';b_1=-2.5;c=NULL")
        );
        for text in [
            "SET @a = @b",
            "SET @a = 1 + 1",
            "SET @a = 'a' 'b'",
            "SET @a = 1, sql_mode = ''",
            "SET @@a = 1",
            "SET @`a b` = 1",
            "SET @a = f(1)",
            "SET @a = (SELECT 1)",
            "SET @a = _utf8'x'",
            "SET @a = 'x' COLLATE utf8mb4_bin",
            "SET @a = 1; SELECT 1",
            "SET @a = 1, @b",
            "SET a = 1",
            "SELECT @a := 1",
        ] {
            assert_eq!(set(text), None, "{text}");
        }
    }
}
