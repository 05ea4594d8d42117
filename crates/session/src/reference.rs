//! The reference of Freshet's variables, status values and tables, made of the tables that the program itself uses.

use std::fmt::Write as _;

use crate::introspection::TABLES;
use crate::status::STATUS;
use crate::variables::{Lives, VARIABLES};
use crate::why;

/// Returns variables, status values, and the tables of the schema `freshet`, as Markdown: the content of `docs/reference.md`. A test
/// compares both.
pub fn reference() -> String {
    let mut page = String::from(
        "# Variables, status, and the schema freshet\n\nFreshet answers for these itself. Each may stand wherever a text of SQL has a system variable: `SET GLOBAL \
         query_cache_size = @mb * 1024 * 1024`, `SELECT @@query_cache_size / 1024 AS kb`. SHOW VARIABLES and SHOW STATUS list them among the \
         server's own, and so do `(global|session)_(variables|status)` of information_schema and performance_schema.\n\n\
         ## Variables\n\n| variable | set with | meaning |\n|---|---|---|\n",
    );
    for variable in VARIABLES {
        let scope = match variable.lives {
            Lives::Everywhere => "SET [GLOBAL \\| SESSION]",
            Lives::GlobalOnly => "SET GLOBAL",
            Lives::ReadOnly => "read only",
        };
        // Writing to a string cannot fail.
        let _ = writeln!(page, "| `{}` | {scope} | {} |", variable.name, variable.doc);
    }
    page.push_str("\n## Status\n\n`SHOW STATUS LIKE 'Qcache%'`, `SHOW STATUS LIKE 'Freshet%'`.\n\n| value | meaning |\n|---|---|\n");
    for value in STATUS {
        let _ = writeln!(page, "| `{}` | {} |", value.name, value.doc);
    }
    put_tables(&mut page);
    put_reasons(&mut page);
    page
}

fn put_tables(page: &mut String) {
    page.push_str(
        "\n## The schema `freshet`\n\n[why.md](why.md) says how these tables are read, and who sees what.\n",
    );
    for table in &TABLES {
        let _ = writeln!(page, "\n| `freshet.{}` | meaning |\n|---|---|", table.name);
        for (name, _, meaning) in table.columns {
            let _ = writeln!(page, "| `{name}` | {meaning} |");
        }
    }
}

fn put_reasons(page: &mut String) {
    page.push_str(
        "\n## Why an answer is not stored\n\n| reason | | why | what to change |\n|---|---|---|---|\n",
    );
    for said in &why::SAID {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} |",
            said.name,
            said.lasts.verdict(),
            said.sentence,
            said.remedy
        );
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_is_what_the_tables_say() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference.md");
        let page = super::reference();
        if std::env::var_os("FRESHET_WRITE_DOCS").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let written = std::fs::read_to_string(path).unwrap_or_default();
        assert_eq!(written, page, "run FRESHET_WRITE_DOCS=1 cargo test -p freshet-session reference");
    }
}
