//! The columns of the tables: the targets that are measured side by side.

use crate::counters::first;
use crate::login;
use crate::target::{Failure, Target};

use super::options::Options;

/// The kind of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The server itself, whose cache is off.
    Direct,
    /// The server itself with its native query cache.
    Native,
    /// Through Freshet.
    Freshet,
    /// The floor: a target with a ready answer.
    Floor,
    /// Anything else.
    Other,
}

/// One column.
#[derive(Debug, Clone)]
pub struct Column {
    /// The name in the tables.
    pub title: String,
    /// The kind.
    pub role: Role,
    /// The group of servers within which it is compared; `None` if it stands beside all groups.
    pub group: Option<String>,
    /// The version that the server reports.
    pub version: String,
    /// The target.
    pub target: Target,
}

impl Column {
    /// Whether there are tables behind the column.
    pub fn has_data(&self) -> bool {
        self.role != Role::Floor
    }

    /// Whether the column's cache has a size that can be set.
    pub fn has_cache(&self) -> bool {
        matches!(self.role, Role::Native | Role::Freshet)
    }

    /// Whether the column stands in the tables of a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.group.as_deref().is_none_or(|of| of == group)
    }

    fn new(target: &Target, version: String) -> Column {
        let (group, name) = match target.name.split_once(':') {
            Some((group, name)) => (Some(group.to_owned()), name),
            None => (None, target.name.as_str()),
        };
        let (role, title) = match name {
            "direct" => (Role::Direct, "direct"),
            "native" => (Role::Native, "native cache"),
            "freshet" => (Role::Freshet, "Freshet"),
            "floor" => (Role::Floor, "floor"),
            other => (Role::Other, other),
        };
        Column { title: title.to_owned(), role, group, version, target: target.clone() }
    }
}

/// Returns all wanted columns. A column without a group of its own belongs to the group of the server behind it.
///
/// # Errors
/// If a column does not answer, or no column is the server itself.
pub async fn columns(options: &Options) -> Result<Vec<Column>, Failure> {
    let mut columns: Vec<Column> = Vec::new();
    for target in &options.columns {
        let mut wire = login::open(&options.account, target, "").await?;
        let version = first(&mut wire, "SELECT VERSION()").await?.unwrap_or_default();
        columns.push(Column::new(target, version));
    }
    let groups = groups(&columns);
    if groups.is_empty() {
        return Err("there is no column GROUP:direct".into());
    }
    let of_version = |version: &str| {
        let is_like = |column: &&Column| is_mariadb(&column.version) == is_mariadb(version);
        let direct = columns.iter().filter(|column| column.role == Role::Direct).find(is_like);
        direct.and_then(|column| column.group.clone())
    };
    let found: Vec<_> = columns.iter().map(|column| of_version(&column.version)).collect();
    for (column, found) in columns.iter_mut().zip(found) {
        if column.role == Role::Other && column.group.is_none() {
            column.group = found;
        }
    }
    Ok(columns)
}

fn is_mariadb(version: &str) -> bool {
    version.contains("MariaDB")
}

/// Returns the groups, in their order.
pub fn groups(columns: &[Column]) -> Vec<&str> {
    let directs = columns.iter().filter(|column| column.role == Role::Direct);
    directs.filter_map(|column| column.group.as_deref()).collect()
}

/// Returns the name and version that a group's server reports, such as "MariaDB 10.11.19".
pub fn server_of(columns: &[Column], group: &str) -> String {
    let of = |column: &&Column| column.role == Role::Direct && column.is_in(group);
    let version = columns.iter().find(of).map(|column| column.version.as_str()).unwrap_or_default();
    let name = if is_mariadb(version) { "MariaDB" } else { "MySQL" };
    format!("{name} {}", version.split('-').next().unwrap_or_default())
}
