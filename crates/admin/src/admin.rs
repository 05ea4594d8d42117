//! Carrying out the statements of clients.

mod files;
mod keeping;
mod variables;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::accounts::Accounts;
use crate::command::{self, AdminCommand, Copy, Module};
use crate::config_file;
use crate::error::Refusal;
use crate::history::Keeping;
use crate::hostgroups;
use crate::lock::Lock;
use crate::runtime::{Runtime, SqliteValue, Statistic};
use crate::shows;
use crate::statistics::STATISTICS;
use crate::store::{Answer, Chosen, Role, SqliteParameter, Store};
use crate::tables::{ATTACHED, CONFIGURATION, Table};
use crate::variables::OwnVariables;

/// Why the admin port cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The directory.
    #[error("{0}: {1}")]
    Directory(String, std::io::Error),
    /// The databases.
    #[error("the admin port's databases: {0}")]
    Store(#[from] rusqlite::Error),
    /// The configuration on disk cannot be made to run.
    #[error("the admin port's configuration: {0}")]
    Configuration(String),
}

/// The answer to a client that wants to change something between BEGIN and COMMIT.
const NO_TRANSACTIONS: &str =
    "there are no transactions here: each statement is one. Between BEGIN and COMMIT nothing can be changed";

/// The tables, and the running part behind them.
pub struct Admin {
    store: Store,
    runtime: Box<dyn Runtime>,
    own: OwnVariables,
    accounts: Accounts,
    /// The file that LOAD … FROM CONFIG reads.
    file: PathBuf,
    kept: Keeping,
    /// Somebody has asked for the end of the program.
    is_to_end: bool,
    _lock: Lock,
}

impl Admin {
    /// Opens the tables in `directory`, which is made if it is missing, and makes the saved configuration count. `file` is the file that
    /// LOAD … FROM CONFIG reads. `accounts` are the accounts that may connect if none are saved.
    ///
    /// # Errors
    /// The first obstacle.
    pub fn start(
        directory: &Path,
        file: &Path,
        accounts: Accounts,
        runtime: Box<dyn Runtime>,
    ) -> Result<Self, StartError> {
        let named = |error| StartError::Directory(directory.display().to_string(), error);
        std::fs::create_dir_all(directory).map_err(named)?;
        let lock = Lock::take(directory).map_err(named)?;
        let mut admin = Self {
            store: Store::open(directory)?,
            runtime,
            own: OwnVariables::default(),
            accounts,
            file: file.to_owned(),
            kept: Keeping::default(),
            is_to_end: false,
            _lock: lock,
        };
        admin.begin().map_err(|refusal| StartError::Configuration(refusal.to_string()))?;
        Ok(admin)
    }

    /// Ends the program if somebody has asked for it. To be called when the asker has got the answer.
    pub(crate) fn end_if_asked(&self) {
        if self.is_to_end {
            self.runtime.shut_down();
        }
    }

    /// Fills memory with what runs, and then with the configuration on disk, which is made to count.
    fn begin(&mut self) -> Result<(), Refusal> {
        self.put_variables("main.global_variables")?;
        for module in
            [Module::Servers, Module::Users, Module::Rules, Module::Variables, Module::AdminVariables]
        {
            self.copy(module, Copy::DiskToMemory)?;
            if module == Module::Servers {
                self.name_server()?;
            }
            if let Err(refusal) = self.copy(module, Copy::MemoryToRuntime) {
                // The saved configuration stays in the tables, to be corrected there.
                tracing::warn!(%refusal, "what was saved could not be loaded");
            }
        }
        Ok(())
    }

    /// Enters the server in hostgroup 0 if no servers are saved.
    fn name_server(&mut self) -> Result<(), Refusal> {
        if !self.store.rows("SELECT 1 FROM main.mysql_servers LIMIT 1")?.is_empty() {
            return Ok(());
        }
        let (host, port) = self.runtime.server();
        let host = host.replace('\'', "''");
        let insert = "INSERT INTO main.mysql_servers (hostgroup_id, hostname, port) VALUES";
        self.store.all_or_none(&[format!("{insert} (0, '{host}', {port})")])
    }

    /// Carries out one statement of a session.
    pub(crate) fn run(
        &mut self,
        statement: &str,
        parameters: &[SqliteParameter],
        role: Role,
        chosen: &mut Chosen,
    ) -> Result<Answer, Refusal> {
        self.store.choose(&chosen.schema);
        match command::read(statement) {
            Some(command) => self.carry_out(command, role, chosen),
            None => {
                if chosen.has_begun && !self.store.only_reads(statement, role) {
                    return Err(Refusal::NotSupported(NO_TRANSACTIONS));
                }
                self.refresh(statement)?;
                self.store.run(statement, parameters, role)
            }
        }
    }

    /// Returns how many parameters a statement has, and the names of its columns. A command has no parameters; its columns become known
    /// when it is carried out.
    pub(crate) fn describe(&self, statement: &str, role: Role) -> Result<(usize, Vec<String>), Refusal> {
        match command::read(statement) {
            Some(AdminCommand::Ask(items)) => Ok((0, items.into_iter().map(|(column, _)| column).collect())),
            Some(_) => Ok((0, Vec::new())),
            None => self.store.describe(statement, role),
        }
    }

    /// Returns how long the running part has run, in seconds, as `stats_mysql_global` shows it.
    pub(crate) fn uptime(&self) -> String {
        let is_uptime = |row: &Vec<SqliteValue>| row.first() == Some(&SqliteValue::from("ProxySQL_Uptime"));
        match self.runtime.rows(Statistic::Global).into_iter().find(is_uptime).map(|mut row| row.pop()) {
            Some(Some(SqliteValue::Text(uptime))) => uptime,
            _ => String::new(),
        }
    }

    /// Returns the names of a table's columns.
    pub(crate) fn columns(
        &mut self,
        table: &str,
        role: Role,
        chosen: &mut Chosen,
    ) -> Result<Vec<String>, Refusal> {
        let shown = self.carry_out(AdminCommand::ShowColumns(table.to_owned()), role, chosen)?;
        let Answer::Rows { rows, .. } = shown else { return Ok(Vec::new()) };
        let name =
            |row: Vec<Option<Vec<u8>>>| Some(String::from_utf8_lossy(&row.into_iter().next()??).into_owned());
        Ok(rows.into_iter().filter_map(name).collect())
    }

    fn carry_out(
        &mut self,
        command: AdminCommand,
        role: Role,
        chosen: &mut Chosen,
    ) -> Result<Answer, Refusal> {
        let changes = command.changes();
        if changes && role != Role::Admin {
            return Err(Refusal::Denied);
        }
        if changes && chosen.has_begun {
            return Err(Refusal::NotSupported(NO_TRANSACTIONS));
        }
        match command {
            AdminCommand::Move(module, copy) => self.copy(module, copy),
            AdminCommand::FromConfig(module) => self.load_file(module),
            AdminCommand::ToFile(path) => self.save_file(Path::new(&path)),
            AdminCommand::ShowFile => Ok(shows::data(config_file::write(&self.store)?)),
            AdminCommand::Set { name, value } => self.set(&name, &value),
            AdminCommand::SetSession => Ok(Answer::ok()),
            AdminCommand::Begin | AdminCommand::End => {
                chosen.has_begun = command == AdminCommand::Begin;
                Ok(Answer::ok())
            }
            AdminCommand::Use(name) => self.choose(&name, chosen),
            AdminCommand::FlushCache => Ok(Answer::changed(self.runtime.flush_cache())),
            AdminCommand::Purge(what) => {
                let affected = self.runtime.purge(&what).map_err(Refusal::NotPurged)?;
                Ok(Answer::changed(affected))
            }
            AdminCommand::FlushDigests => self.flush_digests(),
            AdminCommand::FlushLogs => {
                self.runtime.flush_logs().map_err(Refusal::NotLoaded)?;
                Ok(Answer::ok())
            }
            AdminCommand::KeepDigests => {
                let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                let now_s = i64::try_from(since.as_secs()).unwrap_or(i64::MAX);
                Ok(Answer::changed(self.keep_digests(now_s)?))
            }
            AdminCommand::Pause(is_paused) if self.runtime.pause(is_paused) => Ok(Answer::ok()),
            AdminCommand::Pause(true) => Err(Refusal::Pointless("it is paused already")),
            AdminCommand::Pause(false) => Err(Refusal::Pointless("it is not paused")),
            AdminCommand::ShutDown => {
                self.is_to_end = true;
                Ok(Answer::ok())
            }
            AdminCommand::Truncate(name) if is_digests(&name) => self.flush_digests(),
            AdminCommand::Truncate(name) | AdminCommand::Drop(name) => {
                let statement =
                    format!("DELETE FROM {}", if is_configuration(&name) { &name } else { "no_such_table" });
                self.store.run(&statement, &[], role)
            }
            // It exists, in the same form.
            AdminCommand::Create(name) if is_configuration(&name) => Ok(Answer::ok()),
            AdminCommand::CreateDatabase(name) => {
                self.choose(&name, &mut Chosen { schema: String::new(), ..*chosen })
            }
            AdminCommand::Create(_) => Err(Refusal::NotSupported("tables cannot be made here")),
            AdminCommand::Ask(items) => Ok(shows::asked(items, chosen, &*self.runtime)),
            AdminCommand::ShowPrometheus => Ok(shows::data(self.runtime.prometheus())),
            AdminCommand::ShowWarnings => Ok(shows::nothing(&["Level", "Code", "Message"])),
            AdminCommand::ShowNothing(columns) => Ok(shows::nothing(columns)),
            shown => {
                let query = shows::query(&shown, chosen, role)?;
                self.refresh(&query)?;
                let is_of_names = !matches!(
                    shown,
                    AdminCommand::ShowVariables(..) | AdminCommand::ShowStatus | AdminCommand::ShowProcesses
                );
                self.store.run(&query, &[], if is_of_names { Role::Own } else { role })
            }
        }
    }

    /// Chooses a database. All databases exist always; a name without one is looked for in all of them, whichever is chosen.
    pub(crate) fn choose(&self, name: &str, chosen: &mut Chosen) -> Result<Answer, Refusal> {
        let known = ATTACHED.iter().chain(&["main"]).find(|known| known.eq_ignore_ascii_case(name));
        let known = known.ok_or_else(|| Refusal::NoSuchDatabase(name.to_owned()))?;
        (*known).clone_into(&mut chosen.schema);
        Ok(Answer::ok())
    }

    fn flush_digests(&self) -> Result<Answer, Refusal> {
        let rows = self.runtime.rows(Statistic::DigestsReset);
        Ok(Answer::changed(rows.len() as u64))
    }

    /// Fills the tables of statistics that a statement names, with the present values. Naming the table that counts from 0 again resets
    /// the counts.
    fn refresh(&mut self, statement: &str) -> Result<(), Refusal> {
        let statement = statement.to_ascii_lowercase();
        for table in &STATISTICS {
            if names(&statement, table.name) {
                let rows = self.counted(table.of)?;
                self.store.replace(&format!("stats.{}", table.name), &rows)?;
            }
        }
        if names(&statement, "runtime_global_variables") {
            self.put_variables("main.runtime_global_variables")?;
        }
        Ok(())
    }

    /// Returns the rows of a table of statistics, each with its hostgroup.
    fn counted(&self, of: Statistic) -> Result<Vec<Vec<SqliteValue>>, Refusal> {
        let mut rows = self.runtime.rows(of);
        hostgroups::fill_in(&self.store, of, &mut rows)?;
        Ok(rows)
    }

    /// Copies the tables of a module from one layer to the next.
    fn copy(&mut self, module: Module, copy: Copy) -> Result<Answer, Refusal> {
        match (module, copy) {
            (Module::Variables | Module::AdminVariables, _) => self.copy_variables(module, copy),
            _ => {
                if (module, copy) == (Module::Rules, Copy::MemoryToRuntime) {
                    self.load_rules()?;
                }
                let statements: Vec<String> =
                    tables_of(module).iter().flat_map(|table| copied(table, copy)).collect();
                self.store.all_or_none(&statements)?;
                Ok(Answer::ok())
            }
        }
    }

    /// Makes the active rules of memory count: all of them, or none.
    fn load_rules(&self) -> Result<(), Refusal> {
        let columns = self.runtime.rule_columns().join(", ");
        let query = format!("SELECT {columns} FROM main.mysql_query_rules WHERE active = 1 ORDER BY rule_id");
        let loaded = self.runtime.load_rules(self.store.rows(&query)?);
        loaded.map_err(|why| Refusal::NotLoaded(format!("{why}. No rule was loaded")))
    }
}

/// Whether a name stands in a text, and not as a part of a longer one.
fn names(text: &str, name: &str) -> bool {
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    text.match_indices(name).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| text.as_bytes().get(at));
        let behind = text.as_bytes().get(at + name.len());
        !before.is_some_and(is_part) && !behind.is_some_and(is_part)
    })
}

fn is_configuration(name: &str) -> bool {
    let name = name.strip_prefix("main.").unwrap_or(name);
    CONFIGURATION.iter().any(|table| table.name.eq_ignore_ascii_case(name))
}

fn is_digests(name: &str) -> bool {
    let name = name.strip_prefix("stats.").unwrap_or(name);
    name.eq_ignore_ascii_case("stats_mysql_query_digest")
        || name.eq_ignore_ascii_case("stats_mysql_query_digest_reset")
}

fn tables_of(module: Module) -> Vec<&'static Table> {
    let named: &[&str] = match module {
        Module::Users => &["mysql_users"],
        Module::Servers => &["mysql_servers", "mysql_replication_hostgroups"],
        Module::Rules => &["mysql_query_rules"],
        Module::Variables | Module::AdminVariables => &[],
    };
    CONFIGURATION.iter().filter(|table| named.contains(&table.name)).collect()
}

/// Returns the statements that copy a table from one layer to the next. Inactive rows are not copied to the runtime, and so do not come
/// back from it.
fn copied(table: &Table, copy: Copy) -> Vec<String> {
    let name = table.name;
    let (from, to, only) = match copy {
        Copy::MemoryToRuntime => (format!("main.{name}"), format!("main.runtime_{name}"), table.counts),
        Copy::RuntimeToMemory => (format!("main.runtime_{name}"), format!("main.{name}"), "1"),
        Copy::MemoryToDisk => (format!("main.{name}"), format!("disk.{name}"), "1"),
        // Tables that nobody has saved are not loaded.
        Copy::DiskToMemory => (format!("disk.{name}"), format!("main.{name}"), "1"),
    };
    vec![format!("DELETE FROM {to}"), format!("INSERT INTO {to} SELECT * FROM {from} WHERE {only}")]
}

#[cfg(test)]
mod tests;
