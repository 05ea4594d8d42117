//! The tables of a MERGE table, by its definition.

use crate::cursor::Cursor;
use crate::lex::Lexer;
use crate::modes::{Modes, TableName};
use crate::token::Token;

/// Returns the tables of a MERGE table, from the statement that SHOW CREATE TABLE shows: those in `UNION=(…)`, in their order. A name
/// without a schema belongs to the schema of the table itself. `None` where there are none, or they cannot be told.
#[must_use]
pub fn merged_tables(text: &[u8], modes: Modes) -> Option<Vec<TableName>> {
    let tokens: Vec<Token> = Lexer::new(text, modes).collect();
    let mut cursor = Cursor::new(text, modes, &tokens);
    // The columns are in parentheses, which are passed over.
    let is_found = cursor.words(&["CREATE", "TABLE"]) && cursor.seek_word("UNION");
    (is_found && cursor.punct(b'=') && cursor.punct(b'(')).then_some(())?;
    let mut names = Vec::new();
    loop {
        names.push(cursor.table_name()?);
        if cursor.punct(b')') {
            return Some(names);
        }
        cursor.punct(b',').then_some(())?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::modes::Flavor;

    #[test]
    fn the_parts_are_those_of_the_option_alone() {
        let of = |text: &str| {
            let names = merged_tables(text.as_bytes(), Modes::new(Flavor::MariaDb))?;
            Some(names.into_iter().map(|it| (it.schema, it.name)).collect::<Vec<_>>())
        };
        let columns = "CREATE TABLE `m` (\n  `union` int(11) DEFAULT NULL COMMENT 'UNION=(`x`)'\n)";
        let told = format!("{columns} ENGINE=MRG_MyISAM COMMENT='UNION=(`y`)' UNION=(`t``1`,`other`.`t2`)");
        let parts = vec![(None, "t`1".to_owned()), (Some("other".to_owned()), "t2".to_owned())];
        assert_eq!(of(&told), Some(parts));
        for untold in [
            format!("{columns} ENGINE=MRG_MyISAM"),
            format!("{columns} ENGINE=MRG_MyISAM UNION=()"),
            format!("{columns} ENGINE=MRG_MyISAM UNION=(`ї`)"),
            format!("{columns} ENGINE=MRG_MyISAM UNION=(`a`"),
            "SELECT 1 UNION=(a)".to_owned(),
        ] {
            assert_eq!(of(&untold), None, "{untold}");
        }
    }
}
