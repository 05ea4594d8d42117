//! The tables of configuration as one file in ProxySQL's syntax, and back.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::command::Module;
use crate::error::Refusal;
use crate::libconfig::{self, ConfigValue, Setting};
use crate::store::Store;
use crate::tables::CONFIGURATION;
use crate::variables::{self, Variable};

/// The longest file that is read, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// A list of groups in the file, and the table to which its rows belong.
struct Section {
    name: &'static str,
    module: Module,
    /// Other names of the columns in files.
    aliases: &'static [(&'static str, &'static str)],
}

const SECTIONS: [Section; 4] = [
    Section {
        name: "mysql_servers",
        module: Module::Servers,
        aliases: &[("address", "hostname"), ("hostgroup", "hostgroup_id")],
    },
    Section { name: "mysql_replication_hostgroups", module: Module::Servers, aliases: &[] },
    Section { name: "mysql_users", module: Module::Users, aliases: &[] },
    Section { name: "mysql_query_rules", module: Module::Rules, aliases: &[] },
];

/// Groups of variables in the file, and the beginnings of their names in the table.
const VARIABLES: [(&str, Module, &str); 2] =
    [("mysql_variables", Module::Variables, "mysql-"), ("admin_variables", Module::AdminVariables, "admin-")];

/// The outcome of loading a file.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct Imported {
    /// The number of rows for each table.
    pub rows: Vec<(&'static str, usize)>,
    /// The parts that were not taken over, and the reasons.
    pub left: Vec<String>,
    /// Active query rules that cannot be carried out, and the reasons. They are kept, and no rule counts until they are changed.
    pub refused: Vec<String>,
}

/// Returns the text of a file.
pub fn read(path: &Path) -> Result<String, Refusal> {
    let failed = |error: std::io::Error| Refusal::NotRead(format!("{}: {error}", path.display()));
    let mut text = String::new();
    let file = File::open(path).map_err(failed)?;
    if !file.metadata().map_err(failed)?.is_file() {
        return Err(Refusal::NotRead(format!("{}: it is no file", path.display())));
    }
    file.take(FILE_BYTES_MAX + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > FILE_BYTES_MAX {
        return Err(Refusal::NotRead(format!(
            "{}: it has more than {} MiB",
            path.display(),
            FILE_BYTES_MAX >> 20
        )));
    }
    Ok(text)
}

/// Puts the settings of a file for a module, or for all, into the tables of a database, beside the existing rows: all of them or none.
pub fn load(
    store: &mut Store,
    database: &str,
    only: Option<Module>,
    text: &str,
) -> Result<Imported, Refusal> {
    let settings = libconfig::parse(text).map_err(|wrong| Refusal::NotRead(wrong.to_string()))?;
    let is_wanted = |module| only.is_none_or(|only| only == module);
    let mut imported = Imported::default();
    let mut statements = Vec::new();
    for setting in &settings {
        let section = SECTIONS.iter().find(|section| section.name == setting.name);
        let variables = VARIABLES.iter().find(|(name, ..)| *name == setting.name);
        match (&setting.value, section, variables) {
            (ConfigValue::List(groups), Some(section), _) if is_wanted(section.module) => {
                for group in groups {
                    let ConfigValue::Group(group) = group else {
                        return Err(Refusal::NotRead(format!("{}: a row is a group", section.name)));
                    };
                    statements.push(row(database, section, group, &mut imported)?);
                }
                imported.rows.push((section.name, groups.len()));
            }
            (ConfigValue::Group(group), _, Some((_, module, begins))) if is_wanted(*module) => {
                let put = variables_of(database, begins, group, &mut imported)?;
                imported.rows.push(("global_variables", put.len()));
                statements.extend(put);
            }
            (_, None, None) if only.is_none() => {
                imported.left.push(format!("{}: it has no meaning in Freshet", setting.name));
            }
            (_, Some(_), _) | (_, _, Some(_)) if is_wanted_but_wrong(section, variables, is_wanted) => {
                return Err(Refusal::NotRead(format!("{}: it is of another kind", setting.name)));
            }
            _ => {}
        }
    }
    store.all_or_none(&statements)?;
    Ok(imported)
}

fn is_wanted_but_wrong(
    section: Option<&Section>,
    variables: Option<&(&str, Module, &str)>,
    is_wanted: impl Fn(Module) -> bool,
) -> bool {
    let module = section.map(|section| section.module).or(variables.map(|(_, module, _)| *module));
    module.is_some_and(is_wanted)
}

/// Returns the statement that puts one row.
fn row(
    database: &str,
    section: &Section,
    group: &[Setting],
    imported: &mut Imported,
) -> Result<String, Refusal> {
    let table = CONFIGURATION.iter().find(|table| table.name == section.name);
    let columns = table.map(|table| columns_of(table.columns)).unwrap_or_default();
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for Setting { name, value } in group {
        let alias = section.aliases.iter().find(|(alias, _)| alias == name);
        let column = alias.map_or(name.as_str(), |(_, column)| column);
        let Some((column, _)) = columns.iter().find(|(known, _)| known.eq_ignore_ascii_case(column)) else {
            imported.left.push(format!("{}: a column {name} is not known", section.name));
            continue;
        };
        names.push(*column);
        values.push(literal(value).ok_or_else(|| {
            Refusal::NotRead(format!("{}: {name} is neither a text nor a number", section.name))
        })?);
    }
    let (name, names, values) = (section.name, names.join(", "), values.join(", "));
    Ok(format!("INSERT OR REPLACE INTO {database}.{name} ({names}) VALUES ({values})"))
}

/// Returns the statements that put variables.
fn variables_of(
    database: &str,
    begins: &str,
    group: &[Setting],
    imported: &mut Imported,
) -> Result<Vec<String>, Refusal> {
    let mut statements = Vec::new();
    for Setting { name, value } in group {
        let name = format!("{begins}{name}");
        let known = variables::find(&name);
        let note = known.map_or_else(|| "it is no variable of ProxySQL's".to_owned(), |known| known.note());
        if !note.is_empty() {
            imported.left.push(format!("{name}: {note}"));
        }
        let Some(variable) = known.filter(Variable::is_kept) else { continue };
        let value = match value {
            ConfigValue::Bool(is) => format!("'{is}'"),
            other => literal(other)
                .ok_or_else(|| Refusal::NotRead(format!("{name} is neither a text nor a number")))?,
        };
        statements.push(format!(
            "INSERT OR REPLACE INTO {database}.global_variables (variable_name, variable_value) VALUES ('{}', {value})",
            variable.name
        ));
    }
    Ok(statements)
}

/// Returns a value in SQL.
fn literal(value: &ConfigValue) -> Option<String> {
    Some(match value {
        ConfigValue::Bool(is) => u8::from(*is).to_string(),
        ConfigValue::Integer(number) => number.to_string(),
        ConfigValue::Real(number) => number.to_string(),
        ConfigValue::Text(text) if text.contains('\0') => return None,
        ConfigValue::Text(text) => format!("'{}'", text.replace('\'', "''")),
        ConfigValue::List(_) | ConfigValue::Group(_) => return None,
    })
}

/// Returns the columns of a table, from its definition, and whether they are numbers.
fn columns_of(columns: &'static str) -> Vec<(&'static str, bool)> {
    let line = |line: &'static str| {
        let mut words = line.split_ascii_whitespace();
        let (name, kind) = (words.next()?, words.next()?);
        let is_column = ["INT", "INTEGER", "VARCHAR"].contains(&kind.trim_end_matches(','));
        is_column.then_some((name, kind.starts_with("INT")))
    };
    columns.lines().filter_map(line).collect()
}

/// Returns the tables of memory as the text of a file.
pub fn write(store: &Store) -> Result<String, Refusal> {
    let mut settings = Vec::new();
    for (name, _, begins) in VARIABLES {
        let query = format!(
            "SELECT variable_name, variable_value FROM main.global_variables WHERE variable_name LIKE '{begins}%'"
        );
        let variable = |row: Vec<Option<String>>| {
            let [Some(variable), Some(value)] = &row[..] else { return None };
            variables::find(variable).filter(Variable::is_kept)?;
            Some(Setting { name: variable.strip_prefix(begins)?.to_owned(), value: scalar(value) })
        };
        let group = store.rows(&query)?.into_iter().filter_map(variable).collect();
        settings.push(Setting { name: name.to_owned(), value: ConfigValue::Group(group) });
    }
    for section in &SECTIONS {
        settings.push(Setting {
            name: section.name.to_owned(),
            value: ConfigValue::List(groups(store, section)?),
        });
    }
    Ok(format!("# Freshet's configuration, in ProxySQL's syntax.\n{}", libconfig::write(&settings)))
}

/// Returns the rows of a table; NULL is left out.
fn groups(store: &Store, section: &Section) -> Result<Vec<ConfigValue>, Refusal> {
    let table = CONFIGURATION.iter().find(|table| table.name == section.name);
    let columns = table.map(|table| columns_of(table.columns)).unwrap_or_default();
    let names: Vec<&str> = columns.iter().map(|(name, _)| *name).collect();
    let query = format!("SELECT {} FROM main.{} ORDER BY rowid", names.join(", "), section.name);
    let setting = |(value, (name, is_number)): (Option<String>, &(&str, bool))| {
        // Where a column has another default, NULL becomes the empty text.
        let text = value.or_else(|| (*name == "re_modifiers").then(String::new))?;
        let alias = section.aliases.iter().find(|(_, column)| column == name);
        let number = text.parse().ok().filter(|_| *is_number).map(ConfigValue::Integer);
        Some(Setting {
            name: alias.map_or(*name, |(alias, _)| alias).to_owned(),
            value: number.unwrap_or(ConfigValue::Text(text)),
        })
    };
    let group = |row: Vec<Option<String>>| {
        ConfigValue::Group(row.into_iter().zip(&columns).filter_map(setting).collect())
    };
    Ok(store.rows(&query)?.into_iter().map(group).collect())
}

fn scalar(text: &str) -> ConfigValue {
    match (text, text.parse::<i64>()) {
        ("true", _) => ConfigValue::Bool(true),
        ("false", _) => ConfigValue::Bool(false),
        (_, Ok(number)) if number.to_string() == text => ConfigValue::Integer(number),
        _ => ConfigValue::Text(text.to_owned()),
    }
}
