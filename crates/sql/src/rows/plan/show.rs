//! Shows a plan in words, with one line for each relation.

use std::fmt;

use super::{QueryPlan, Relation, ResultColumn, Scalar};

impl fmt::Display for QueryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.lines(&self.root, 0).trim_end())
    }
}

impl QueryPlan {
    fn lines(&self, relation: &Relation, depth: usize) -> String {
        let under = |of: &Relation| self.lines(of, depth + 1);
        let (line, below) = match relation {
            Relation::Scan(input) => {
                (format!("scan {}{}", self.input(*input), self.columns(*input)), String::new())
            }
            Relation::Derived(input, of) => {
                (format!("derived {}{}", self.input(*input), self.columns(*input)), under(of))
            }
            Relation::Product(all) if all.is_empty() => ("one row".to_owned(), String::new()),
            Relation::Product(all) => ("product".to_owned(), all.iter().map(under).collect()),
            Relation::LeftJoin(both, on) => {
                (format!("left join on {}", self.list(on)), under(&both.0) + &under(&both.1))
            }
            Relation::Filter(of, all) => (format!("filter {}", self.list(all)), under(of)),
            Relation::Aggregate(of, by) => (format!("aggregate by [{}]", self.list(by)), under(of)),
            Relation::Project(of, columns) => {
                let columns: Vec<String> = columns.iter().map(|column| self.column(column)).collect();
                (format!("project {}", columns.join(", ")), under(of))
            }
            Relation::Distinct(of) => ("distinct".to_owned(), under(of)),
            Relation::UnionAll(both) => ("union all".to_owned(), under(&both.0) + &under(&both.1)),
            Relation::Order(of, by) => {
                let one = |(value, descends): &(Scalar, bool)| {
                    format!("{}{}", self.value(value), if *descends { " desc" } else { "" })
                };
                (format!("order by {}", by.iter().map(one).collect::<Vec<_>>().join(", ")), under(of))
            }
            Relation::Limit(of, count, offset) => {
                let offset = offset.as_ref().map(|offset| format!(" offset {offset}"));
                (format!("limit {count}{}", offset.unwrap_or_default()), under(of))
            }
        };
        format!("{}{line}\n{below}", "  ".repeat(depth))
    }

    /// Returns the name and the number of an input, because a table may be named twice.
    fn input(&self, input: usize) -> String {
        let Some(known) = self.named.get(input) else { return format!("#{input}") };
        let table = known.table.as_ref().filter(|table| table.name != known.name);
        let table = table.map(|table| format!("{} ", table.name)).unwrap_or_default();
        format!("{table}{}#{input}", known.name)
    }

    /// Returns the columns of an input that the plan names, with their types.
    fn columns(&self, input: usize) -> String {
        let Some(known) = self.named.get(input) else { return String::new() };
        let needed = self.columns_needed(input);
        let named: Vec<String> = known
            .columns
            .iter()
            .filter(|column| needed.contains(&column.name.as_str()))
            .map(ToString::to_string)
            .collect();
        if named.is_empty() { String::new() } else { format!(" ({})", named.join(", ")) }
    }

    fn column(&self, column: &ResultColumn) -> String {
        let value = self.value(&column.value);
        match &column.name {
            Some(name) if !value.ends_with(&format!(".{name}")) => format!("{value} as {name}"),
            _ => value,
        }
    }

    fn list(&self, all: &[Scalar]) -> String {
        all.iter().map(|one| self.value(one)).collect::<Vec<_>>().join(", ")
    }

    fn value(&self, value: &Scalar) -> String {
        match value {
            Scalar::Column(input, name) => {
                let table = self.named.get(*input).map(|known| known.name.as_str()).unwrap_or_default();
                format!("{table}#{input}.{name}")
            }
            Scalar::All => "*".to_owned(),
            Scalar::Item(at) => format!("item {at}"),
            Scalar::Value(value) => value.to_string(),
            Scalar::Call(name, args) => format!("{name}({})", self.list(args)),
            Scalar::Aggregate(name, is_distinct, args) => {
                format!("{name}[{}{}]", if *is_distinct { "distinct " } else { "" }, self.list(args))
            }
            Scalar::Query(of) => {
                let lines = self.lines(of, 0);
                format!("({})", lines.lines().map(str::trim).collect::<Vec<_>>().join("; "))
            }
        }
    }
}
