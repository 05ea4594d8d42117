//! A write of rows of one table.

use freshet_sql::{Effects, RowWrite};

use super::asked::statement;
use super::text::{TextQuery, forward};
use crate::reading;
use crate::relay::Lost;
use crate::rows::{Write, WriteText};
use crate::session::{Deeds, Flow, Forward, Session};
use crate::template::{BoundWrite, New};

/// Notes what a text of a new form does, if the text writes rows of one table, for other texts of its form. Returns these rows, if they are
/// those by which the write is judged.
pub(super) fn learn(session: &Session, new: New<'_>, effects: &Effects) -> Option<RowWrite> {
    let is_one = reading::writes_one_table(effects) && !effects.several && !effects.is_definition;
    let rows = if is_one { new.tokens.row_write()? } else { return None };
    let is_read_so = new.tokens.modes() == session.parse_settings().modes_of_write;
    session.shared.templates.knows_write(new, effects);
    Some(rows).filter(|_| is_read_so)
}

/// Returns the write of a text whose rows have been read.
pub(super) fn read<'a>(
    session: &Session,
    text: &'a [u8],
    schema: Option<&'a str>,
    what: RowWrite,
) -> Write<'a> {
    let modes = session.parse_settings().modes_of_write;
    let text = Some(WriteText { text, modes, schema });
    Write { what: Some(what), text, ..Write::default() }.in_zone(session.zone())
}

/// Forwards a write whose form is known.
pub(super) async fn handle(
    session: &mut Session,
    query: TextQuery<'_>,
    bound: BoundWrite<'_>,
) -> Result<Flow, Lost> {
    let text = query.text();
    let what = bound.rows(statement(session, text));
    let schema = session.state.environment.schema().map(str::to_owned);
    let told = WriteText { text, modes: session.parse_settings().modes_of_write, schema: schema.as_deref() };
    let (is_plain, zone) = (bound.is_plain(), session.zone());
    let write = Write { what, text: Some(told), ..Write::default() };
    let write = Some(if is_plain { Write { zone, ..write } } else { write.in_zone(zone) });
    let deeds = Deeds { write, ..Deeds::from(bound.effects()) };
    let message = query.message().with_memo(bound.digest_memo()).known_as(is_plain);
    forward(session, Forward::new(message, deeds)).await
}
