//! The condition by which a question to the server names one object.

use freshet_upstream::control::quote;

use crate::name::Name;

/// Returns the condition that holds for this schema and name in these columns.
pub(super) fn these(schema_column: &str, name_column: &str, (schema, name): &Name) -> String {
    format!("{schema_column} = {} AND {name_column} = {}", quote(schema), quote(name))
}
