//! The places of a table's columns in its row images, across definitions that keep its rows.
//!
//! The stream reports what a definition does to the columns, and the row images after it are read by the result. The server's description
//! of the table has to agree before any answer is made from the copy; if it does not, the copy is made anew.

use freshet_catalog::ColumnInfo;
use freshet_sql::Alteration;

/// The columns of a table, in the order of its row images.
#[derive(Debug, Clone)]
pub(super) struct Layout(Vec<ImageColumn>);

/// A column: its name, and its known definition. `None`: the column was added or changed since the table was read.
#[derive(Debug, Clone)]
struct ImageColumn(String, Option<ColumnInfo>);

impl Layout {
    pub(super) fn of(columns: &[ColumnInfo]) -> Self {
        Self(columns.iter().map(|column| ImageColumn(column.name.clone(), Some(column.clone()))).collect())
    }

    /// How many columns the images have.
    pub(super) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns the layout after a definition, and where each of its columns stood before; `None` if that is unknown.
    pub(super) fn altered(&self, alteration: &Alteration) -> Option<(Self, Vec<Option<usize>>)> {
        let names: Vec<&str> = self.0.iter().map(|ImageColumn(name, _)| &**name).collect();
        let columns = alteration.apply(&names)?;
        let from = columns.iter().map(|column| column.from).collect();
        let known = |from: Option<usize>| self.0.get(from?)?.1.clone();
        let columns = columns.into_iter().map(|column| ImageColumn(column.name, known(column.from)));
        Some((Self(columns.collect()), from))
    }

    /// Whether the layout is of these columns, and values of unchanged columns are read as before.
    pub(super) fn is_of(&self, columns: &[ColumnInfo]) -> bool {
        let is_same = |(ImageColumn(name, known), column): (&ImageColumn, &ColumnInfo)| {
            let is_read_alike = |known: &ColumnInfo| {
                known.data_type == column.data_type
                    && known.key == column.key
                    && known.generated == column.generated
                    && known.nullable == column.nullable
            };
            *name == column.name && known.as_ref().is_none_or(is_read_alike)
        };
        self.0.len() == columns.len() && self.0.iter().zip(columns).all(is_same)
    }
}

#[cfg(test)]
mod tests {
    use freshet_catalog::rows::samples;
    use freshet_sql::{BinlogEffect, Flavor, binlog_effect};

    use super::*;

    fn altered(layout: &Layout, text: &str) -> Option<(Layout, Vec<Option<usize>>)> {
        let effect = binlog_effect(text.as_bytes(), "s", Flavor::MySql, true);
        let BinlogEffect::Definition { alteration: Some(alteration), .. } = effect else { panic!("{text}") };
        layout.altered(&alteration)
    }

    #[test]
    fn columns_are_known_until_they_change() {
        let table = samples::table();
        let columns = &*table.columns;
        let layout = Layout::of(columns);
        assert!(layout.is_of(columns) && !layout.is_of(&columns[1..]));
        let name = &columns[1].name;
        // What has come or changed is as the server says; what was there has to be what it was.
        let (wider, from) = altered(&layout, "ALTER TABLE t ADD COLUMN new INT FIRST").unwrap();
        assert_eq!((from[0], from[1], wider.len()), (None, Some(0), columns.len() + 1));
        let new = ColumnInfo { name: "new".to_owned(), ..columns[1].clone() };
        let with = |second: &ColumnInfo| {
            let mut all = columns.to_vec();
            all[1] = second.clone();
            all.insert(0, new.clone());
            all
        };
        assert!(wider.is_of(&with(&columns[1])));
        let other = ColumnInfo { generated: !columns[1].generated, ..columns[1].clone() };
        assert!(!wider.is_of(&with(&other)));
        let (changed, from) = altered(&wider, &format!("ALTER TABLE t MODIFY {name} BIGINT")).unwrap();
        assert_eq!(from[2], None);
        assert!(changed.is_of(&with(&other)));
        // And back.
        let (back, _) = altered(&wider, "ALTER TABLE t DROP COLUMN new").unwrap();
        assert!(back.is_of(columns));
        assert!(altered(&layout, "ALTER TABLE t DROP COLUMN nowhere").is_none());
    }
}
