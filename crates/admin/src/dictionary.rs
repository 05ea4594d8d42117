//! `information_schema`, as far as dumps and drivers ask for it: the tables and columns of the port. They are made once, since no table
//! comes or goes.

use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use rusqlite::functions::FunctionFlags;

use crate::tables::{ATTACHED, create};

/// Databases that only the questions of clients name: they are not listed.
pub const DATABASES: [&str; 2] = ["information_schema", "performance_schema"];

/// Their tables, and the columns of these. All but the first three are empty: the port has no such objects.
const TABLES: [(&str, &str, &str); 10] = [
    (
        DATABASES[0],
        "tables",
        "table_catalog, table_schema, table_name, table_type, engine, version, row_format, table_rows, data_length, create_options, \
         table_comment",
    ),
    (
        DATABASES[0],
        "columns",
        "table_catalog, table_schema, table_name, column_name, ordinal_position, column_default, is_nullable, data_type, column_type, \
         column_key, extra, column_comment, generation_expression, character_set_name, collation_name",
    ),
    (
        DATABASES[0],
        "schemata",
        "catalog_name, schema_name, default_character_set_name, default_collation_name",
    ),
    (
        DATABASES[0],
        "files",
        "file_name, file_type, tablespace_name, logfile_group_name, engine, total_extents, extent_size, initial_size, extra",
    ),
    (DATABASES[0], "triggers", "trigger_name, event_object_schema, event_object_table"),
    (
        DATABASES[0],
        "views",
        "table_schema, table_name, check_option, definer, security_type, character_set_client, collation_connection",
    ),
    (DATABASES[0], "routines", "routine_schema, routine_name, routine_type"),
    (DATABASES[0], "partitions", "table_schema, table_name, partition_name, tablespace_name"),
    (DATABASES[0], "column_statistics", "schema_name, table_name, column_name, histogram"),
    (DATABASES[1], "column_masking_policy", "policy_name"),
];

/// Makes these tables. The other databases have their tables already.
pub fn fill(connection: &Connection) -> rusqlite::Result<()> {
    for name in DATABASES {
        connection.execute(&format!("ATTACH DATABASE ':memory:' AS {name}"), [])?;
    }
    for (database, name, columns) in TABLES {
        connection.execute(&create(database, name, columns), [])?;
    }
    for name in ATTACHED.iter().chain(&["main"]) {
        connection.execute_batch(&format!(
            "INSERT INTO information_schema.schemata VALUES ('def', '{name}', 'utf8mb4', 'utf8mb4_general_ci');
             INSERT INTO information_schema.tables
                SELECT 'def', '{name}', name, 'BASE TABLE', 'SQLite', 10, 'Dynamic', NULL, NULL, '', '' FROM {name}.sqlite_master
                WHERE type = 'table' AND name NOT LIKE 'sqlite_%';
             INSERT INTO information_schema.columns
                SELECT 'def', '{name}', it.name, of.name, of.cid + 1, of.dflt_value, CASE WHEN of.\"notnull\" THEN 'NO' ELSE 'YES' END,
                    LOWER(of.type), LOWER(of.type), CASE WHEN of.pk THEN 'PRI' ELSE '' END, '', '', '', 'utf8mb4', 'utf8mb4_general_ci'
                FROM {name}.sqlite_master AS it, pragma_table_info(it.name, '{name}') AS of
                WHERE it.type = 'table' AND it.name NOT LIKE 'sqlite_%';"
        ))?;
    }
    Ok(())
}

/// Defines DATABASE() and SCHEMA(), which return the content of `schema`.
pub fn name_schema(connection: &Connection, schema: &Arc<Mutex<String>>) -> rusqlite::Result<()> {
    for name in ["database", "schema"] {
        let schema = Arc::clone(schema);
        connection.create_scalar_function(name, 0, FunctionFlags::SQLITE_UTF8, move |_| {
            Ok(schema.lock().unwrap_or_else(PoisonError::into_inner).clone())
        })?;
    }
    Ok(())
}
