//! Which tables may be copied.

use freshet_catalog::Name;

/// Names of tables and of whole schemas, in the order in which they were written.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TableList(Vec<(String, Option<String>)>);

impl TableList {
    /// Reads `schema.table, schema.*`; `None` if one of them is neither.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let one = |text: &str| {
            let unquoted = |name: &str| {
                let inner = name.strip_prefix('`').and_then(|name| name.strip_suffix('`')).unwrap_or(name);
                (!inner.is_empty() && !inner.contains(['`', '.'])).then(|| inner.to_owned())
            };
            let (schema, table) = text.trim().split_once('.')?;
            Some((unquoted(schema)?, if table == "*" { None } else { Some(unquoted(table)?) }))
        };
        if text.trim().is_empty() {
            return Some(Self::default());
        }
        text.split(',').map(one).collect::<Option<_>>().map(Self)
    }

    /// Whether the list names a table, by itself or with its schema. Names are the server's, without regard to case.
    fn has(&self, (schema, table): &Name) -> bool {
        self.0.iter().any(|(own, name)| {
            own.eq_ignore_ascii_case(schema)
                && name.as_ref().is_none_or(|name| name.eq_ignore_ascii_case(table))
        })
    }
}

/// The settings for copied tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopiedTables {
    /// Only these are copied; if the list is empty, all.
    pub only: TableList,
    /// These are not copied.
    pub ignored: TableList,
}

impl CopiedTables {
    /// Returns the setting that leaves a table out, if one does.
    pub(crate) fn leaves_out(&self, name: &Name) -> Option<&'static str> {
        if self.ignored.has(name) {
            Some("replication_tables_ignore")
        } else if !self.only.0.is_empty() && !self.only.has(name) {
            Some("replication_tables")
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_schemas_are_named() {
        let copied = |only: &str, ignored: &str| CopiedTables {
            only: TableList::parse(only).unwrap(),
            ignored: TableList::parse(ignored).unwrap(),
        };
        let name = |schema: &str, table: &str| (schema.to_owned(), table.to_owned());
        assert_eq!(copied("", "").leaves_out(&name("a", "t")), None);
        let some = copied("a.t, `b`.*", "b.secret");
        assert_eq!(some.leaves_out(&name("a", "T")), None);
        assert_eq!(some.leaves_out(&name("a", "u")), Some("replication_tables"));
        assert_eq!(some.leaves_out(&name("b", "any")), None);
        assert_eq!(some.leaves_out(&name("b", "secret")), Some("replication_tables_ignore"));
        for odd in ["t", "a.", ".t", "a.t,", "a.b.c", "a.`t"] {
            assert_eq!(TableList::parse(odd), None, "{odd}");
        }
    }
}
