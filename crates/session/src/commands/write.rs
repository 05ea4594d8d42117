//! A write of rows of one table.

use freshet_protocol::Command;
use freshet_sql::Effects;

use super::select::statement;
use super::text::Query;
use crate::reading::{self, LONG_BYTES_MIN};
use crate::relay::Lost;
use crate::rows::{Write, WriteText};
use crate::session::{Flow, Forward, Session};
use crate::template::BoundWrite;

/// Notes what a text does, if it is such a write, for others of its form.
pub(super) fn learn(session: &Session, text: &[u8], effects: &Effects) {
    let is_one = reading::writes_one_table(effects) && !effects.several && !effects.is_definition;
    let is_known = is_one && text.len() < LONG_BYTES_MIN && session.environment().is_some();
    if is_known && freshet_sql::row_write(text, session.modes()).is_some() {
        session.shared.templates.knows_write(statement(session, text), effects);
    }
}

/// Forwards one whose form is known.
pub(super) async fn handle(session: &mut Session, query: Query<'_>, bound: BoundWrite) -> Result<Flow, Lost> {
    let text = query.text();
    let what = bound.rows(statement(session, text));
    let schema = session.state.schema.clone();
    let told = WriteText { text, modes: session.manner().modes_of_write, schema: schema.as_deref() };
    let write = Some(Write { what, text: Some(told), ..Write::default() }.in_zone(session.zone()));
    let forward = Forward { text, write, ..Forward::new(query.packet, Command::Query, bound.effects()) };
    session.forward(forward).await?;
    Ok(Flow::Continue)
}
