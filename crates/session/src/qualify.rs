//! Gives the tables of a statement's effects their schema at the moment when the server does: when the text is read.
//! A prepared statement keeps the schema that was the default then, whatever is the default when it is executed.

use freshet_sql::{Calls, Defines, Effects, Reads, TableName, Temporary, Writes};

/// Returns `effects` with every table named in full. If a name has no certain schema (there is no default, or the text
/// itself may change it between its statements) the worst is assumed.
pub(crate) fn qualify(mut effects: Effects, default: Option<&str>) -> Effects {
    let default = default.filter(|_| !effects.moves);
    if let Writes::Tables(tables) = &mut effects.writes
        && !name_all(tables, default)
    {
        effects.writes = Writes::Everything;
    }
    if let Writes::Tables(tables) = &mut effects.write_locks
        && !name_all(tables, default)
    {
        effects.write_locks = Writes::Everything;
    }
    if let Temporary::Creates(tables) | Temporary::Drops(tables) = &mut effects.temporary
        && !name_all(tables, default)
    {
        effects.temporary = Temporary::Unknown;
    }
    if let Reads::Tables(tables) = &mut effects.reads
        && !name_all(tables, default)
    {
        effects.reads = Reads::Unknown;
    }
    if let Calls::Named(calls) = &mut effects.calls
        && !name_all(calls.iter_mut().map(|call| &mut call.name), default)
    {
        effects.calls = Calls::Unknown;
    }
    if let Defines::Tables(tables) = &mut effects.defines
        && !name_all(tables, default)
    {
        effects.defines = Defines::Everything;
    }
    if let Defines::Schema(schema @ None) = &mut effects.defines {
        *schema = default.map(str::to_owned);
    }
    leave_out_what_is_written(&mut effects);
    effects
}

/// Removes written tables from the reads, since they are looked up for the write already.
fn leave_out_what_is_written(effects: &mut Effects) {
    if let (Reads::Tables(read), Writes::Tables(written)) = (&mut effects.reads, &effects.writes) {
        read.retain(|table| !written.contains(table));
    }
}

/// Gives names without a schema this one; `false` if there is none to give.
fn name_all<'a>(tables: impl IntoIterator<Item = &'a mut TableName>, default: Option<&str>) -> bool {
    for table in tables.into_iter().filter(|table| table.schema.is_none()) {
        let Some(default) = default else { return false };
        table.schema = Some(default.to_owned());
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_completed_only_where_its_schema_is_certain() {
        let writes = |table| Effects { writes: Writes::Tables(vec![table]), ..Effects::none() };
        let named = qualify(writes(TableName::bare("t")), Some("a"));
        assert_eq!(named.writes, Writes::Tables(vec![TableName::of("a", "t")]));
        let full = qualify(writes(TableName::of("b", "t")), None);
        assert_eq!(full.writes, Writes::Tables(vec![TableName::of("b", "t")]));
        assert_eq!(qualify(writes(TableName::bare("t")), None).writes, Writes::Everything);
        // `USE b; UPDATE t …` in one text.
        let moves = Effects { moves: true, ..writes(TableName::bare("t")) };
        assert_eq!(qualify(moves, Some("a")).writes, Writes::Everything);
    }

    #[test]
    fn what_is_read_is_completed_too() {
        let names = vec![TableName::bare("t"), TableName::bare("v"), TableName::of("b", "w")];
        let reads = Effects {
            reads: Reads::Tables(names),
            writes: Writes::Tables(vec![TableName::bare("t")]),
            ..Effects::none()
        };
        let whole = qualify(reads.clone(), Some("a"));
        assert_eq!(whole.reads, Reads::Tables(vec![TableName::of("a", "v"), TableName::of("b", "w")]));
        assert_eq!(qualify(reads, None).reads, Reads::Unknown);
    }

    #[test]
    fn a_temporary_table_in_an_uncertain_schema_may_be_anywhere() {
        let temporary = Temporary::Drops(vec![TableName::bare("t")]);
        let effects = Effects { temporary, moves: true, ..Effects::none() };
        assert_eq!(qualify(effects, Some("a")).temporary, Temporary::Unknown);
    }
}
