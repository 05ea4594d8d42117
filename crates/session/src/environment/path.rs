//! The path from one environment to another: the statements that give a session the values that it lacks.
//!
//! The path starts from the state after a login or COM_RESET_CONNECTION, and is as short as possible: one SET for all variables, and
//! before it SET ROLE and USE if they are needed. The caller checks the result by reading the
//! environment once: a server may refuse a value, and a default schema may have another collation by now.

use super::table::{AssignmentKind, Expression, Item};
use super::{Environment, VectorQuery};

/// Returns the statements that lead from an environment to another of the same kind of login, both read by `query`. The list is empty if they
/// are equal. `None` if no statement leads there.
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
            // Put first, because the schema may need the role.
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

/// Returns SET NAMES, if it leads to the character sets of the other environment and they differ. Nearly all clients use SET NAMES, and it
/// has an effect that the variables do not show: after SET NAMES the columns of answers name the collation of texts, and after a SET of the
/// variable they name the character set's own.
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

/// Returns the statements that give a session of another account all values that can change a result, except the account and its roles;
/// `None` if none do.
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

/// Whether two sessions agree in everything that can change a result, except the account and its roles.
pub(crate) fn are_alike_but_for_account(query: &VectorQuery, one: &Environment, other: &Environment) -> bool {
    differing(query, one, other).next().is_none()
}

/// Returns the differing items that can change a result, with the second environment's values.
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

/// Returns a value in a form that every mode and character set reads alike; `None` if there is no such form.
fn literal(name: &str, value: Option<&[u8]>) -> Option<String> {
    let Some(value) = value else { return Some("NULL".to_owned()) };
    let text = plain(value)?;
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // The only value that is a word.
    let is_word = name == "system_versioning_asof" && text == "DEFAULT";
    Some(if is_number || is_word { text.to_owned() } else { format!("'{text}'") })
}

/// Returns a name in backticks.
fn quoted(name: &[u8]) -> Option<String> {
    plain(name).map(|name| format!("`{name}`"))
}

/// Returns the roles for a SET ROLE. MySQL shows active roles as it reads them, `NONE` included; MariaDB shows the name of one role, or NULL.
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

/// Returns a text that is the same in quotes of any kind, if it is one.
fn plain(text: &[u8]) -> Option<&str> {
    let needs_care = |byte: &u8| !(b' '..=b'~').contains(byte) || b"'\"`\\".contains(byte);
    std::str::from_utf8(text).ok().filter(|text| !text.as_bytes().iter().any(needs_care))
}

#[cfg(test)]
mod tests;
