//! What the text of a Query event in the binlog means.

#[cfg(test)]
mod tests;
mod xid;

use crate::TableName;
use crate::alteration::{Alteration, alteration};
use crate::cursor::Cursor;
use crate::ddl::{self, DdlTouches};
use crate::lex::Lexer;
use crate::modes::{Flavor, Modes};
use crate::token::{Token, TokenKind};

/// What a Query event does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BinlogEffect {
    /// No data and no definition changes.
    Nothing,
    /// BEGIN, COMMIT or ROLLBACK.
    Transaction(Boundary),
    /// XA START.
    XaStart {
        /// The branch.
        xid: Xid,
    },
    /// XA END.
    XaEnd {
        /// The branch.
        xid: Xid,
    },
    /// XA PREPARE.
    XaPrepare {
        /// The branch.
        xid: Xid,
    },
    /// XA COMMIT.
    XaCommit {
        /// The branch.
        xid: Xid,
    },
    /// XA ROLLBACK.
    XaRollback {
        /// The branch.
        xid: Xid,
    },
    /// Definition and content of these tables and views (schema, name) may have changed.
    Definition {
        /// The tables and views.
        tables: Vec<(String, String)>,
        /// Foreign keys may have come with it, by which one of these refers to another table.
        may_refer: bool,
        /// The effect on their columns, if all their rows stay.
        alteration: Option<Alteration>,
    },
    /// This procedure or function (schema, name) was defined, redefined or dropped.
    Routine {
        /// The schema it is in.
        schema: String,
        /// Its name, in any case.
        name: String,
    },
    /// These tables were emptied; their definitions have not changed.
    Truncate {
        /// The tables.
        tables: Vec<(String, String)>,
    },
    /// Everything in this schema may have changed.
    Schema(String),
    /// Accounts, roles or privileges changed.
    Accounts {
        /// The rights of these user names, in lower case; None for any.
        users: Option<Vec<String>>,
        /// The server counts the statement as one on accounts (`Com_grant`, `Com_create_user` and their like).
        is_counted: bool,
        /// What the statement does to users' rights.
        on_rights: OnRights,
    },
    /// Everything may have changed, or the text is not understood.
    Everything,
}

/// What a statement on accounts does to users' rights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OnRights {
    /// It takes none away.
    Keeps,
    /// It may take some away.
    Takes,
    /// The contents of the grant tables come into effect.
    Reloads,
}

/// How a transaction is bounded in the binlog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Boundary {
    /// BEGIN, START TRANSACTION.
    Begin,
    /// COMMIT.
    Commit,
    /// ROLLBACK, but not to a savepoint.
    Rollback,
}

/// The identity of an XA branch, in a form that compares by value however it was written.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Xid {
    /// formatID; 1 if none was written.
    pub format_id: i64,
    /// The global part, at most 64 bytes.
    pub gtrid: Vec<u8>,
    /// The branch part, at most 64 bytes.
    pub bqual: Vec<u8>,
}

impl Xid {
    /// Returns one string of bytes for a map's key: format id (8 bytes, little-endian), length of gtrid (1), of bqual (1), then both.
    pub fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.format_id.to_le_bytes().to_vec();
        for part in [&self.gtrid, &self.bqual] {
            bytes.push(u8::try_from(part.len()).unwrap_or(u8::MAX));
        }
        bytes.extend_from_slice(&self.gtrid);
        bytes.extend_from_slice(&self.bqual);
        bytes
    }
}

/// The most tokens of an event's text that are read.
const TOKENS_MAX: usize = 100_000;

/// Returns what a Query event's text, run with `schema` as the current one, means for a cache of the server's tables.
///
/// `is_usual` says whether the session's modes, which are in the event, are the usual ones. If they could matter, the text is read in all
/// modes, and means everything unless the readings agree. Statements on accounts are read in the usual modes, since the server writes
/// their secrets into the text, which can look like anything.
pub fn binlog_effect(text: &[u8], schema: &str, flavor: Flavor, is_usual: bool) -> BinlogEffect {
    let plain = Modes::new(flavor);
    let effect = read(text, schema, plain);
    if is_usual && matches!(effect, BinlogEffect::Accounts { .. }) {
        return effect;
    }
    let ambiguous = text.iter().any(|&byte| byte == b'"' || byte == b'\\');
    let others = [(true, false), (false, true), (true, true)];
    let agree = others.iter().all(|&(ansi_quotes, no_backslash_escapes)| {
        read(text, schema, Modes { ansi_quotes, no_backslash_escapes, ..plain }) == effect
    });
    if ambiguous && !agree { BinlogEffect::Everything } else { effect }
}

fn read(text: &[u8], schema: &str, modes: Modes) -> BinlogEffect {
    let tokens: Vec<Token> = Lexer::new(text, modes).take(TOKENS_MAX + 1).collect();
    let lost = tokens.last().is_some_and(|token| token.kind == TokenKind::Unknown);
    if lost || tokens.len() > TOKENS_MAX || !schema.is_ascii() {
        return BinlogEffect::Everything;
    }
    statement(Cursor::new(text, modes, &tokens), schema).unwrap_or(BinlogEffect::Everything)
}

/// Reads a statement. `None` if it is not understood.
fn statement(mut cursor: Cursor<'_>, schema: &str) -> Option<BinlogEffect> {
    if cursor.at_end() {
        return Some(BinlogEffect::Nothing); // Nothing but a comment.
    }
    if cursor.at_any(ddl::FIRST_WORDS) {
        let on_rights = if ddl::may_take_rights(cursor) { OnRights::Takes } else { OnRights::Keeps };
        return definition(ddl::touched(cursor), schema, cursor, on_rights);
    }
    if cursor.word("XA") {
        return xid::effect(cursor);
    }
    if cursor.at_any(&["ANALYZE", "CHECK", "OPTIMIZE", "REPAIR"]) {
        let alteration = alteration(cursor);
        cursor.next();
        cursor.skip_all(&["LOCAL", "NO_WRITE_TO_BINLOG"]);
        let named = cursor.any(&["TABLE", "TABLES", "VIEW", "VIEWS"]);
        let names = ddl::names(&mut cursor).filter(|_| named)?;
        return Some(BinlogEffect::Definition {
            tables: resolve(names, schema),
            may_refer: false,
            alteration,
        });
    }
    if cursor.word("SET") {
        // Either a password or a default role.
        let on_rights = if cursor.at_word("PASSWORD") { OnRights::Keeps } else { OnRights::Takes };
        return ddl::sets_account(cursor).then(|| BinlogEffect::Accounts {
            users: ddl::accounts_set(cursor),
            is_counted: false,
            on_rights,
        });
    }
    if cursor.word("FLUSH") {
        let privileges = cursor.rest().iter().any(|token| token.is_word(cursor.text, "PRIVILEGES"));
        let reload = BinlogEffect::Accounts { users: None, is_counted: false, on_rights: OnRights::Reloads };
        return Some(if privileges { reload } else { BinlogEffect::Nothing });
    }
    boundary(cursor)
}

/// Reads the bounds of a transaction. Statements that change rows are not in the binlog as text, nor are their triggers' changes. So such
/// a text, like any other, may have changed everything.
fn boundary(mut cursor: Cursor<'_>) -> Option<BinlogEffect> {
    let found = if cursor.words(&["START", "TRANSACTION"]) {
        return Some(BinlogEffect::Transaction(Boundary::Begin));
    } else if cursor.word("BEGIN") {
        Boundary::Begin
    } else if cursor.word("COMMIT") {
        Boundary::Commit
    } else if cursor.word("ROLLBACK") {
        cursor.word("WORK");
        if cursor.word("TO") {
            return Some(BinlogEffect::Nothing);
        }
        Boundary::Rollback
    } else if cursor.any(&["SAVEPOINT", "RELEASE"]) {
        return Some(BinlogEffect::Nothing);
    } else {
        return None;
    };
    cursor.word("WORK");
    cursor.at_end().then_some(BinlogEffect::Transaction(found))
}

/// Whether a definition may bring foreign keys to a table that has none: it says so, or gives a table another name. The word is looked
/// for in the whole text, comments included.
fn may_refer(cursor: Cursor<'_>) -> bool {
    const REFERS: &[u8] = b"REFERENCES";
    const RENAMES: &[&str] = &["EXCHANGE", "RENAME", "TO"];
    let is_said = cursor.text.windows(REFERS.len()).any(|part| part.eq_ignore_ascii_case(REFERS));
    is_said || cursor.rest().iter().any(|token| RENAMES.iter().any(|word| token.is_word(cursor.text, word)))
}

fn definition(
    touched: DdlTouches,
    schema: &str,
    cursor: Cursor<'_>,
    on_rights: OnRights,
) -> Option<BinlogEffect> {
    Some(match touched {
        DdlTouches::Tables(names) => BinlogEffect::Definition {
            tables: resolve(names, schema),
            may_refer: may_refer(cursor),
            alteration: alteration(cursor),
        },
        DdlTouches::Emptied(names) => BinlogEffect::Truncate { tables: resolve(names, schema) },
        DdlTouches::TemporaryCreated(_) | DdlTouches::TemporaryDropped(_) | DdlTouches::Nothing => {
            BinlogEffect::Nothing
        }
        DdlTouches::Schema(name) => BinlogEffect::Schema(name.unwrap_or_else(|| schema.to_owned())),
        DdlTouches::Trigger { on: Some(table), schema: of_trigger } => {
            let home = of_trigger.as_deref().unwrap_or(schema);
            BinlogEffect::Definition {
                tables: resolve(vec![table], home),
                may_refer: false,
                alteration: None,
            }
        }
        DdlTouches::Trigger { on: None, schema: of_trigger } => {
            BinlogEffect::Schema(of_trigger.unwrap_or_else(|| schema.to_owned()))
        }
        DdlTouches::Routine(name) => BinlogEffect::Routine {
            schema: name.schema.unwrap_or_else(|| schema.to_owned()),
            name: name.name,
        },
        DdlTouches::Accounts(users) => BinlogEffect::Accounts { users, is_counted: true, on_rights },
        DdlTouches::Code | DdlTouches::Everything => return None,
    })
}

/// Gives each name its schema.
fn resolve(names: Vec<TableName>, current: &str) -> Vec<(String, String)> {
    names.into_iter().map(|table| (table.schema.unwrap_or_else(|| current.to_owned()), table.name)).collect()
}
