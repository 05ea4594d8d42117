//! A write of rows of one table.

use freshet_sql::Effects;

use super::asked::statement;
use super::text::{TextQuery, forward};
use crate::reading;
use crate::relay::Lost;
use crate::rows::{Write, WriteText};
use crate::session::{Deeds, Flow, Forward, Session};
use crate::template::{BoundWrite, New};

/// Notes what a text of a new form does, if the text writes rows of one table, for other texts of its form.
pub(super) fn learn(session: &Session, new: New<'_>, effects: &Effects) {
    let is_one = reading::writes_one_table(effects) && !effects.several && !effects.is_definition;
    if is_one && new.tokens.row_write().is_some() {
        session.shared.templates.knows_write(new, effects);
    }
}

/// Forwards a write whose form is known.
pub(super) async fn handle(
    session: &mut Session,
    query: TextQuery<'_>,
    bound: BoundWrite<'_>,
) -> Result<Flow, Lost> {
    let text = query.text();
    let what = bound.rows(statement(session, text));
    let schema = session.state.schema.clone();
    let told = WriteText { text, modes: session.parse_settings().modes_of_write, schema: schema.as_deref() };
    let write = Some(Write { what, text: Some(told), ..Write::default() }.in_zone(session.zone()));
    let deeds = Deeds { write, ..Deeds::from(bound.effects()) };
    forward(session, Forward::new(query.message().with_memo(bound.digest_memo()), deeds)).await
}
