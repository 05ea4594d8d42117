//! The readings of statements: where two of them answer the same question, they agree.

use freshet_sql::{
    Analysis, BinlogEffect, Effects, Modes, Reads, Request, RowWrite, Slotted, TableDefinition, TableName,
    TransactionEffect, Writes, analyse, binlog_effect, effects, hint_error, key_text, pure_expression, read,
    routine_body, row_reads, row_write, row_writes, shape, strip_hint, trigger_body,
};

use sqlparser::dialect::MySqlDialect;
use sqlparser::parser::Parser;

use super::statements;
use crate::modes::{Flavor as OwnFlavor, Modes as OwnModes};
use crate::sql::lex::Lexer;
use crate::target::{Behaviour, Finding, Outcome, Target, behaviour, hold};
use crate::token::Token;

/// The target.
pub static TARGET: Target = Target {
    name: "readings",
    promise: "no reading of a statement contradicts another, and what changes no meaning changes no reading",
    is_text: true,
    seeds: statements::seeds,
    check,
};

type Found = Result<(), Finding>;

fn check(input: &[u8]) -> Outcome {
    let (modes, text) = statements::modes_and_text(input);
    let request = read(text, modes);
    let effects = effects(text, modes);
    let analysis = analyse(text, modes);
    total(text, modes);
    one_select(&request, &effects, &analysis)?;
    if tables_stand_as_names(text, modes) {
        cacheable(&effects, &analysis)?;
    }
    writes(text, modes, &effects)?;
    logged(text, modes, &effects)?;
    keys(text, modes, &analysis)?;
    shapes(text, modes, &analysis)?;
    forms(text, modes, &request, &effects, &analysis)?;
    cases(text, modes, &effects, &analysis)?;
    several(text, modes, &effects)?;
    Ok(told(&request, &effects, &analysis))
}

/// What only has to come to an end.
fn total(text: &[u8], modes: Modes) {
    let _ = (hint_error(text, modes), strip_hint(text, modes), pure_expression(text, modes));
    let _ = (routine_body(text, modes), trigger_body(text, modes));
    let _ = row_reads(text, modes, &|_| None);
}

/// Returns what was read, so that inputs that are read in a new way are kept.
fn told(request: &Request, effects: &Effects, analysis: &Analysis) -> Behaviour {
    let request = match request {
        Request::Ours(_) => 1,
        Request::Kill { .. } => 2,
        Request::Select { hint } => 3 + hint.map_or(0, |hint| 1 + hint as u8),
        Request::Other(_) => 9,
    };
    let writes = match &effects.writes {
        Writes::Nothing => 0,
        Writes::Tables(tables) => tables.len().min(3) + 1,
        Writes::Schema(_) => 8,
        Writes::Accounts(_) => 7,
        Writes::Everything => 9,
    };
    let flags =
        [effects.session, effects.reads_last_statement, effects.unlogged, effects.moves, effects.fires];
    let analysis = match analysis {
        Analysis::Cacheable { tables, named, hint } => format!("{} {named} {hint:?}", tables.len().min(4)),
        Analysis::Not(reason) => format!("{reason:?}"),
    };
    behaviour((request, writes, flags, format!("{:?}", effects.transaction), analysis))
}

/// A text that is taken for a SELECT is one whose result may be stored; all others are not.
fn one_select(request: &Request, effects: &Effects, analysis: &Analysis) -> Found {
    if let Request::Other(own) = request {
        hold!(own == effects, "`read` and `effects` tell the same effects", "{own:?}, then {effects:?}");
        let cached = matches!(analysis, Analysis::Cacheable { .. });
        hold!(!cached, "what is cacheable is read as a SELECT", "{analysis:?}");
    }
    Ok(())
}

/// Whether FROM and JOIN are followed by what a server would take for a table: other texts are errors there, and what is
/// read in them is never stored.
fn tables_stand_as_names(text: &[u8], modes: Modes) -> bool {
    let flavor =
        if modes.flavor == freshet_sql::Flavor::MySql { OwnFlavor::MySql } else { OwnFlavor::MariaDb };
    let own = OwnModes {
        ansi_quotes: modes.ansi_quotes,
        no_backslash_escapes: modes.no_backslash_escapes,
        ..OwnModes::new(flavor)
    };
    let tokens: Vec<Token> = Lexer::new(text, own).collect();
    let opens = |token: &Token| token.is_word(text, "FROM") || token.is_word(text, "JOIN");
    // A parser that was not fed with our tokens reads it too.
    let other = std::str::from_utf8(text).is_ok_and(|text| Parser::parse_sql(&MySqlDialect {}, text).is_ok());
    let is_none = |two: &[Token]| {
        opens(&two[0]) && !is_a_table(text, &two[1]) && !two[1].is(b'(')
            || two[0].is(b',') && is_no_table(text, &two[1])
    };
    other && !tokens.windows(2).any(is_none)
}

/// Words that name no table without quotes.
const NO_TABLES: [&str; 16] = [
    "AS", "CROSS", "FOR", "GROUP", "HAVING", "IGNORE", "INTERVAL", "JOIN", "LIMIT", "ON", "ORDER", "SELECT",
    "UNION", "USING", "VALUES", "WHERE",
];

fn is_a_table(text: &[u8], token: &Token) -> bool {
    token.is_name() && !is_no_table(text, token)
}

fn is_no_table(text: &[u8], token: &Token) -> bool {
    NO_TABLES.iter().any(|word| token.is_word(text, word))
}

/// A statement whose result is a function of its tables changes nothing, and reads them.
fn cacheable(effects: &Effects, analysis: &Analysis) -> Found {
    let Analysis::Cacheable { tables, named, .. } = analysis else { return Ok(()) };
    hold!(*named >= tables.len(), "tables are named at least once", "{named} of {tables:?}");
    hold!(effects.writes == Writes::Nothing, "what is cacheable writes nothing", "{effects:?}");
    let quiet =
        effects.transaction == TransactionEffect::None && !effects.session && !effects.reads_last_statement;
    hold!(quiet, "what is cacheable leaves the session alone", "{effects:?}");
    hold!(
        effects.locks_tables.is_none() && !effects.unlogged,
        "what is cacheable locks nothing",
        "{effects:?}"
    );
    let Reads::Tables(read) = &effects.reads else { return Ok(()) };
    let missing = tables.iter().find(|table| !read.contains(table));
    hold!(missing.is_none(), "what is cacheable reads what its effects read", "{missing:?} not in {read:?}");
    Ok(())
}

/// A write whose rows are told is a write to that table.
fn writes(text: &[u8], modes: Modes, effects: &Effects) -> Found {
    let columns = || TableDefinition::Table {
        columns: ["a", "b", "c", "id"].map(str::to_owned).into_iter().collect(),
        shows_all: true,
    };
    let of_several = row_writes(text, modes, &|_| Some(columns()));
    let of_several = of_several.into_iter().flat_map(|found| found.writes).map(|(_, write)| write);
    row_write(text, modes).into_iter().chain(of_several).try_for_each(|write| of_table(&write, effects))
}

fn of_table(write: &RowWrite, effects: &Effects) -> Found {
    let table = write.table();
    hold!(
        may_write(&effects.writes, table),
        "rows are written where writes are told",
        "{table:?}, {effects:?}"
    );
    if let RowWrite::Fill { columns: Some(columns), given, .. } = write {
        hold!(given.len() == columns.len(), "a row has a value for each column", "{write:?}");
    }
    if let RowWrite::Insert { columns: Some(columns), rows, .. }
    | RowWrite::Upsert { columns: Some(columns), rows, .. } = write
    {
        let even = rows.iter().all(|row| row.len() == columns.len());
        hold!(even, "a row has a value for each column", "{write:?}");
    }
    Ok(())
}

fn may_write(writes: &Writes, table: &TableName) -> bool {
    match writes {
        Writes::Nothing | Writes::Accounts(_) => false,
        Writes::Tables(tables) => tables.contains(table),
        Writes::Schema(schema) => table.schema.as_ref().is_none_or(|own| own == schema),
        Writes::Everything => true,
    }
}

/// What the binlog repeats touches no table that the statement was not said to write.
///
/// The other way round nothing follows: a statement of rows is logged as rows, and one may define temporary tables.
fn logged(text: &[u8], modes: Modes, effects: &Effects) -> Found {
    let plain = Modes::new(modes.flavor);
    // An event has one statement.
    if modes != plain || text.contains(&b';') {
        return Ok(());
    }
    let (BinlogEffect::Definition { tables, .. } | BinlogEffect::Truncate { tables }) =
        binlog_effect(text, "cur", modes.flavor, true)
    else {
        return Ok(());
    };
    // A definition of a temporary table is not logged in ROW, and where it is, it stamps too much.
    // CHECK TABLE is stamped too, and changes nothing.
    let checks = text.trim_ascii().to_ascii_uppercase().starts_with(b"CHECK");
    // A trigger changes no row, and is fenced as what writes reach.
    let temporary = checks || effects.redirects || effects.temporary != freshet_sql::Temporary::None;
    let touched = |(schema, name): &(String, String)| {
        let named = TableName::of(schema.clone(), name.clone());
        let bare = TableName::bare(name.clone());
        may_write(&effects.writes, &named) || schema == "cur" && may_write(&effects.writes, &bare)
    };
    let missing = tables.iter().find(|pair| !touched(pair));
    hold!(
        temporary || missing.is_none(),
        "what is logged was said to be written",
        "{missing:?}, {effects:?}"
    );
    Ok(())
}

/// What is left out of a key changes no meaning.
fn keys(text: &[u8], modes: Modes, analysis: &Analysis) -> Found {
    let Analysis::Cacheable { .. } = analysis else { return Ok(()) };
    for strip in [false, true] {
        let key = key_text(text, modes, strip);
        let of_key = analyse(&key, modes);
        let shown = key.escape_ascii();
        hold!(
            of_key == *analysis,
            "a key means what its text means",
            "\"{shown}\": {of_key:?}, not {analysis:?}"
        );
    }
    if let Some(stripped) = strip_hint(text, modes) {
        let bare = analyse(&stripped, modes);
        let same = tables_of(&bare) == tables_of(analysis);
        hold!(
            same,
            "a statement without its hint means the same",
            "\"{}\": {bare:?}",
            stripped.escape_ascii()
        );
    }
    Ok(())
}

fn tables_of(analysis: &Analysis) -> Option<(&[TableName], usize)> {
    match analysis {
        Analysis::Cacheable { tables, named, .. } => Some((tables, *named)),
        Analysis::Not(_) => None,
    }
}

/// The same texts with other literals.
fn with_other_literals(text: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    let others: [(&[u8], &[u8]); 5] =
        [(b"1", b"2"), (b"'x'", b"'longer than x'"), (b"1", b"-17.5"), (b"(1)", b"(1,2,3)"), (b"1", b"-3")];
    others.into_iter().filter_map(move |(from, to)| {
        let at = text.windows(from.len()).position(|window| window == from)?;
        Some([&text[..at], to, &text[at + from.len()..]].concat())
    })
}

/// What is told of a SELECT, and of a write of rows, by its tokens is told of all statements of its form.
fn forms(text: &[u8], modes: Modes, request: &Request, own_effects: &Effects, analysis: &Analysis) -> Found {
    let (mut form, mut theirs) = (Slotted::default(), Slotted::default());
    let is_kept = matches!(request, Request::Select { .. })
        || matches!(own_effects.writes, Writes::Tables(_)) && row_write(text, modes).is_some();
    if !form.read(text, modes, None) || !is_kept {
        return Ok(());
    }
    for other in with_other_literals(text) {
        if !theirs.read(&other, modes, None) || theirs.form() != form.form() {
            continue;
        }
        let told = (read(&other, modes), effects(&other, modes), analyse(&other, modes));
        let is_alike = *analysis == told.2 || are_refused(analysis, &told.2);
        let same = *request == told.0 && *own_effects == told.1 && is_alike;
        let own = (request, own_effects, analysis);
        hold!(same, "one form has one reading", "\"{}\": {told:?}, not {own:?}", other.escape_ascii());
    }
    Ok(())
}

/// The words for what is not parsed repeat the text.
fn are_refused(own: &Analysis, theirs: &Analysis) -> bool {
    matches!((own, theirs), (Analysis::Not(_), Analysis::Not(_)))
}

/// Statements of one shape have one analysis: other literals in the same places change nothing.
fn shapes(text: &[u8], modes: Modes, analysis: &Analysis) -> Found {
    let Analysis::Cacheable { .. } = analysis else { return Ok(()) };
    let own = shape(text, modes);
    for other in with_other_literals(text) {
        if shape(&other, modes).text != own.text {
            continue;
        }
        let theirs = analyse(&other, modes);
        let shown = other.escape_ascii();
        hold!(theirs == *analysis, "one shape has one analysis", "\"{shown}\": {theirs:?}, not {analysis:?}");
    }
    Ok(())
}

/// Keywords in another case are the same words. Names are compared without their case, so that none becomes another here: each
/// word is written alike wherever it stands.
fn cases(text: &[u8], modes: Modes, effects: &Effects, analysis: &Analysis) -> Found {
    // A string's content may matter, and so may a comment's.
    if text.iter().any(|byte| b"'\"\\/#".contains(byte)) || !text.is_ascii() {
        return Ok(());
    }
    let told = |effects: &Effects, analysis: &Analysis| {
        (format!("{effects:?}").to_ascii_lowercase(), std::mem::discriminant(analysis))
    };
    let (lower, upper) = (text.to_ascii_lowercase(), text.to_ascii_uppercase());
    let of = |text: &[u8]| told(&freshet_sql::effects(text, modes), &analyse(text, modes));
    let expected = of(&lower);
    for other in [upper, capitalised(&lower)] {
        let theirs = of(&other);
        hold!(
            theirs == expected,
            "the case of words changes no meaning",
            "\"{}\": {theirs:?}, not {expected:?}",
            other.escape_ascii()
        );
    }
    let own = told(effects, analysis);
    let is_as_expected = own == expected || has_word_in_two_cases(text);
    hold!(is_as_expected, "the case of words changes no meaning", "{own:?}, not {expected:?}");
    Ok(())
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$')
}

fn words(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| !is_of_word(*byte)).filter(|word| !word.is_empty())
}

/// Every other letter of each word in upper case.
fn capitalised(lower: &[u8]) -> Vec<u8> {
    let mut at = 0;
    let of_byte = |byte: &u8| {
        at = if is_of_word(*byte) { at + 1 } else { 0 };
        if at % 2 == 1 { byte.to_ascii_uppercase() } else { *byte }
    };
    lower.iter().map(of_byte).collect()
}

/// Two names that differ in their case alone are one in another case.
fn has_word_in_two_cases(text: &[u8]) -> bool {
    let differ = |one: &[u8], other: &[u8]| one != other && one.eq_ignore_ascii_case(other);
    words(text).any(|one| words(text).any(|other| differ(one, other)))
}

/// Of two statements in one text, both count.
fn several(text: &[u8], modes: Modes, own: &Effects) -> Found {
    if own.refused {
        return Ok(()); // A text ends where it is not understood.
    }
    let second = effects(SECOND, modes);
    let both = effects(&[text, b"\n;", SECOND].concat(), modes);
    // An open comment takes the second statement in, and leaves a first one that no server takes.
    if both.refused && own.writes == Writes::Everything {
        return Ok(());
    }
    let Writes::Tables(tables) = &second.writes else { return Ok(()) };
    hold!(tables.iter().all(|table| may_write(&both.writes, table)), "a second statement counts", "{both:?}");
    let covers = match (&own.writes, &both.writes) {
        (_, Writes::Everything) | (Writes::Nothing, _) => true,
        (Writes::Tables(own), both) => own.iter().all(|table| may_write(both, table)),
        (Writes::Schema(_) | Writes::Accounts(_) | Writes::Everything, _) => false,
    };
    hold!(covers, "a first statement counts", "{own:?}, both {both:?}");
    Ok(())
}

/// The second of two statements.
const SECOND: &[u8] = b"DELETE FROM zz WHERE a = 1";
