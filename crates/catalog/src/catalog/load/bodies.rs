//! The bodies of triggers and routines, as the server shows the statements that made them.

use freshet_sql::{BodyEffects, Modes, RoutineKind, routine_body, trigger_body};
use freshet_upstream::control::{query_definitions, quote, quote_name};
use freshet_upstream::{Connection, Error, Rows, ServerInfo};

use super::naming::these;
use crate::name::Name;

/// The most triggers of a table. The triggers of a table with more count as unknown.
const TRIGGERS_MAX: usize = 64;

/// Modes of a session under which a text is cut or read in a way that this code does not follow.
const UNUSUAL_MODES: &[&str] = &[
    "ANSI",
    "ANSI_QUOTES",
    "DB2",
    "EMPTY_STRING_IS_NULL",
    "HIGH_NOT_PRECEDENCE",
    "MAXDB",
    "MSSQL",
    "NO_BACKSLASH_ESCAPES",
    "ORACLE",
    "POSTGRESQL",
];

/// Character sets in which ASCII has other bytes. A column of bytes is given those of the connection's by which the body was made.
const WIDE: [&[u8]; 3] = [b"ucs2", b"utf16", b"utf32"];

/// Returns what the triggers of a table do directly; `None` if that cannot be told, or if our account cannot see them.
pub(super) async fn triggers(
    connection: &mut Connection,
    server: &ServerInfo,
    name: &Name,
) -> Result<Option<Vec<BodyEffects>>, Error> {
    if !server.privileges.has_in("TRIGGER", &name.0) {
        return Ok(None);
    }
    let question = format!(
        "SELECT TRIGGER_NAME FROM information_schema.TRIGGERS WHERE {} LIMIT {}",
        these("EVENT_OBJECT_SCHEMA", "EVENT_OBJECT_TABLE", name),
        TRIGGERS_MAX + 1
    );
    let rows = query_definitions(connection, &question).await?;
    if rows.rows.len() > TRIGGERS_MAX {
        return Ok(None);
    }
    let mut bodies = Vec::new();
    for at in 0..rows.rows.len() {
        let Some(trigger) = rows.text(at, 0) else { return Ok(None) };
        let what = format!("TRIGGER {}.{}", quote_name(&name.0), quote_name(trigger));
        let Some((text, modes)) = shown(connection, server, &what).await? else { return Ok(None) };
        let Some(body) = trigger_body(&text, modes) else { return Ok(None) };
        bodies.push(body);
    }
    Ok(Some(bodies))
}

/// Returns what a routine does directly; `None` if that cannot be told, or if our account cannot see it. A routine that does not exist
/// does nothing.
pub(super) async fn routine(
    connection: &mut Connection,
    server: &ServerInfo,
    kind: RoutineKind,
    (schema, name): &Name,
) -> Result<Option<BodyEffects>, Error> {
    if may_mean_another(connection, server, kind, schema, name).await? {
        return Ok(None);
    }
    let word = match kind {
        RoutineKind::Procedure => "PROCEDURE",
        RoutineKind::Function => "FUNCTION",
    };
    let what = format!("{word} {}.{}", quote_name(schema), quote_name(name));
    match query_definitions(connection, &format!("SHOW CREATE {what}")).await {
        Ok(rows) => Ok(made_by(&rows, server).and_then(|(text, modes)| routine_body(&text, modes))),
        Err(Error::Server(error)) if error.code == NO_SUCH_ROUTINE && sees_all_routines(server) => {
            Ok(Some(absent(kind)))
        }
        Err(Error::Server(_)) => Ok(None),
        Err(error) => Err(error),
    }
}

/// ER_SP_DOES_NOT_EXIST.
const NO_SUCH_ROUTINE: u16 = 1305;

/// Whether our account is shown every routine that there is.
fn sees_all_routines(server: &ServerInfo) -> bool {
    server.privileges.has("SELECT") && !server.privileges.is_partly_revoked()
}

/// Returns what a call does where there is no such routine: nothing. A function of this name may be a built-in one that is not known
/// here; the built-in functions that write are known.
fn absent(kind: RoutineKind) -> BodyEffects {
    let may_be_built_in = kind == RoutineKind::Function;
    BodyEffects { session: may_be_built_in, reads_last_statement: may_be_built_in, ..BodyEffects::default() }
}

/// Whether a call by this name may run something else than the routine: a loadable function goes before a stored one; on MariaDB, the
/// schema may be a package's name, and a session may look in other schemas first.
async fn may_mean_another(
    connection: &mut Connection,
    server: &ServerInfo,
    kind: RoutineKind,
    schema: &str,
    name: &str,
) -> Result<bool, Error> {
    let mut questions = Vec::new();
    if kind == RoutineKind::Function {
        let lower = quote(&name.to_lowercase());
        questions.push(format!("SELECT 1 FROM mysql.func WHERE LOWER(name) = {lower}"));
        // Before 8.0, there are no loadable functions beside those in this table.
        if !server.is_mariadb() && !server.is_before_8() {
            let loaded = "performance_schema.user_defined_functions";
            questions.push(format!("SELECT 1 FROM {loaded} WHERE LOWER(UDF_NAME) = {lower}"));
        }
    }
    if server.is_mariadb() {
        let package = quote(schema);
        questions.push(format!(
            "SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_TYPE LIKE 'PACKAGE%' AND ROUTINE_NAME = {package}"
        ));
        questions.push(
            "SELECT 1 FROM information_schema.SYSTEM_VARIABLES WHERE VARIABLE_NAME = 'PATH'".to_owned(),
        );
    }
    if questions.is_empty() {
        return Ok(false);
    }
    match query_definitions(connection, &questions.join(" UNION ALL ")).await {
        Ok(rows) => Ok(!rows.rows.is_empty()),
        Err(Error::Server(_)) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Returns the statement that makes an object again, and the modes in which to read it: the third and the second column of SHOW CREATE. The
/// fifth is the collation of the connection by which it was made.
/// `None` if our account cannot see the object, or if it was made under modes that are not read here.
async fn shown(
    connection: &mut Connection,
    server: &ServerInfo,
    what: &str,
) -> Result<Option<(Vec<u8>, Modes)>, Error> {
    let rows: Rows = match query_definitions(connection, &format!("SHOW CREATE {what}")).await {
        Ok(rows) => rows,
        Err(Error::Server(_)) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(made_by(&rows, server))
}

/// Returns the statement in an answer to SHOW CREATE.
fn made_by(rows: &Rows, server: &ServerInfo) -> Option<(Vec<u8>, Modes)> {
    let row = rows.rows.first().map(Vec::as_slice).unwrap_or_default();
    let [Some(_), Some(modes), Some(text), ..] = row else { return None };
    let collation = row.get(4).and_then(Option::as_deref).unwrap_or_default();
    if WIDE.iter().any(|charset| collation.starts_with(charset)) {
        return None;
    }
    let modes = std::str::from_utf8(modes).ok().and_then(|modes| modes_of(modes, server));
    modes.map(|modes| (text.to_vec(), modes))
}

/// Returns the modes in which to read a body that was made under this `sql_mode`.
fn modes_of(sql_mode: &str, server: &ServerInfo) -> Option<Modes> {
    let has = |name: &str| sql_mode.split(',').any(|mode| mode.eq_ignore_ascii_case(name));
    let is_usual = !UNUSUAL_MODES.iter().any(|mode| has(mode));
    is_usual.then(|| Modes { ignore_space: has("IGNORE_SPACE"), ..server.modes() })
}
