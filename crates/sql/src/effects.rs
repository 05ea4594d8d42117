//! What a statement may do: to data, to the transaction, and to the session.
//!
//! This is the fallback for every text, also for those to which the readers of clauses (`ParsedSelect`, `Tokens::analyse`) do not apply:
//! it needs no grammar.

// The effects.
mod what;

// How they are found, for each kind of statement.
mod refused;
mod dml;
mod set;
mod control;

#[cfg(test)]
mod tests;

use crate::TableName;
use crate::body::{self, BodyEffects};
use crate::calls::Calls;
use crate::cursor::Cursor;
use crate::ddl::{self, DdlTouches};
use crate::lex::Lexer;
use crate::modes::{Flavor, Modes};
use crate::reads::Reads;
use crate::statement::{STATEMENTS_MAX, Statement};
use crate::tokens::Tokens;

pub use what::{Around, Defines, Effects, Temporary, TrackingEffect, TransactionEffect, Writes};

/// Returns the effects of `text`, whatever it is; several statements give the union of theirs.
pub fn effects(text: &[u8], modes: Modes) -> Effects {
    effects_of(Lexer::new(text, modes))
}

impl Tokens<'_> {
    /// Returns the effects of the text: [`effects`].
    #[must_use]
    pub fn effects(&self) -> Effects {
        effects_of(self.walk())
    }
}

/// Returns the effects of the text that `lexer` cuts.
pub(crate) fn effects_of(mut lexer: Lexer<'_>) -> Effects {
    let (text, modes) = (lexer.text(), lexer.modes());
    let first = Statement::next(&mut lexer, text, modes);
    effects_from(first, lexer)
}

/// Returns the effects of `text`, whose first statement `lexer` has cut already.
pub(crate) fn effects_from<'a>(first: Option<Statement<'a>>, mut lexer: Lexer<'a>) -> Effects {
    let (text, modes) = (lexer.text(), lexer.modes());
    if refused::is_refused_text(text) {
        return Effects::refused();
    }
    if modes.other_syntax {
        return Effects::worst();
    }
    if modes.flavor == Flavor::MariaDb && refused::is_compound(text, modes) {
        return body::block(text, modes).map_or_else(|| Effects::worst_of(text), Effects::of_block);
    }
    let mut all = Effects::none();
    let mut defines_views = false;
    let mut next_statement = first;
    for count in 0..STATEMENTS_MAX {
        let Some(statement) = next_statement.take().or_else(|| Statement::next(&mut lexer, text, modes))
        else {
            if count > 1 && all.tracking != TrackingEffect::None {
                all.tracking = TrackingEffect::Obscured;
            }
            return all;
        };
        let next = of_statement(&statement);
        // A view that the same text defines cannot be looked up before the text is sent.
        if defines_views && !next.reads.is_nothing() {
            all.reads = Reads::Unknown;
        }
        defines_views |= ddl::may_define_view(statement.cursor());
        // Nor can a routine that it defines, or that a procedure in it defines; nor what writes to its tables reach.
        let may_run_routines = all.may_run_routines() || next.may_run_routines();
        if count > 0 && (may_run_routines || all.redirects || next.redirects) {
            return Effects::worst_of(text);
        }
        let refused = next.refused;
        all = all.and(next);
        all.several |= count > 0;
        if refused {
            return all; // Nothing behind it is looked at.
        }
    }
    Effects::worst()
}

/// Returns the effects of one statement.
fn of_statement(statement: &Statement<'_>) -> Effects {
    let facts = statement.facts;
    if refused::is_refused(statement.cursor()) {
        return Effects::refused();
    }
    if facts.lost {
        return Effects::worst();
    }
    let mut effects = of_cursor(statement.cursor(), statement);
    effects.reads_last_statement |= facts.reads_last_statement;
    effects.session |= facts.changes_session;
    if facts.names_tracking || names_variables(&statement.reads) {
        effects.tracking = effects.tracking.max(TrackingEffect::Shows);
    }
    effects.reads = effects.reads.and(statement.reads.clone());
    effects
}

/// The tables in which both servers list the variables of sessions.
const VARIABLES: &[&str] =
    &["SESSION_VARIABLES", "SYSTEM_VARIABLES", "VARIABLES_BY_THREAD", "VARIABLES_INFO"];

/// Whether the variables of sessions are read as a table.
fn names_variables(reads: &Reads) -> bool {
    let lists = |name: &TableName| VARIABLES.iter().any(|list| name.name.eq_ignore_ascii_case(list));
    matches!(reads, Reads::Tables(names) if names.iter().any(lists))
}

/// Words in front of a whole statement. The servers accept only one of them, except SET STATEMENT before one of the others.
const WRAPS: &[&str] = &["ANALYZE", "DESC", "DESCRIBE", "EXPLAIN", "SET"];

/// Returns the effects of the statement behind ANALYZE or EXPLAIN ANALYZE. A second such word is an error and is not followed, because a
/// text can repeat it any number of times.
fn of_wrapped(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    while cursor.punct(b'(') {}
    if cursor.at_any(WRAPS) { Effects::worst() } else { of_cursor(cursor, statement) }
}

/// Returns the effects of the statement that starts at the cursor, within `statement`.
fn of_cursor(mut cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    while cursor.punct(b'(') {}
    if cursor.at_any(ddl::FIRST_WORDS) {
        return of_definition(cursor, statement);
    }
    let found = dml::effects(cursor, statement)
        .or_else(|| set::effects(cursor, statement))
        .or_else(|| control::effects(cursor, statement));
    found.unwrap_or_else(Effects::worst)
}

fn of_definition(cursor: Cursor<'_>, statement: &Statement<'_>) -> Effects {
    let mut effects =
        Effects { transaction: TransactionEffect::MayCommit, is_definition: true, ..Effects::none() };
    let touched = ddl::touched(cursor);
    // These change what tables reach by foreign keys and triggers, whatever tables they name.
    effects.redirects = statement.facts.references
        || cursor.at_word("RENAME") && matches!(touched, DdlTouches::Tables(_))
        || matches!(touched, DdlTouches::Trigger { .. });
    match touched.clone() {
        DdlTouches::Tables(names) | DdlTouches::Emptied(names) => effects.set_tables(names, cursor),
        DdlTouches::TemporaryCreated(names) => {
            effects.temporary = Temporary::Creates(names);
            effects.transaction = TransactionEffect::None;
        }
        DdlTouches::TemporaryDropped(names) => {
            effects.temporary = Temporary::Drops(names);
            effects.transaction = TransactionEffect::None;
        }
        DdlTouches::Schema(Some(schema)) => effects.writes = Writes::Schema(schema),
        DdlTouches::Nothing | DdlTouches::Routine(_) | DdlTouches::Code => {}
        DdlTouches::Accounts(Some(users)) => effects.writes = Writes::Accounts(users),
        // No row changes with it.
        DdlTouches::Trigger { .. } => effects.writes = Writes::Tables(Vec::new()),
        DdlTouches::Schema(None) | DdlTouches::Accounts(None) | DdlTouches::Everything => {
            effects.writes = Writes::Everything;
        }
    }
    if matches!(touched, DdlTouches::Accounts(_)) {
        effects.around = Around::Accounts;
    }
    let is_of_code = matches!(touched, DdlTouches::Routine(_) | DdlTouches::Code);
    if statement.cut_short || statement.facts.unknown_call_in_query && !is_of_code {
        effects.writes = Writes::Everything;
    }
    effects.defines =
        if effects.writes == Writes::Everything { Defines::Everything } else { defines(touched) };
    // `CREATE TABLE … SELECT` fills a table.
    effects.fires = !statement.reads.is_nothing();
    effects
}

fn defines(touched: DdlTouches) -> Defines {
    match touched {
        DdlTouches::Tables(tables) => Defines::Tables(tables),
        DdlTouches::Trigger { on: Some(table), schema } => {
            Defines::Tables(vec![TableName { schema: table.schema.or(schema), ..table }])
        }
        // A trigger is in the schema of its table.
        DdlTouches::Trigger { on: None, schema } | DdlTouches::Schema(schema) => Defines::Schema(schema),
        DdlTouches::Routine(_) => Defines::Routine,
        DdlTouches::Code | DdlTouches::Everything => Defines::Everything,
        // TRUNCATE's rows are among the writes; the definition of the table stays.
        DdlTouches::Emptied(_)
        | DdlTouches::TemporaryCreated(_)
        | DdlTouches::TemporaryDropped(_)
        | DdlTouches::Accounts(_)
        | DdlTouches::Nothing => Defines::Nothing,
    }
}

impl Effects {
    /// Returns the effects of a block of statements, all of which are understood.
    fn of_block(body: BodyEffects) -> Self {
        let mut calls = Calls::NOTHING;
        body.calls.into_iter().for_each(|call| calls.push(call));
        Effects {
            fires: !body.writes.is_empty(),
            writes: if body.writes.is_empty() { Writes::Nothing } else { Writes::Tables(body.writes) },
            session: body.session,
            reads_last_statement: body.reads_last_statement,
            reads: Reads::Tables(body.reads),
            calls,
            several: true,
            commits_inside: body.commits,
            ..Effects::none()
        }
    }
}
