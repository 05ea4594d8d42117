//! Changes of rights that no binlog tells of.
//!
//! Accounts and grants are logged like other definitions, and the applier stamps the results that rest on them. Two things are not
//! logged: a local reload (`FLUSH LOCAL PRIVILEGES`, `mariadb-admin reload`), which puts earlier writes to the grant tables into effect,
//! and all statements of a session with `sql_log_bin` off. So the server is asked now and then:
//!
//! 1. *The sign.* The server counts the statements of each kind that it was given ([`SIGNS`]). As long as these counts stand still, no
//!    rights were changed. The question costs the server a millisecond.
//! 2. *The rights.* The counts also move for statements that fail, and for FLUSH TABLES. So the contents of the grant tables, and the
//!    rights that the server says are in effect, are summed up by users, and compared with the earlier sums. A user with another sum has
//!    other rights, and nobody else has. A server with very many grants is read in full only when a count has moved.
//!
//! 3. *The writes.* A right that is given and taken between two looks leaves the sums unchanged, but results may have been stored by it.
//!    So the server is also asked whether the grant tables were written: MySQL by the times of their last changes, MariaDB by the count of
//!    syncs of its grant tables' log. Statements that fail write nothing.
//!
//! 4. *The stream.* It tells of logged changes, and these are dealt with. So a write matters only if it was not that of a statement of
//!    which the stream tells: the two counts are compared ([`Accounted`]). Routines that come and go also write grant tables, as do other
//!    statements, but only a statement on accounts or a reload puts a right into effect.
//!
//! A reload may put into effect earlier contents of the tables. So they are compared with those at the last reload, and with the number
//! of changes of accounts of which the stream had told by then. The first reload that is seen counts as a change of everybody's rights:
//! MySQL shows some rights in their tables alone, such as which role holds which. The server counts other FLUSHes in the same way as a
//! reload. FLUSHes that went through us and load no rights are subtracted ([`Harmless`]).
//!
//! Where our account may not read the grant tables, every move of a count is taken as a change of rights.

mod accounted;
mod harmless;
mod sums;
mod under_way;

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use freshet_upstream::server::ask_end;
use freshet_upstream::{Connection, Error, ServerInfo};
use tokio::time::sleep;

use self::accounted::{Accounted, StreamTold};
pub(crate) use self::harmless::Harmless;
use self::harmless::{FlushCounts, Quiet, is_reload};
pub(crate) use self::sums::Regranted;
use self::sums::Sums;
use crate::generation::Generation;
use crate::shared::Following;

/// Counts of statements that change rights. Each server has some of them.
const SIGNS: &str = "SHOW GLOBAL STATUS WHERE Variable_name IN ('Com_flush', 'Com_grant', 'Com_grant_role', \
    'Com_grant_roles', 'Com_revoke', 'Com_revoke_all', 'Com_revoke_role', 'Com_revoke_roles', 'Com_create_user', \
    'Com_alter_user', 'Com_drop_user', 'Com_rename_user', 'Com_create_role', 'Com_drop_role', 'Com_set_password', \
    'Com_alter_user_default_role')";

/// MySQL's times of the last changes of the grant tables, and the present time: in whole seconds, so a change in the second of the last
/// look may have come before or after that look.
const WRITTEN: &str = "SELECT TABLE_NAME, UPDATE_TIME, NOW() FROM information_schema.TABLES \
    WHERE TABLE_SCHEMA = 'mysql' AND TABLE_NAME IN ";
/// Without this MySQL shows times that are up to a day old. Older servers have no such variable, and show present times.
const UNCACHED: &str = "SET SESSION information_schema_stats_expiry = 0";
/// The syncs of the log of MariaDB's grant tables. Each transaction syncs it, unless the server is set to sync several together; then
/// each write counts, also to temporary tables.
const SYNCED: &str = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = \
    IF(@@GLOBAL.aria_group_commit = 'none', 'Aria_transaction_log_syncs', 'Aria_pagecache_write_requests')";

/// The count of reloads, and of other FLUSHes. A FLUSH is no statement on accounts.
const RELOADS: &str = "Com_flush";

/// How often, and after which pause, it is checked again whether the stream has told of everything: it may be a little behind.
const COUNTED_MAX: u32 = 20;
const COUNTED_EVERY: Duration = Duration::from_millis(4);

/// The tables that say which rights are in effect, and the tables from which rights are loaded: of both servers, and of MariaDB or MySQL
/// alone.
const BOTH: [&str; 9] = [
    "information_schema.USER_PRIVILEGES",
    "information_schema.SCHEMA_PRIVILEGES",
    "information_schema.TABLE_PRIVILEGES",
    "information_schema.COLUMN_PRIVILEGES",
    "mysql.db",
    "mysql.tables_priv",
    "mysql.columns_priv",
    "mysql.procs_priv",
    "mysql.proxies_priv",
];
const MARIADB: [&str; 2] = ["mysql.global_priv", "mysql.roles_mapping"];
const BEFORE_8: [&str; 1] = ["mysql.user"];
const MYSQL: [&str; 4] = ["mysql.user", "mysql.role_edges", "mysql.default_roles", "mysql.global_grants"];

/// The rights at the last look, for the life of one control connection.
#[derive(Debug)]
pub(crate) struct Rights {
    signs: Signs,
    /// `None` if they may not be read.
    now: Option<Arc<Sums>>,
    /// The accounts' epoch when `now` was read; `None` for the first look.
    now_at: Option<u64>,
    /// `None`: no reload was seen. The tables may have been edited before the first look, and their contents need not be in effect.
    at_reload: Option<Reloaded>,
    accounted: Accounted,
    /// Which FLUSHes of our clients `signs` counts, if that is known.
    harmless: Option<Quiet>,
    /// The number of statements on accounts at the first look, if all of them were over by then.
    over_at_first: Option<u64>,
    written: GrantsWritten,
    /// The last look found that a sign had moved: its statement may have come into effect only after that look.
    is_due: bool,
    tables: Vec<&'static str>,
}

/// How far the grant tables were written.
#[derive(Debug, PartialEq, Eq)]
enum GrantsWritten {
    /// MySQL: the time of the last change of each, and the time of the question.
    Times { last: Vec<(GrantValue, GrantValue)>, at: GrantValue },
    /// MariaDB: a count.
    Count(GrantValue),
}

/// A value as the server gives it.
type GrantValue = Option<Vec<u8>>;

/// Names and counts, in the server's order.
type Signs = Vec<Vec<Option<Vec<u8>>>>;

/// What is known of the counted statements on accounts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum AccountStatements {
    /// The stream has told, or will tell, of each one since the last look.
    AllTold,
    /// Some were silent. All are over, and the stream has passed them.
    Over,
    /// Some may be silent.
    Unclear,
}

/// The findings at a reload.
#[derive(Debug, PartialEq, Eq)]
struct Reloaded {
    /// `None` if they may not be read.
    sums: Option<Arc<Sums>>,
    /// The accounts' epoch: the changes of which the stream has told.
    accounts: u64,
}

/// The state with which the rights are compared.
#[derive(Clone, Copy)]
pub(crate) struct Followed<'a> {
    pub(crate) shared: &'a Following,
    pub(crate) server: &'a ServerInfo,
    /// `None` while there is no stream.
    pub(crate) generation: Option<&'a Generation>,
}

impl Rights {
    /// Looks for the first time, and finds the rights that are in effect by then.
    pub(crate) async fn read(connection: &mut Connection, server: &ServerInfo) -> Result<Self, Error> {
        let own: &[&str] = match server.is_mariadb() {
            true => &MARIADB,
            false if server.is_before_8() => &BEFORE_8,
            false => &MYSQL,
        };
        let tables = [&BOTH, own].concat();
        // The server answers in this order. The signs come before the rights: a change between the two is noticed at the next look.
        // The threads come after the signs, and before the writes are asked for: every counted statement has been written then.
        let uncached = if server.is_mariadb() { "DO 0" } else { UNCACHED };
        let mut questions = [SIGNS, under_way::THREADS, uncached].map(str::to_owned).to_vec();
        questions.push(GrantsWritten::question(server.is_mariadb(), &tables));
        questions.extend(Sums::questions(&tables));
        let mut answers = connection.query_each(&questions).await?.into_iter();
        let mut answer = || answers.next().ok_or(Error::Unexpected { question: "the rights" });
        let (signs, threads, _, written) = (answer()?, answer()?, answer()?, answer()?);
        let signs = signs.map_err(Error::Server)?.rows;
        let is_over =
            server.privileges.has("PROCESS") && threads.is_ok_and(|threads| under_way::is_none(&threads));
        let over_at_first = is_over.then(|| counted(&signs));
        let written = GrantsWritten::of(server.is_mariadb(), written.map_err(Error::Server)?.rows);
        let now = Sums::of(&tables, answers).map(Arc::new);
        let accounted = Accounted::default();
        let (now_at, at_reload, harmless, is_due) = (None, None, None, true);
        Ok(Self {
            signs,
            now,
            now_at,
            at_reload,
            accounted,
            harmless,
            over_at_first,
            written,
            is_due,
            tables,
        })
    }

    /// Whether nothing has changed rights since the last look of `before`: nobody gave the server a statement that may.
    pub(crate) fn are_those_of(&self, before: &Self) -> bool {
        self.signs == before.signs && self.now.is_some() && self.now == before.now
    }

    /// Whether the server was given no statement that may change rights since it was started.
    pub(crate) fn are_as_at_start(&self) -> bool {
        !self.signs.is_empty() && self.signs.iter().all(|row| counted_in(row) == Some(0))
    }

    /// Notes that a stream has begun. Its start was asked for after the first look, and it has brought nothing yet.
    pub(crate) fn began(&mut self, shared: &Following) {
        if let Some(counted) = self.over_at_first.take() {
            self.accounted.begin(told(shared), counted);
        }
    }

    /// Looks again. Returns whose rights may have changed in a way of which the stream does not tell. With `is_told`, a client has
    /// changed rights, perhaps without a sign.
    pub(crate) async fn look(
        &mut self,
        connection: &mut Connection,
        followed: Followed<'_>,
        is_told: bool,
    ) -> Result<Regranted, Error> {
        let accounts = followed.shared.accounts_epoch();
        // Before the count, which comes before the rights: a later write is noticed at the next look. A silent statement was counted
        // before it wrote, so the first look that sees its write does not take the write for told.
        let written = written(connection, self.written.is_mariadbs(), &self.tables).await?;
        let quiet = followed.shared.harmless.quiet();
        let (signs, counted) = self.count(connection, followed, is_told).await?;
        let quiet = quiet.filter(|_| followed.shared.harmless.quiet() == quiet);
        let is_all_told = counted == AccountStatements::AllTold;
        // All silent statements have been written by now, and none is left for the next look.
        let written = match counted {
            AccountStatements::Over => {
                self::written(connection, self.written.is_mariadbs(), &self.tables).await?
            }
            AccountStatements::AllTold | AccountStatements::Unclear => written,
        };
        let is_reload = is_reload(flush_counts(&self.signs, self.harmless), flush_counts(&signs, quiet));
        let signs_moved = signs != self.signs;
        let was_written = written.is_after(&self.written, signs_moved || !is_all_told);
        let has_moved = signs_moved || was_written;
        // MariaDB's count of writes also moves for other tables.
        let surely_concerns_rights = signs_moved || is_told || !written.is_mariadbs();
        self.written = written;
        if !has_moved && !is_told && !self.is_due {
            self.harmless = quiet;
            return Ok(Regranted::Nobody);
        }
        self.is_due = has_moved;
        let now = Sums::read(connection, &self.tables).await?.map(Arc::new);
        // What the stream has told of since may be what is undone now: then the rights are those of the last look.
        let is_undone = is_told && self.now_at != Some(accounts);
        let mut regranted = match (&now, &self.now) {
            _ if is_undone || was_written && (is_reload || !is_all_told) => Regranted::Anybody,
            (Some(now), Some(before)) if is_all_told => now.since(before).told(),
            (Some(now), Some(before)) => now.since(before),
            _ if surely_concerns_rights => Regranted::Anybody,
            _ => Regranted::Nobody,
        };
        if is_reload {
            let reloaded = Some(Reloaded { sums: now.clone(), accounts });
            if reloaded != self.at_reload {
                regranted = Regranted::Anybody;
            }
            self.at_reload = reloaded;
        }
        if regranted != Regranted::Nobody
            && let Some(at_reload) =
                self.at_reload.as_mut().filter(|at_reload| at_reload.accounts == accounts)
        {
            // The caller begins another epoch for this, of which the stream has told nothing.
            at_reload.accounts += 1;
        }
        (self.signs, self.harmless, self.now) = (signs, quiet, now);
        self.now_at = Some(accounts + u64::from(regranted != Regranted::Nobody));
        Ok(regranted)
    }

    /// Reads the signs, and what is known of the statements on accounts that they count. With `is_told` a client waits, so this does not
    /// wait for the stream.
    async fn count(
        &mut self,
        connection: &mut Connection,
        followed: Followed<'_>,
        is_told: bool,
    ) -> Result<(Signs, AccountStatements), Error> {
        let mut first = None;
        for _ in 1..COUNTED_MAX {
            let told = told(followed.shared);
            let signs = connection.query(SIGNS).await?.rows;
            let counted = counted(&signs);
            if self.accounted.is_all_told(told, counted) {
                self.accounted.reach(told);
                return Ok((signs, AccountStatements::AllTold));
            }
            let (counted_first, told_first) = *first.get_or_insert((counted, told.accounts));
            // The stream never tells of statements that fail one after the other.
            let is_in_vain = self.accounted.is_over_by_now(told, counted)
                || told.accounts == told_first && counted > counted_first.saturating_add(1);
            if is_told || is_in_vain || !self.accounted.is_bounded() {
                break;
            }
            sleep(COUNTED_EVERY).await;
        }
        let told = told(followed.shared);
        let signs = connection.query(SIGNS).await?.rows;
        // Not earlier: a silent statement within the bound of the last look may have written after that look asked for writes.
        self.accounted.reach(told);
        self.bound(connection, followed, told, counted(&signs)).await?;
        let is_over = !is_told && self.is_over_soon(followed.shared, counted(&signs)).await;
        Ok((signs, if is_over { AccountStatements::Over } else { AccountStatements::Unclear }))
    }

    /// Waits a moment until the stream has passed all counted statements, if these are over. Then it is known how many were silent.
    async fn is_over_soon(&mut self, shared: &Following, counted: u64) -> bool {
        for _ in 1..COUNTED_MAX {
            let told = told(shared);
            if self.accounted.is_over_by_now(told, counted) {
                self.accounted.reach(told);
                return true;
            }
            if !self.accounted.awaits_stream() {
                return false;
            }
            sleep(COUNTED_EVERY).await;
        }
        false
    }

    /// Notes where the binlog ends once all counted statements are over, if they are over by now.
    async fn bound(
        &mut self,
        connection: &mut Connection,
        Followed { server, generation, .. }: Followed<'_>,
        told: StreamTold,
        counted: u64,
    ) -> Result<(), Error> {
        let Some(generation) = generation.filter(|_| server.privileges.has("PROCESS")) else { return Ok(()) };
        if under_way::is_none(&connection.query(under_way::THREADS).await?) {
            let (file, offset) = ask_end(server, connection).await?;
            if let Ok(Some(end)) = generation.locate(&file, offset) {
                self.accounted.is_over(told, counted, end);
            }
        }
        Ok(())
    }
}

fn told(shared: &Following) -> StreamTold {
    StreamTold {
        generation: shared.counters.generations.load(Ordering::Relaxed),
        accounts: shared.accounts_told(),
        applied: shared.freshness.applied(),
    }
}

impl GrantsWritten {
    /// Returns the question how far these tables were written.
    fn question(is_mariadb: bool, tables: &[&str]) -> String {
        if is_mariadb {
            return SYNCED.to_owned();
        }
        let names = tables.iter().filter_map(|table| table.strip_prefix("mysql."));
        let names: Vec<String> = names.map(|name| format!("'{name}'")).collect();
        format!("{WRITTEN}({})", names.join(", "))
    }

    /// Reads the answer.
    fn of(is_mariadb: bool, mut rows: Vec<Vec<GrantValue>>) -> Self {
        if is_mariadb {
            return Self::Count(rows.pop().and_then(|mut row| row.pop()).flatten());
        }
        rows.sort();
        let mut at = None;
        let last = rows.into_iter().filter_map(|row| {
            let [name, time, now] = <[GrantValue; 3]>::try_from(row).ok()?;
            at = now;
            Some((name, time))
        });
        let last = last.collect();
        Self::Times { last, at }
    }

    const fn is_mariadbs(&self) -> bool {
        matches!(self, Self::Count(_))
    }

    /// Whether the grant tables may have been written since `before`. `signs_moved`: the server was given a statement since then that may
    /// have written them, perhaps in the second of the last look, after that look.
    fn is_after(&self, before: &Self, signs_moved: bool) -> bool {
        match (self, before) {
            (Self::Times { last, .. }, Self::Times { last: before, at }) => {
                let is_late = |time: &GrantValue| time.is_some() && time >= at;
                last != before || signs_moved && last.iter().any(|(_, time)| is_late(time))
            }
            _ => self != before,
        }
    }
}

/// Asks how far the grant tables were written.
async fn written(
    connection: &mut Connection,
    is_mariadb: bool,
    tables: &[&str],
) -> Result<GrantsWritten, Error> {
    let rows = connection.query(&GrantsWritten::question(is_mariadb, tables)).await?.rows;
    Ok(GrantsWritten::of(is_mariadb, rows))
}

/// Returns the FLUSH statements in these signs, beside ours.
fn flush_counts(signs: &Signs, ours: Option<Quiet>) -> FlushCounts {
    let server = signs.iter().find(|row| is_named(row, RELOADS)).and_then(|row| counted_in(row));
    FlushCounts { server, ours }
}

/// Returns the number of statements on accounts that were given to the server.
fn counted(signs: &Signs) -> u64 {
    let named = signs.iter().filter(|row| !is_named(row, RELOADS));
    named.filter_map(|row| counted_in(row)).sum()
}

/// Returns the count in one of these rows.
fn counted_in(row: &[Option<Vec<u8>>]) -> Option<u64> {
    std::str::from_utf8(row.get(1)?.as_deref()?).ok()?.parse().ok()
}

fn is_named(row: &[Option<Vec<u8>>], name: &str) -> bool {
    row.first().is_some_and(|found| found.as_deref() == Some(name.as_bytes()))
}
