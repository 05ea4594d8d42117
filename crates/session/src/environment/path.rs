//! The way from one environment to another: the statements that give a session the values that it lacks.
//!
//! It starts where a login or COM_RESET_CONNECTION has left a session, and is as short as can be: one SET for all variables, and
//! before it SET ROLE and USE where they are needed. Whether it led there is for the caller to find out, by reading the
//! environment once: a server may refuse a value, and a default schema may have another collation since.

use super::table::{AssignmentKind, Expression, Item};
use super::{Environment, VectorQuery};

/// The statements that lead from an environment to another of the same kind of login, both read by `query`. None at all where they
/// are equal, and `None` where no statement leads there.
pub(crate) fn path(query: &VectorQuery, from: &Environment, to: &Environment) -> Option<Vec<String>> {
    if from.whole.get(..from.fixed_bytes) != to.whole.get(..to.fixed_bytes) {
        return None;
    }
    let names = names(query, from, to);
    let is_named = |item: &Item| names.is_some() && CHARSETS.contains(&item.name);
    let (mut statements, mut sets) = (Vec::from_iter(names.clone()), Vec::new());
    let (mut has_moved, mut has_set_join_size) = (false, false);
    for ((item, old), new) in query.items().iter().zip(from.values()).zip(to.values()) {
        let differs = old != new;
        match item.assignment {
            _ if is_named(item) => {}
            AssignmentKind::Never if differs => return None,
            AssignmentKind::Use if differs => {
                has_moved = true;
                statements.push(format!("USE {}", quoted(new?)?));
            }
            // Before a schema that it may be needed for.
            AssignmentKind::Role if differs => statements.insert(0, format!("SET ROLE {}", role(new)?)),
            AssignmentKind::Set if differs => {
                has_set_join_size |= item.name == "max_join_size";
                sets.push(assignment(item, new)?);
            }
            AssignmentKind::SetUnlessMoved if differs && !has_moved => sets.push(assignment(item, new)?),
            AssignmentKind::SetAfterJoinSize if differs || has_set_join_size => {
                sets.push(assignment(item, new)?)
            }
            _ => {}
        }
    }
    if !sets.is_empty() {
        statements.push(format!("SET {}", sets.join(", ")));
    }
    Some(statements)
}

/// The variables that SET NAMES sets.
const CHARSETS: [&str; 4] =
    ["character_set_client", "character_set_connection", "character_set_results", "collation_connection"];

/// SET NAMES, where it leads to the character sets of the other environment and they differ. It is what nearly all clients have said, and leaves more than the
/// variables show: by it, the collation of texts is told in the columns of answers, by the variable alone the character set's own.
fn names(query: &VectorQuery, from: &Environment, to: &Environment) -> Option<String> {
    let of = |environment: &Environment| {
        CHARSETS.map(|name| {
            let at = query.position(name)?;
            environment.values().nth(at).flatten().and_then(plain).map(str::to_owned)
        })
    };
    let wanted = of(to);
    let [Some(client), connection, Some(results), Some(collation)] = &wanted else { return None };
    let is_alike = client == results && connection.as_ref().is_none_or(|connection| client == connection);
    let is_its_own = collation.strip_prefix(client.as_str()).is_some_and(|rest| rest.starts_with('_'));
    (is_alike && is_its_own && of(from) != wanted)
        .then(|| format!("SET NAMES '{client}' COLLATE '{collation}'"))
}

/// The statements that give a session of another account all that can change a result, but for the account and its roles; `None` where none do.
pub(crate) fn path_but_for_account(
    query: &VectorQuery,
    from: &Environment,
    to: &Environment,
) -> Option<Vec<String>> {
    let (mut statements, mut sets) = (Vec::new(), Vec::new());
    for (item, new) in differing(query, from, to) {
        match item.assignment {
            AssignmentKind::Use => statements.push(format!("USE {}", quoted(new?)?)),
            AssignmentKind::Set | AssignmentKind::SetUnlessMoved | AssignmentKind::SetAfterJoinSize => {
                sets.push(assignment(item, new)?)
            }
            AssignmentKind::Apart => {}
            AssignmentKind::Role | AssignmentKind::Never => return None,
        }
    }
    if !sets.is_empty() {
        statements.push(format!("SET {}", sets.join(", ")));
    }
    Some(statements)
}

/// Whether two sessions differ in nothing that can change a result but the account and its roles.
pub(crate) fn are_alike_but_for_account(query: &VectorQuery, one: &Environment, other: &Environment) -> bool {
    differing(query, one, other).next().is_none()
}

/// What differs of what can change a result, with the second's values.
fn differing<'a>(
    query: &'a VectorQuery,
    one: &'a Environment,
    other: &'a Environment,
) -> impl Iterator<Item = (&'static Item, Option<&'a [u8]>)> {
    let items = query.items().iter().take(query.keyed());
    let both = items.zip(one.values()).zip(other.values());
    both.filter(|((item, one), other)| !item.is_of_account() && one != other)
        .map(|((item, _), new)| (*item, new))
}

fn assignment(item: &Item, value: Option<&[u8]>) -> Option<String> {
    let Expression::Variable(name) = item.expression else { return None };
    Some(format!("@@session.{name} = {}", literal(name, value)?))
}

/// A value as every mode and character set reads it; `None` where there is no such form.
fn literal(name: &str, value: Option<&[u8]>) -> Option<String> {
    let Some(value) = value else { return Some("NULL".to_owned()) };
    let text = plain(value)?;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // The one value that is a word.
    let is_word = name == "system_versioning_asof" && text == "DEFAULT";
    Some(if is_number || is_word { text.to_owned() } else { format!("'{text}'") })
}

/// A name in backticks.
fn quoted(name: &[u8]) -> Option<String> {
    plain(name).map(|name| format!("`{name}`"))
}

/// MySQL shows active roles as it reads them, `NONE` included; MariaDB shows the name of one, or NULL.
fn role(role: Option<&[u8]>) -> Option<String> {
    match role {
        None => Some("NONE".to_owned()),
        Some(b"NONE") => Some("NONE".to_owned()),
        Some(roles) if roles.contains(&b'`') => {
            let is_plain = roles.iter().all(|byte| (b' '..=b'~').contains(byte) && *byte != b'\\');
            std::str::from_utf8(roles).ok().filter(|_| is_plain).map(str::to_owned)
        }
        Some(name) => quoted(name),
    }
}

/// A text that needs no care in quotes of any kind.
fn plain(text: &[u8]) -> Option<&str> {
    let needs_care = |byte: &u8| !(b' '..=b'~').contains(byte) || b"'\"`\\".contains(byte);
    std::str::from_utf8(text).ok().filter(|text| !text.as_bytes().iter().any(needs_care))
}

#[cfg(test)]
mod tests;
