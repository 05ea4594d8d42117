//! Statements that SQLite does not carry out.

use crate::runtime::Purge;

/// A module: the tables that are loaded and saved together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Module {
    Users,
    Servers,
    Rules,
    Variables,
    AdminVariables,
}

/// A copy from one layer to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copy {
    MemoryToRuntime,
    RuntimeToMemory,
    MemoryToDisk,
    DiskToMemory,
}

/// A statement of ProxySQL's own, or one that clients send to every server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AdminCommand {
    Move(Module, Copy),
    /// `LOAD … FROM CONFIG`.
    FromConfig(Module),
    /// Writes the tables of memory to a file at this path.
    ToFile(String),
    /// Shows that file as a row.
    ShowFile,
    Set {
        name: String,
        value: String,
    },
    /// A `SET` of the session, which has no state here.
    SetSession,
    ShowDatabases,
    /// The tables of a database, if one is named, whose names match a pattern.
    ShowTables(Option<String>, Option<String>),
    /// The same tables, with their status.
    ShowTableStatus(Option<String>, Option<String>),
    ShowCreate(String),
    ShowCreateDatabase(String),
    /// A dump creates again the databases that it fills.
    CreateDatabase(String),
    /// The variables with this beginning of the name, and those that match a pattern.
    ShowVariables(&'static str, Option<String>),
    ShowStatus,
    ShowPrometheus,
    ShowProcesses,
    ShowWarnings,
    /// `SELECT @@name, …` and similar: the names of the columns, and the questions.
    Ask(Vec<(String, ServerQuestion)>),
    /// The columns of a table.
    ShowColumns(String),
    /// Rows of a kind that does not exist here, as the columns that are to be shown.
    ShowNothing(&'static [&'static str]),
    Use(String),
    FlushCache,
    /// Drops some of the cached results.
    Purge(Purge),
    FlushDigests,
    /// Continues the query log in another file.
    FlushLogs,
    /// `SAVE MYSQL DIGEST TO DISK`: into the history.
    KeepDigests,
    /// Whether new clients are kept out, or let in again.
    Pause(bool),
    ShutDown,
    /// COMMIT and ROLLBACK without a transaction, and locks where nothing has to wait.
    End,
    Begin,
    Truncate(String),
    /// A dump creates again the tables that it fills.
    Drop(String),
    Create(String),
}

impl AdminCommand {
    /// Whether the command changes anything, or shows passwords: accounts for statistics may not use it.
    pub fn changes(&self) -> bool {
        matches!(
            self,
            Self::Move(..)
                | Self::FromConfig(_)
                | Self::ToFile(_)
                | Self::ShowFile
                | Self::Set { .. }
                | Self::FlushCache
                | Self::Purge(_)
                | Self::FlushDigests
                | Self::FlushLogs
                | Self::KeepDigests
                | Self::Pause(_)
                | Self::ShutDown
                | Self::Truncate(_)
                | Self::Drop(_)
        )
    }
}

/// Questions that clients ask every server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerQuestion {
    Variable(String),
    Database,
    User,
    Version,
    ConnectionId,
}

/// Words in their order; the text of a name or a value stays unchanged.
struct Words<'a>(std::iter::Peekable<std::str::SplitAsciiWhitespace<'a>>);

impl<'a> Words<'a> {
    fn is(&mut self, words: &[&str]) -> bool {
        let mut ahead = self.0.clone();
        let all = words.iter().all(|word| ahead.next().is_some_and(|it| it.eq_ignore_ascii_case(word)));
        if all {
            self.0 = ahead;
        }
        all
    }

    fn ends(&mut self) -> bool {
        self.0.peek().is_none()
    }

    fn name(&mut self) -> Option<&'a str> {
        self.0.next()
    }
}

/// Returns the command in a statement; `None` if the statement is for SQLite.
pub fn read(statement: &str) -> Option<AdminCommand> {
    let words = &mut Words(statement.split_ascii_whitespace().peekable());
    match words.name()?.to_ascii_lowercase().as_str() {
        "load" => moved(words, true),
        "save" if words.is(&["mysql", "digest", "to", "disk"]) => Some(AdminCommand::KeepDigests),
        "save" if words.is(&["config", "to", "file"]) => path(words).map(AdminCommand::ToFile),
        "select" if words.is(&["config", "into", "outfile"]) => path(words).map(AdminCommand::ToFile),
        "select" if words.is(&["config", "file"]) && words.ends() => Some(AdminCommand::ShowFile),
        "save" => moved(words, false),
        "set" => Some(set(statement)),
        "show" => show(words, statement),
        "select" => ask(statement),
        "use" => words.name().map(|name| AdminCommand::Use(unquoted(name))),
        "proxysql" => proxysql(words),
        "commit" | "rollback" if words.ends() => Some(AdminCommand::End),
        "lock" | "unlock" if words.is(&["tables"]) => Some(AdminCommand::End),
        "flush" if words.is(&["tables"]) || words.is(&["local", "tables"]) => Some(AdminCommand::End),
        "desc" | "describe" => words.name().map(|name| AdminCommand::ShowColumns(unquoted(name))),
        "rollback" if words.is(&["to"]) => Some(AdminCommand::SetSession),
        "savepoint" | "release" => Some(AdminCommand::SetSession),
        "begin" => Some(AdminCommand::Begin),
        "start" if words.is(&["transaction"]) => Some(AdminCommand::Begin),
        "drop" if words.is(&["table"]) => {
            words.is(&["if", "exists"]);
            words.name().map(|name| AdminCommand::Drop(unquoted(name)))
        }
        "create" if words.is(&["table"]) => {
            words.is(&["if", "not", "exists"]);
            words.name().map(|name| AdminCommand::Create(unquoted(name.split('(').next().unwrap_or(name))))
        }
        "create" if words.is(&["database"]) || words.is(&["schema"]) => {
            words.is(&["if", "not", "exists"]);
            words.name().map(|name| AdminCommand::CreateDatabase(unquoted(name)))
        }
        "truncate" => {
            words.is(&["table"]);
            words.name().map(|name| AdminCommand::Truncate(unquoted(name)))
        }
        _ => None,
    }
}

/// Reads a path, which has no blanks in it.
fn path(words: &mut Words<'_>) -> Option<String> {
    words.name().filter(|_| words.ends()).map(unquoted)
}

fn moved(words: &mut Words<'_>, loads: bool) -> Option<AdminCommand> {
    const MODULES: [(&[&str], Module); 5] = [
        (&["mysql", "users"], Module::Users),
        (&["mysql", "servers"], Module::Servers),
        (&["mysql", "query", "rules"], Module::Rules),
        (&["mysql", "variables"], Module::Variables),
        (&["admin", "variables"], Module::AdminVariables),
    ];
    let (_, module) = MODULES.into_iter().find(|(name, _)| words.is(name))?;
    let is_to = words.is(&["to"]);
    if !is_to && !words.is(&["from"]) {
        return None;
    }
    let layer = words.name()?.to_ascii_lowercase();
    let copy = match (loads, is_to, layer.as_str()) {
        (true, true, "runtime" | "run") | (true, false, "memory" | "mem") => Copy::MemoryToRuntime,
        (true, true, "memory" | "mem") | (true, false, "disk") => Copy::DiskToMemory,
        (false, true, "memory" | "mem") | (false, false, "runtime" | "run") => Copy::RuntimeToMemory,
        (false, true, "disk") | (false, false, "memory" | "mem") => Copy::MemoryToDisk,
        (true, false, "config") if words.ends() => return Some(AdminCommand::FromConfig(module)),
        _ => return None,
    };
    words.ends().then_some(AdminCommand::Move(module, copy))
}

/// Reads `SET mysql-x = 1`; any other SET is the session's.
fn set(statement: &str) -> AdminCommand {
    let assignment = statement.get(3..).unwrap_or_default().trim();
    let Some((name, value)) = assignment.split_once('=') else { return AdminCommand::SetSession };
    let name = unquoted(name.trim().trim_end_matches(':')).to_ascii_lowercase();
    if !name.starts_with("mysql-") && !name.starts_with("admin-") {
        return AdminCommand::SetSession;
    }
    // `MySQL-Threads` is `mysql-threads`, but sizes have capitals.
    let name = unquoted(assignment.split_once('=').map_or(assignment, |(name, _)| name).trim());
    AdminCommand::Set { name, value: unquoted(value.trim()) }
}

/// Reads the name behind FROM or IN.
fn from(words: &mut Words<'_>) -> Option<String> {
    (words.is(&["from"]) || words.is(&["in"])).then(|| words.name().map(unquoted)).flatten()
}

fn show(words: &mut Words<'_>, statement: &str) -> Option<AdminCommand> {
    let like = || {
        let at = statement.to_ascii_lowercase().find(" like ")?;
        statement.get(at + 6..).map(|pattern| unquoted(pattern.trim()))
    };
    if words.is(&["databases"]) || words.is(&["schemas"]) {
        return Some(AdminCommand::ShowDatabases);
    }
    if words.is(&["tables"]) || words.is(&["full", "tables"]) {
        return Some(AdminCommand::ShowTables(from(words), like()));
    }
    if words.is(&["table", "status"]) {
        return Some(AdminCommand::ShowTableStatus(from(words), like()));
    }
    if words.is(&["create", "database"]) || words.is(&["create", "schema"]) {
        words.is(&["if", "not", "exists"]);
        return words.name().map(|name| AdminCommand::ShowCreateDatabase(unquoted(name)));
    }
    if words.is(&["create", "table"]) {
        return words.name().map(|name| AdminCommand::ShowCreate(unquoted(name)));
    }
    const VARIABLES: [(&[&str], &str); 6] = [
        (&["mysql", "variables"], "mysql-"),
        (&["admin", "variables"], "admin-"),
        (&["all", "variables"], ""),
        (&["global", "variables"], ""),
        (&["session", "variables"], ""),
        (&["variables"], ""),
    ];
    if let Some((_, begins)) = VARIABLES.into_iter().find(|(name, _)| words.is(name)) {
        return Some(AdminCommand::ShowVariables(begins, like()));
    }
    if words.is(&["mysql", "status"]) || words.is(&["global", "status"]) || words.is(&["status"]) {
        return Some(AdminCommand::ShowStatus);
    }
    if words.is(&["prometheus", "metrics"]) {
        return Some(AdminCommand::ShowPrometheus);
    }
    if words.is(&["full", "processlist"]) || words.is(&["processlist"]) {
        return Some(AdminCommand::ShowProcesses);
    }
    let is_of_columns = words.is(&["full"]) || !words.ends();
    if is_of_columns && (words.is(&["columns"]) || words.is(&["fields"])) {
        return from(words).map(AdminCommand::ShowColumns);
    }
    const NONE: [(&[&str], &[&str]); 10] = [
        (&["triggers"], &["Trigger", "Event", "Table", "Statement", "Timing", "Created"]),
        (&["function", "status"], &["Db", "Name", "Type"]),
        (&["procedure", "status"], &["Db", "Name", "Type"]),
        (&["package", "status"], &["Db", "Name", "Type"]),
        (&["events"], &["Db", "Name", "Type"]),
        (&["keys"], &["Table", "Non_unique", "Key_name", "Seq_in_index", "Column_name"]),
        (&["index"], &["Table", "Non_unique", "Key_name", "Seq_in_index", "Column_name"]),
        (&["engines"], &["Engine", "Support", "Comment"]),
        (&["plugins"], &["Name", "Status", "Type", "Library", "License"]),
        (&["errors"], &["Level", "Code", "Message"]),
    ];
    if let Some((_, columns)) = NONE.into_iter().find(|(name, _)| words.is(name)) {
        return Some(AdminCommand::ShowNothing(columns));
    }
    words.is(&["warnings"]).then_some(AdminCommand::ShowWarnings)
}

/// Reads `SELECT @@version_comment LIMIT 1`, `SELECT DATABASE(), USER() LIMIT 1` and similar statements, with no other column.
fn ask(statement: &str) -> Option<AdminCommand> {
    let asked = statement.get(6..)?.trim();
    let at = asked.to_ascii_lowercase().rfind(" limit ").unwrap_or(asked.len());
    let (asked, limit) = asked.split_at(at);
    let is_limit = limit.is_empty() || limit.split_ascii_whitespace().nth(1) == Some("1");
    let items = asked.split(',').map(ask_one).collect::<Option<Vec<_>>>()?;
    is_limit.then_some(AdminCommand::Ask(items))
}

fn ask_one(text: &str) -> Option<(String, ServerQuestion)> {
    let words: Vec<&str> = text.split_ascii_whitespace().collect();
    let (what, column) = match words[..] {
        [what] => (what, what),
        [what, "as" | "AS" | "As", column] | [what, column] => (what, column),
        _ => return None,
    };
    let what = what.to_ascii_lowercase();
    let of = match &*what {
        "database()" | "schema()" => ServerQuestion::Database,
        "user()" | "current_user()" | "current_user" => ServerQuestion::User,
        "version()" => ServerQuestion::Version,
        "connection_id()" => ServerQuestion::ConnectionId,
        _ => {
            let variable = what.strip_prefix("@@")?;
            let scoped = ["global.", "session.", "local."];
            let variable = scoped.iter().find_map(|scope| variable.strip_prefix(scope)).unwrap_or(variable);
            let is_part = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            (!variable.is_empty() && variable.bytes().all(is_part))
                .then(|| ServerQuestion::Variable(variable.to_owned()))?
        }
    };
    Some((unquoted(column), of))
}

fn proxysql(words: &mut Words<'_>) -> Option<AdminCommand> {
    const COMMANDS: [(&[&str], AdminCommand); 7] = [
        (&["flush", "query", "cache"], AdminCommand::FlushCache),
        (&["flush", "mysql", "query", "cache"], AdminCommand::FlushCache),
        (&["flush", "query", "digest"], AdminCommand::FlushDigests),
        (&["flush", "logs"], AdminCommand::FlushLogs),
        (&["pause"], AdminCommand::Pause(true)),
        (&["resume"], AdminCommand::Pause(false)),
        (&["shutdown"], AdminCommand::ShutDown),
    ];
    let mut ahead = Words(words.0.clone());
    if ahead.is(&["flush", "query", "cache"]) && !ahead.ends() {
        return purge(&mut ahead).map(AdminCommand::Purge);
    }
    COMMANDS.into_iter().find(|(name, _)| words.is(name) && words.ends()).map(|(_, command)| command)
}

/// Reads `PROXYSQL FLUSH QUERY CACHE DIGEST '0x…'` and similar commands.
fn purge(words: &mut Words<'_>) -> Option<Purge> {
    let what = words.name()?.to_ascii_lowercase();
    let typed = words.name().filter(|_| words.ends())?;
    let name = unquoted(typed);
    Some(match what.as_str() {
        "digest" => Purge::Digest(name),
        "rule" => Purge::Rule(name.parse().ok()?),
        "schema" => Purge::Schema(name),
        "user" => Purge::User(name),
        "table" => {
            let (schema, table) = typed.split_once('.')?;
            Purge::Table(unquoted(schema), unquoted(table))
        }
        _ => return None,
    })
}

/// Returns a text without the quotes around it.
fn unquoted(text: &str) -> String {
    let quote = |quote: char| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    ['\'', '"', '`'].into_iter().find_map(quote).unwrap_or(text).to_owned()
}

#[cfg(test)]
mod tests;
