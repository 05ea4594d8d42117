//! SHOW, and questions that clients ask every server.

use crate::command::{AdminCommand, ServerQuestion};
use crate::dictionary::DATABASES;
use crate::error::Refusal;
use crate::runtime::Runtime;
use crate::store::{Answer, Chosen, Role};
use crate::tables::ATTACHED;

/// The name of the server that clients of ProxySQL expect.
const VERSION_COMMENT: &str = "(ProxySQL Admin Module)";

/// Returns the query that shows the rows.
pub fn query(command: &AdminCommand, chosen: &Chosen, role: Role) -> Result<String, Refusal> {
    let schema = chosen.schema.as_str();
    Ok(match command {
        // The database that can be played back.
        AdminCommand::ShowDatabases if chosen.dumps => "SELECT 'main' AS \"Database\"".to_owned(),
        AdminCommand::ShowDatabases => format!(
            "SELECT seq, name, file FROM pragma_database_list WHERE name NOT IN ('{}')",
            DATABASES.join("','")
        ),
        AdminCommand::ShowTables(from, like) => {
            let from = from.as_deref().unwrap_or(if role == Role::Stats { "stats" } else { schema });
            let from = database(from)?;
            let like = like_text("name", like.as_deref());
            let but =
                if chosen.dumps { " AND name NOT LIKE 'runtime%' AND name NOT LIKE '%reset'" } else { "" };
            format!(
                "SELECT name AS tables FROM {from}.sqlite_master \
                 WHERE type = 'table' AND name <> 'sqlite_sequence'{like}{but} ORDER BY name"
            )
        }
        AdminCommand::ShowTableStatus(from, like) => {
            let from = database(from.as_deref().unwrap_or(schema))?;
            let like = like_text("table_name", like.as_deref());
            format!(
                "SELECT table_name AS Name, engine AS Engine, version AS Version, row_format AS Row_format, table_rows AS Rows, \
                 create_options AS Create_options, table_comment AS Comment FROM information_schema.tables \
                 WHERE table_schema = '{from}'{like} ORDER BY table_name"
            )
        }
        AdminCommand::ShowCreateDatabase(name) => {
            let name = database(name)?;
            format!("SELECT '{name}' AS \"Database\", 'CREATE DATABASE `{name}`' AS \"Create Database\"")
        }
        AdminCommand::ShowCreate(name) => created(name, schema)?,
        AdminCommand::ShowVariables(begins, like) => {
            let like = like_text("variable_name", like.as_deref());
            format!(
                "SELECT variable_name AS Variable_name, variable_value AS Value FROM main.global_variables \
                 WHERE variable_name LIKE '{begins}%'{like} ORDER BY variable_name"
            )
        }
        AdminCommand::ShowStatus => {
            "SELECT Variable_Name AS Variable_name, Variable_Value AS Value FROM stats_mysql_global \
                                ORDER BY Variable_Name"
                .to_owned()
        }
        AdminCommand::ShowProcesses => {
            "SELECT SessionID, user, db, hostgroup, command, time_ms, SUBSTR(info, 0, 100) AS info \
                                   FROM stats_mysql_processlist"
                .to_owned()
        }
        AdminCommand::ShowColumns(name) => {
            let (from, name) = name.split_once('.').unwrap_or((schema, name));
            let (from, name) = (database(from)?, literal(name));
            format!(
                "SELECT name AS Field, type AS Type, CASE WHEN \"notnull\" THEN 'NO' ELSE 'YES' END AS \"Null\", \
                 CASE WHEN pk THEN 'PRI' ELSE '' END AS \"Key\", dflt_value AS \"Default\", '' AS Extra FROM \
                 (SELECT * FROM pragma_table_info({name}, '{from}') UNION ALL \
                  SELECT * FROM pragma_table_info({name}, 'stats') WHERE '{from}' <> 'stats') ORDER BY cid"
            )
        }
        _ => return Err(Refusal::NotSupported("this statement")),
    })
}

/// Returns the statement that makes a table.
fn created(name: &str, schema: &str) -> Result<String, Refusal> {
    let (from, name) = name.split_once('.').unwrap_or((schema, name));
    let name = literal(name);
    // As in a SELECT, a table is found whichever database is chosen.
    let others = ["main"].into_iter().chain(ATTACHED);
    let found: Vec<String> = [database(from)?]
        .into_iter()
        .chain(others)
        .map(|it| format!("SELECT type, name, REPLACE(sql, '{it}.', '') AS text FROM {it}.sqlite_master"))
        .collect();
    Ok(format!(
        "SELECT name AS \"table\", text AS \"Create Table\" FROM ({}) WHERE type = 'table' AND name = {name} LIMIT 1",
        found.join(" UNION ALL ")
    ))
}

/// Returns a further condition on a column, if there is a pattern for it.
fn like_text(column: &str, like: Option<&str>) -> String {
    like.map_or_else(String::new, |it| format!(" AND {column} LIKE {} ESCAPE '\\'", literal(it)))
}

fn database(name: &str) -> Result<&'static str, Refusal> {
    let known = ATTACHED.iter().chain(&["main"]).find(|known| known.eq_ignore_ascii_case(name));
    known.copied().ok_or_else(|| Refusal::NoSuchDatabase(name.to_owned()))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn value(asked: ServerQuestion, schema: &str, connection: u32, runtime: &dyn Runtime) -> Option<String> {
    match asked {
        ServerQuestion::ConnectionId => Some(connection.to_string()),
        ServerQuestion::Database => Some(schema.to_owned()),
        ServerQuestion::User => Some("admin".to_owned()),
        ServerQuestion::Version => runtime.variable("admin-version"),
        ServerQuestion::Variable(name) => variable(&name, runtime),
    }
}

/// Returns the values for questions that clients ask every server.
pub fn asked(items: Vec<(String, ServerQuestion)>, session: &Chosen, runtime: &dyn Runtime) -> Answer {
    let of = |(column, asked): (String, ServerQuestion)| {
        let value = value(asked, &session.schema, session.connection, runtime);
        (column, value.map(String::into_bytes))
    };
    let (columns, row) = items.into_iter().map(of).unzip();
    Answer::Rows { columns, rows: vec![row] }
}

/// Returns a text as one row.
pub fn data(text: String) -> Answer {
    Answer::Rows { columns: vec!["Data".to_owned()], rows: vec![vec![Some(text.into_bytes())]] }
}

/// Returns an answer without rows.
pub fn nothing(columns: &[&str]) -> Answer {
    Answer::Rows { columns: columns.iter().map(|name| (*name).to_owned()).collect(), rows: Vec::new() }
}

fn variable(name: &str, runtime: &dyn Runtime) -> Option<String> {
    let fixed = match name {
        "version_comment" => VERSION_COMMENT,
        "version" => return runtime.variable("admin-version"),
        "max_allowed_packet" => "67108864",
        "autocommit" | "auto_increment_increment" => "1",
        "character_set_client"
        | "character_set_connection"
        | "character_set_results"
        | "character_set_server"
        | "character_set_database" => "utf8mb4",
        "collation_connection" | "collation_server" | "collation_database" => "utf8mb4_general_ci",
        "sql_mode" | "socket" | "init_connect" => "",
        "wait_timeout" | "interactive_timeout" => "28800",
        "net_write_timeout" => "60",
        "time_zone" => "SYSTEM",
        "system_time_zone" => "UTC",
        "transaction_isolation" | "tx_isolation" => "SERIALIZABLE",
        "lower_case_table_names"
        | "performance_schema"
        | "query_cache_size"
        | "transaction_read_only"
        | "tx_read_only"
        | "read_only" => "0",
        "query_cache_type" => "OFF",
        _ => return None,
    };
    Some(fixed.to_owned())
}
