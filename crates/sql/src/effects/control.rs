//! Transactions, locks, administration, and everything else that starts with a known word.

use super::what::names_log_bin;
use super::{Around, Defines, Effects, TrackingEffect, TransactionEffect, Writes, of_wrapped};
use crate::TableName;
use crate::calls::{Call, RoutineKind};
use crate::cursor::Cursor;
use crate::ddl;
use crate::lex::contains_ignoring_case;
use crate::modes::Flavor;
use crate::statement::Statement;
use crate::token::TokenKind;

type EffectsReader = fn(Cursor<'_>, &Statement<'_>) -> Effects;

/// The reader of the statements that start with a word; the reader gets the cursor behind that word.
const STATEMENTS: &[(&str, EffectsReader)] = &[
    ("ANALYZE", analyze),
    ("BACKUP", backup),
    ("BEGIN", begin),
    ("CACHE", commits),
    ("CALL", call),
    ("CHANGE", commits),
    ("CHECK", commits),
    ("CHECKSUM", nothing),
    ("CLONE", clone),
    ("COMMIT", commit),
    ("DEALLOCATE", session),
    ("DESC", explain),
    ("DESCRIBE", explain),
    ("EXECUTE", unknown),
    ("EXPLAIN", explain),
    ("FLUSH", flush),
    ("GET", diagnostics),
    ("HANDLER", session),
    ("HELP", nothing),
    ("INSTALL", commits),
    ("KILL", nothing),
    ("LOAD", commits),
    ("LOCK", lock),
    ("OPTIMIZE", maintains),
    ("PREPARE", prepare),
    ("PURGE", commits),
    ("RELEASE", nothing),
    ("REPAIR", maintains),
    ("RESET", reset),
    ("RESIGNAL", diagnostics),
    ("ROLLBACK", rollback),
    ("SAVEPOINT", nothing),
    ("SHOW", show),
    ("SHUTDOWN", commits),
    ("SIGNAL", diagnostics),
    ("START", start),
    ("STOP", commits),
    ("UNINSTALL", commits),
    ("UNLOCK", unlock),
    ("USE", moves),
    ("XA", xa),
];

/// Returns the effects of a statement that starts with one of the words above; None if it does not.
pub(super) fn effects(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Option<Effects> {
    let (_, reader) = STATEMENTS.iter().find(|(word, _)| cursor.at_word(word))?;
    cursor.next();
    Some(reader(cursor, statement))
}

fn nothing(_: Cursor<'_>, _: &Statement<'_>) -> Effects {
    Effects::none()
}

fn session(_: Cursor<'_>, _: &Statement<'_>) -> Effects {
    Effects { session: true, ..Effects::none() }
}

fn moves(_: Cursor<'_>, _: &Statement<'_>) -> Effects {
    Effects { session: true, moves: true, ..Effects::none() }
}

/// Returns the effects of administration that commits first and changes no data.
fn commits(_: Cursor<'_>, _: &Statement<'_>) -> Effects {
    Effects { transaction: TransactionEffect::MayCommit, ..Effects::none() }
}

fn unknown(_: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    let text = statement.text;
    Effects {
        unlogged: names_log_bin(text),
        tracking: TrackingEffect::obscured_in(text),
        // MySQL prepares no XA statement, and knows no other way to hide one.
        may_commit_for_others: statement.modes.flavor == Flavor::MariaDb,
        ..Effects::worst()
    }
}

/// Returns the effects of CLONE. A clone of this server changes nothing here. A clone of another server into this one changes everything,
/// and ends with a restart.
fn clone(cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    if cursor.at_word("LOCAL") {
        return commits(cursor, statement);
    }
    Effects { writes: Writes::Everything, transaction: TransactionEffect::MayCommit, ..Effects::none() }
}

/// Returns the effects of CALL of a procedure by its name. Results of its arguments go to user variables. Its first statement may ask
/// about the statement before the CALL.
fn call(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    let named =
        cursor.table_name().filter(|_| cursor.at_end() || cursor.peek().is_some_and(|token| token.is(b'(')));
    let Some(name) = named.filter(|_| !statement.cut_short) else { return unknown(cursor, statement) };
    let mut calls = statement.calls.clone();
    calls.push(Call { kind: RoutineKind::Procedure, name });
    let session = cursor.rest().iter().any(|token| matches!(token.kind, TokenKind::At | TokenKind::AtAt));
    let text = statement.text;
    Effects {
        calls,
        session,
        reads_last_statement: true,
        unlogged: names_log_bin(text),
        tracking: TrackingEffect::obscured_in(text),
        ..Effects::none()
    }
}

/// Returns the effects of PREPARE, which runs nothing; but its text may be an expression.
fn prepare(_: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    let text = statement.text;
    let writes = if statement.facts.unknown_call { Writes::Everything } else { Writes::Nothing };
    Effects { session: true, writes, unlogged: names_log_bin(text), ..Effects::none() }
}

/// Returns the effects of BEGIN and BEGIN WORK; MariaDB's BEGIN NOT ATOMIC is a block of any statements.
fn begin(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    cursor.word("WORK");
    if cursor.at_end() {
        return Effects { transaction: TransactionEffect::Begins, ..Effects::none() };
    }
    unknown(cursor, statement)
}

fn start(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    if cursor.word("TRANSACTION") {
        return Effects { transaction: TransactionEffect::Begins, ..Effects::none() };
    }
    commits(cursor, statement)
}

/// Returns the effects of COMMIT in all its forms. The answer's flags say whether another transaction begins with it.
fn commit(mut cursor: Cursor<'_>, _: &Statement<'_>) -> Effects {
    let transaction =
        if completes(&mut cursor) { TransactionEffect::Ends } else { TransactionEffect::MayCommit };
    Effects { transaction, ..Effects::none() }
}

fn rollback(mut cursor: Cursor<'_>, _: &Statement<'_>) -> Effects {
    let is_whole = completes(&mut cursor);
    let transaction = if cursor.at_word("TO") {
        TransactionEffect::None
    } else if is_whole {
        TransactionEffect::RollsBack
    } else {
        TransactionEffect::MayCommit
    };
    Effects { transaction, ..Effects::none() }
}

/// Whether what follows COMMIT or ROLLBACK is understood to its end.
fn completes(cursor: &mut Cursor<'_>) -> bool {
    cursor.word("WORK");
    if cursor.word("AND") {
        cursor.word("NO");
        if !cursor.word("CHAIN") {
            return false;
        }
    }
    if cursor.word("NO") {
        return cursor.word("RELEASE") && cursor.at_end();
    }
    cursor.word("RELEASE");
    cursor.at_end()
}

/// Returns the effects of XA. An XA COMMIT may be of a branch that another session prepared.
fn xa(cursor: Cursor<'_>, _: &Statement<'_>) -> Effects {
    if cursor.at_word("RECOVER") {
        return Effects::none();
    }
    let commits = cursor.at_word("COMMIT");
    Effects {
        writes: if commits { Writes::Everything } else { Writes::Nothing },
        transaction: TransactionEffect::MayCommit,
        session: true,
        may_commit_for_others: commits,
        ..Effects::none()
    }
}

fn lock(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    let locks_tables = if cursor.at_word("INSTANCE") { None } else { Some(true) };
    let is_readable = cursor.any(&["TABLE", "TABLES"]) && !statement.cut_short;
    let write_locks = if is_readable { locked_for_writing(&mut cursor) } else { None };
    Effects {
        locks_tables,
        write_locks: write_locks.map_or(Writes::Everything, Writes::Tables),
        session: true,
        transaction: TransactionEffect::MayCommit,
        ..Effects::none()
    }
}

/// Returns the tables with WRITE in `a WRITE, b AS c READ LOCAL, d LOW_PRIORITY WRITE`; None for any other form.
fn locked_for_writing(cursor: &mut Cursor<'_>) -> Option<Vec<TableName>> {
    const KINDS: &[&str] = &["LOW_PRIORITY", "READ", "WRITE"];
    let mut tables = Vec::new();
    loop {
        let table = cursor.table_name()?;
        if cursor.word("AS") || !cursor.at_any(KINDS) {
            cursor.identifier()?;
        }
        if cursor.word("READ") {
            cursor.word("LOCAL");
        } else {
            cursor.word("LOW_PRIORITY");
            cursor.word("WRITE").then_some(())?;
            cursor.word("CONCURRENT");
            tables.push(table);
        }
        if !cursor.punct(b',') {
            ddl::skip_wait(cursor);
            return cursor.at_end().then_some(tables);
        }
    }
}

fn unlock(cursor: Cursor<'_>, _: &Statement<'_>) -> Effects {
    let locks_tables = if cursor.at_word("INSTANCE") { None } else { Some(false) };
    Effects { locks_tables, session: true, transaction: TransactionEffect::MayCommit, ..Effects::none() }
}

/// Returns the effects of MariaDB's BACKUP STAGE, BACKUP LOCK and BACKUP UNLOCK, which hold locks for the session.
fn backup(_: Cursor<'_>, _: &Statement<'_>) -> Effects {
    Effects { session: true, transaction: TransactionEffect::MayCommit, ..Effects::none() }
}

fn flush(cursor: Cursor<'_>, _: &Statement<'_>) -> Effects {
    let has = |word| cursor.rest().iter().any(|token| token.is_word(cursor.text, word));
    let locks_tables = (has("LOCK") || has("EXPORT")).then_some(true);
    let privileges = has("PRIVILEGES");
    Effects {
        writes: if privileges { Writes::Everything } else { Writes::Nothing },
        locks_tables,
        session: locks_tables.is_some(),
        around: if privileges { Around::Rights } else { Around::Nothing },
        transaction: TransactionEffect::MayCommit,
        ..Effects::none()
    }
}

/// Returns the effects of RESET. After a RESET of the binlog or of replication, nothing is known any more.
fn reset(cursor: Cursor<'_>, _: &Statement<'_>) -> Effects {
    let writes = if cursor.at_word("PERSIST") { Writes::Nothing } else { Writes::Everything };
    Effects { writes, transaction: TransactionEffect::MayCommit, ..Effects::none() }
}

/// Returns the effects of ANALYZE. ANALYZE TABLE changes no rows; MariaDB's ANALYZE in front of a statement runs it.
fn analyze(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    let admin = {
        let mut ahead = cursor;
        ahead.skip_all(&["LOCAL", "NO_WRITE_TO_BINLOG"]);
        ahead.any(&["TABLE", "TABLES"])
    };
    if admin {
        return maintains(cursor, statement);
    }
    skip_format(&mut cursor);
    of_wrapped(cursor, statement)
}

/// Returns the effects of OPTIMIZE and REPAIR, which may rewrite rows; REPAIR may lose rows.
fn maintains(mut cursor: Cursor<'_>, _: &Statement<'_>) -> Effects {
    cursor.skip_all(&["LOCAL", "NO_WRITE_TO_BINLOG"]);
    let known = cursor.any(&["TABLE", "TABLES", "VIEW", "VIEWS"]);
    // The binlog has it as a definition.
    let (writes, defines) = match ddl::names(&mut cursor) {
        Some(names) if known => (Writes::Tables(names.clone()), Defines::Tables(names)),
        _ => (Writes::Everything, Defines::Everything),
    };
    Effects { writes, defines, transaction: TransactionEffect::MayCommit, ..Effects::none() }
}

fn skip_format(cursor: &mut Cursor<'_>) {
    if cursor.word("FORMAT") {
        cursor.punct(b'=');
        cursor.next();
    }
}

/// Returns the effects of EXPLAIN, which runs nothing but subqueries; EXPLAIN ANALYZE runs the statement.
fn explain(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    cursor.skip_all(&["EXTENDED", "PARTITIONS"]);
    let analyze = cursor.word("ANALYZE");
    skip_format(&mut cursor);
    let into = cursor.at_word("INTO");
    if analyze {
        return of_wrapped(cursor, statement);
    }
    let writes = if statement.facts.unknown_call { Writes::Everything } else { Writes::Nothing };
    Effects { writes, session: into, ..Effects::none() }
}

fn diagnostics(_: Cursor<'_>, _: &Statement<'_>) -> Effects {
    Effects { session: true, reads_last_statement: true, ..Effects::none() }
}

/// Returns the effects of SHOW, which changes nothing; some forms tell about the statement before.
fn show(cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    const LAST: &[&str] = &["ERRORS", "PROFILE", "PROFILES", "WARNINGS"];
    let names_last =
        cursor.rest().iter().any(|token| LAST.iter().any(|word| token.is_word(cursor.text, word)));
    let has = |word| cursor.rest().iter().any(|token| token.is_word(cursor.text, word));
    let status = has("STATUS");
    let tracking = if has("VARIABLES") { TrackingEffect::Shows } else { TrackingEffect::None };
    // A WHERE may call a function.
    let writes = if statement.facts.unknown_call { Writes::Everything } else { Writes::Nothing };
    let reads_last_statement = names_last || status && contains_ignoring_case(statement.text, b"last_query");
    Effects { writes, reads_last_statement, tracking, ..Effects::none() }
}
