//! COM_QUERY: a statement as text.

use std::pin::pin;

use bytes::{Bytes, BytesMut};
use freshet_protocol::{Capabilities, Command, ErrPacket};
use freshet_sql::{
    Assignment, Effects, Flavor, HintError, Modes, Ours, Request, TextPrepared, TransactionControl,
};
use freshet_upstream::Error;

use super::decided::Decided;
use super::plain::sets;
use super::refusals::{malformed, refuse_interrupted, unavailable};
use super::text::TextQuery;
use super::{
    asked, attributes, bargain, decided, explain, introspect, kill, ours, processes, riding, select,
    text_prepared, transaction, write,
};
use crate::reading::{self, LONG_BYTES_MIN, ReadText};
use crate::relay::Lost;
use crate::rows::Write;
use crate::session::{Carriage, Flow, LaneWait, LaneWaits, Logged, Missed, Session, is_select_of_its_own};
use crate::template::{Bound, ByForm, New, SelectKind};
use crate::warnings;

/// Answers a query from memory, if possible.
pub(super) fn from_memory(session: &mut Session, packet: &[u8]) -> Result<(), Missed> {
    session.recall();
    let text = text_offset(session, packet).and_then(|text_at| packet.get(text_at..));
    let key = session.current_key();
    // With query rules, statements that have no key of their own are decided first.
    if !session.ruled.are_there() {
        if text.is_some_and(|text| session.answer_found_rows(text) || transaction::from_memory(session, text))
        {
            return Ok(());
        }
        if let Some(done) = text.and_then(|text| text_prepared::from_memory(session, text)) {
            return done;
        }
    }
    let Some(key) = key else { return Err(Missed::default()) };
    text.map_or(Err(Missed::default()), |text| asked::from_memory(session, text, key))
}

/// Returns where the statement starts; `None` if the packet cannot be read.
fn text_offset(session: &Session, packet: &[u8]) -> Option<usize> {
    let attributes = session.capabilities().contains(Capabilities::QUERY_ATTRIBUTES);
    if attributes { attributes::text_offset(packet).ok() } else { Some(1) }
}

/// Carries out a query that was not answered from memory at once.
pub(super) async fn handle(session: &mut Session, packet: BytesMut, missed: Missed) -> Result<Flow, Lost> {
    let frozen;
    let (packet, long) = if packet.len() < LONG_BYTES_MIN {
        (&packet[..], None)
    } else {
        frozen = packet.freeze();
        (&frozen[..], Some(&frozen))
    };
    let Some(text_at) = text_offset(session, packet) else { return session.refuse(&malformed()) };
    let query = TextQuery { packet, long, text_at, missed };
    session.note_asked(query.text());
    let line = session.begins_line(Logged::text);
    let flow = match decided::text(session, &query) {
        Decided::Answered => Ok(Flow::Continue),
        Decided::AsItCame => pin!(carry_out(session, query)).await,
        Decided::Rewritten(packet) => Box::pin(rewritten(session, packet, text_at)).await,
    };
    if let Some(line) = line {
        let text = text_offset(session, packet).and_then(|at| packet.get(at..));
        session.ends_line(&line, text.unwrap_or_default());
    }
    flow
}

/// Carries out the statement that query rules have put in another's place.
async fn rewritten(session: &mut Session, packet: Vec<u8>, text_at: usize) -> Result<Flow, Lost> {
    let packet = Bytes::from(packet);
    let long = (packet.len() >= LONG_BYTES_MIN).then_some(&packet);
    carry_out(session, TextQuery { packet: &packet, long, text_at, missed: Missed::default() }).await
}

/// Carries out a statement on which the query rules have decided.
async fn carry_out(session: &mut Session, mut query: TextQuery<'_>) -> Result<Flow, Lost> {
    let control = transaction::read(session, query.text());
    let controlled = |control| transaction::answered(session, control, Command::Query);
    if let Some(flow) = control.as_ref().and_then(controlled) {
        return Ok(flow);
    }
    let mut by_form = ByFormHere::default();
    if is_by_policy(session, &query, &mut by_form) || warnings::show(session, query.text()) {
        return Ok(Flow::Continue);
    }
    if let Some(setting) = session.setting(Command::Query, query.text())
        && let Some(done) = Box::pin(sets(session, setting)).await
    {
        return done;
    }
    if is_of_settings(session, &query, &mut by_form) {
        return Ok(Flow::Continue);
    }
    if session.state.reads_ours {
        if let Err(error) = session.connect().await {
            return unavailable(session, &error);
        }
        if let Some(done) = Box::pin(introspect::inside(session, query)).await {
            return done;
        }
    }
    if let Some(flow) = pin!(without_the_server(session, &mut query, &mut by_form)).await? {
        return Ok(flow);
    }
    // Boxed, so that a statement that rides takes no room for all that is not done for it.
    Box::pin(carry_out_here(session, query, control, by_form)).await
}

/// Tries to have a SELECT answered without the session's own connection: with another client's answer, or over a lane.
async fn without_the_server<'a>(
    session: &mut Session,
    query: &mut TextQuery<'a>,
    by_form: &mut ByFormHere<'a>,
) -> Result<Option<Flow>, Lost> {
    let mut lane_waits = LaneWaits::default();
    loop {
        let waits = async |session: &mut Session| waits(session, query, by_form).await;
        if pin!(session.waits_unconnected(waits)).await? {
            return Ok(Some(Flow::Continue));
        }
        let carriage = match session.may_ride_or_lend(|| is_select_of_its_own(query.text())).await {
            Ok(carriage) => carriage,
            Err(error) => return unavailable(session, &error).map(Some),
        };
        if let Some(carriage) = carriage
            && pin!(rides(session, query, carriage, by_form)).await?
        {
            return Ok(Some(Flow::Continue));
        }
        if !session.is_in_rush() || !waits_for_lane(session, query, by_form) {
            return Ok(None);
        }
        match session.waits_for_lane(&mut lane_waits).await? {
            LaneWait::Over => {}
            LaneWait::Useless => return Ok(None),
            LaneWait::Interrupted => return refuse_interrupted(session).map(Some),
        }
        // Others may have had the form read meanwhile, and the answer stored.
        *by_form = ByFormHere::default();
        if let Some(key) = session.current_key() {
            match asked::from_memory(session, query.text(), key) {
                Ok(()) => return Ok(Some(Flow::Continue)),
                Err(later) => query.missed = query.missed.and(later),
            }
        }
    }
}

/// Whether it is worth that a statement waits for a lane: one may carry it soon, as far as is known.
fn waits_for_lane<'a>(session: &Session, query: &TextQuery<'a>, by_form: &mut ByFormHere<'a>) -> bool {
    match by_form.look(session, query) {
        Some(ByForm::Known(Bound::Select(known))) => riding::waits_for_lane(session, query, known),
        Some(ByForm::Known(Bound::Write(_))) => false,
        Some(ByForm::New(_)) | None => query.long.is_none() && is_select_of_its_own(query.text()),
    }
}

/// Carries out a statement that no lane has carried: on the session's own connection, if a server is needed.
async fn carry_out_here<'a>(
    session: &mut Session,
    query: TextQuery<'a>,
    control: Option<TransactionControl>,
    mut by_form: ByFormHere<'a>,
) -> Result<Flow, Lost> {
    if let Err(error) = begin_to_read(session, query.text()).await {
        return unavailable(session, &error);
    }
    if let Some(explained) = explained(session, &query) {
        return Box::pin(explain::handle(session, explained)).await;
    }
    if let Some(control) = control {
        let message = query.message();
        let begun = Box::pin(transaction::begin(session, message, &control)).await?;
        if let Some(flow) = begun {
            return Ok(flow);
        }
    }
    // Nothing of Freshet's own, and no hint, stands in a plain text.
    let is_plain = by_form.look(session, &query).as_ref().is_some_and(ByForm::is_plain);
    if !is_plain && let Some(done) = with_ours(session, query).await {
        return done;
    }
    let filled = match is_plain {
        true => None,
        false => match Box::pin(put_in(session, &query)).await? {
            Ok(filled) => filled,
            Err(error) => return session.refuse(&error),
        },
    };
    let Some(missed) = look_again(session, filled.as_deref(), query.missed) else {
        return Ok(Flow::Continue);
    };
    let unhinted = match is_plain {
        true => None,
        false => match without_hints_elsewhere(session, &query.in_packet(filled.as_deref())) {
            Ok(unhinted) => unhinted,
            Err(error) => return session.refuse(&error),
        },
    };
    let made = unhinted.or(filled);
    let query = TextQuery { missed, ..query.in_packet(made.as_deref()) };
    let new = match by_form.of(session, &query, made.is_some()) {
        Some(ByForm::Known(Bound::Select(known))) => {
            let done = pin!(select::handle(session, query, select::SelectForm::Known(known))).await;
            return select::done(session, query, done).await;
        }
        Some(ByForm::Known(Bound::Write(known))) => {
            return Box::pin(write::handle(session, query, known)).await;
        }
        Some(ByForm::New(new)) => Some(*new),
        None => None,
    };
    Box::pin(handle_new(session, query, new)).await
}

/// Looks up a text once more if values of Freshet's own were put into it. Returns the outcome of a miss, or `None` if the text is answered.
fn look_again(session: &mut Session, filled: Option<&[u8]>, missed: Missed) -> Option<Missed> {
    let Some(packet) = filled else { return Some(missed) };
    if session.ruled.are_there() {
        // The rules decide on the text as the client sent it. An answer stored for the filled text belongs to the filled text's decision.
        session.ruled.bar();
        return Some(missed);
    }
    from_memory(session, packet).err()
}

/// Makes sure that the session has a connection, and knows what it needs to read the text.
async fn begin_to_read(session: &mut Session, text: &[u8]) -> Result<(), Error> {
    session.connect_for(text).await?;
    Box::pin(session.learn_to_read(text)).await
}

/// Answers texts that are partly Freshet's own: several statements in one text, and a table that is read as it is.
async fn with_ours(session: &mut Session, query: TextQuery<'_>) -> Option<Result<Flow, Lost>> {
    if freshet_sql::lists_session_status(query.text(), session.modes()) {
        return Some(Box::pin(ours::session_status(session, query)).await);
    }
    let pieces = ours::pieces(session, &query)?;
    Some(Box::pin(ours::several(session, query, &pieces)).await)
}

/// Carries out a statement of a new form, or one whose form was not looked for.
async fn handle_new(session: &mut Session, query: TextQuery<'_>, new: Option<New<'_>>) -> Result<Flow, Lost> {
    let ReadText { request, write: rows, select: long } = read(session, query, new.as_ref()).await;
    if let Some(long) = long {
        return Box::pin(select::handle_long(session, query, long)).await;
    }
    match request {
        Request::Select { .. } if Box::pin(introspect::is_ours(session, query.text())).await => {
            Box::pin(introspect::handle(session, query)).await
        }
        Request::Select { .. } => {
            let kind = SelectKind::from(&request);
            let new = new.map(|new| new.of_kind(kind));
            let found = new.map_or(select::SelectForm::Unread, select::SelectForm::New);
            let done = Box::pin(select::handle(session, query, found)).await;
            select::done(session, query, done).await
        }
        Request::Ours(Ours::SetMixed { ours: assignments, rest }) => {
            Box::pin(ours::mixed(session, query, &assignments, rest.as_bytes())).await
        }
        Request::Ours(Ours::SetStatement { ours: assignments, rest }) => {
            Box::pin(for_statement(session, query, &assignments, &rest)).await
        }
        Request::Ours(statement) => Box::pin(ours::handle(session, query, statement)).await,
        Request::Kill(kill) => Box::pin(kill::statement(session, query, kill)).await,
        Request::Other(effects) => {
            if introspect::may_be_shown(query.text())
                && let Some(done) = Box::pin(introspect::show(session, query.text())).await
            {
                return done;
            }
            if let Some(done) = processes::show(session, query).await {
                return done;
            }
            let effects = session.certain(query.text(), effects);
            let learned = new.and_then(|new| write::learn(session, new, &effects));
            if let Some(done) = kill::by_variable(session, query).await {
                return done;
            }
            if let Some(done) = kill::among_others(session, query, &effects).await {
                return done;
            }
            let schema = session.state.environment.schema().map(str::to_owned);
            let rows = match rows.filter(|_| reading::writes_one_table(&effects)) {
                Some(what) => Some(Write { what: Some(what), ..Write::default() }),
                None => learned.map(|what| write::read(session, query.text(), schema.as_deref(), what)),
            };
            let is_several = effects.several;
            let flow = Box::pin(text_prepared::forward(session, query, effects, rows)).await;
            if is_several {
                Box::pin(ours::heed_several(session, query.text())).await;
            }
            flow
        }
    }
}

/// Answers a SELECT of a known form from memory by the policy of its query's cache, if possible.
fn is_by_policy<'a>(session: &mut Session, query: &TextQuery<'a>, by_form: &mut ByFormHere<'a>) -> bool {
    if session.shared.created.policies() == 0 {
        return false;
    }
    let Some(ByForm::Known(Bound::Select(known))) = by_form.look(session, query) else { return false };
    session.heed_policy(known.template().query.id);
    session.ruled.policy().is_some() && matches!(bargain::from_memory(session, query.text()), Some(Ok(())))
}

/// Answers a SELECT of literals and settings by a client without a connection, if the answer is known.
fn is_of_settings<'a>(session: &mut Session, query: &TextQuery<'a>, by_form: &mut ByFormHere<'a>) -> bool {
    if session.lease.is_open() {
        return false;
    }
    let may_be = match by_form.look(session, query) {
        Some(ByForm::Known(Bound::Select(known))) => known.template().tables.known.is_empty(),
        Some(ByForm::Known(Bound::Write(_))) => false,
        Some(ByForm::New(_)) | None => true,
    };
    may_be && session.shows_settings(query.text())
}

/// Has a SELECT of a known form wait for the answer to the same SELECT that another client has asked, before a connection is sought for it: who
/// waits needs none. Returns whether the SELECT is answered by then.
async fn waits<'a>(
    session: &mut Session,
    query: &TextQuery<'a>,
    by_form: &mut ByFormHere<'a>,
) -> Result<bool, Lost> {
    match by_form.look(session, query) {
        Some(ByForm::Known(Bound::Select(known))) => riding::waits(session, query, known).await,
        _ => Ok(false),
    }
}

/// Has a lane carry a SELECT of a known form, if that is allowed. Returns false if the SELECT still needs an answer. `by_form` keeps
/// the look-up of the form for the code that then answers it.
async fn rides<'a>(
    session: &mut Session,
    query: &TextQuery<'a>,
    carriage: Carriage,
    by_form: &mut ByFormHere<'a>,
) -> Result<bool, Lost> {
    match by_form.look(session, query) {
        Some(ByForm::Known(Bound::Select(known))) => riding::ride(session, query, known, carriage).await,
        _ => Ok(false),
    }
}

/// Returns the statement behind EXPLAIN FRESHET.
fn explained<'a>(session: &Session, query: &TextQuery<'a>) -> Option<&'a [u8]> {
    if query.long.is_some() { None } else { freshet_sql::explained(query.text(), session.modes()) }
}

/// Returns the packet with values of Freshet's own in it, if the statement mentions such values and is for the server all the same.
async fn put_in(
    session: &mut Session,
    query: &TextQuery<'_>,
) -> Result<Result<Option<Vec<u8>>, ErrPacket>, Lost> {
    if query.long.is_some() {
        return Ok(Ok(None));
    }
    let (text, modes) = (query.text(), session.modes());
    let mentions = ours::mention::mentions(session, text);
    // A SET STATEMENT uses the values that it sets.
    let is_ours = || {
        let read = freshet_sql::read(text, modes);
        matches!(read, Request::Ours(Ours::SelectVariables(_) | Ours::SetStatement { .. }))
    };
    if mentions.is_empty() || is_ours() {
        return Ok(Ok(None));
    }
    let may_process = ours::mention::may_process(session, &mentions).await?;
    Ok(match ours::mention::filled(session, text, &mentions, may_process) {
        Ok(filled) => Ok(Some(query.with_text(&filled))),
        Err(error) => Err(Box::pin(ours::mention::error_before(session, text)).await.unwrap_or(error)),
    })
}

/// Returns the packet without SQL_CACHE and SQL_NO_CACHE, where they stand in a statement other than a SELECT that a MySQL server reads, or
/// in a text that a MySQL server prepares. (The analysis of a SELECT finds the hints of a SELECT.)
///
/// # Errors
/// The error that the native query cache gives for misused hints.
fn without_hints_elsewhere(session: &Session, query: &TextQuery<'_>) -> Result<Option<Vec<u8>>, ErrPacket> {
    let (text, modes) = (query.text(), session.modes());
    // The text to be prepared may be in a user variable.
    let is_prepared =
        || text.trim_ascii_start().get(..7).is_some_and(|it| it.eq_ignore_ascii_case(b"PREPARE"));
    let is_none = |text: &[u8]| !freshet_sql::may_be_hinted(text) && !is_prepared();
    if query.long.is_some() || session.flavor() == Flavor::MariaDb || is_none(text) {
        return Ok(None);
    }
    if let Some(TextPrepared::Prepare { name, text: Some(prepared), .. }) = text_prepared::read(session, text)
    {
        hint_error(&prepared, modes)?;
        let stripped = freshet_sql::strip_hint(&prepared, modes);
        return Ok(stripped.map(|prepared| {
            let prepared = ours::quoted(session, &prepared);
            query.with_text(
                &[b"PREPARE `", &*ours::doubled(name.as_bytes(), b'`'), b"` FROM ", &*prepared].concat(),
            )
        }));
    }
    if freshet_sql::is_one_select(text, modes) {
        return Ok(None);
    }
    hint_error(text, modes)?;
    Ok(freshet_sql::strip_hint(text, modes).map(|text| query.with_text(&text)))
}

/// # Errors
/// The error that MariaDB gives for misused hints.
fn hint_error(text: &[u8], modes: Modes) -> Result<(), ErrPacket> {
    match freshet_sql::hint_error(text, modes) {
        Some(HintError { code, sqlstate, message }) => Err(ErrPacket::new(code, sqlstate, &message)),
        None => Ok(()),
    }
}

/// What a statement is by its form, and the environment of the look-up: in another environment, the text may be read in another way.
#[derive(Default)]
struct ByFormHere<'a> {
    by_form: Option<ByForm<'a>>,
    looked_up_in: (Option<u32>, u64),
}

impl<'a> ByFormHere<'a> {
    /// Looks the statement up, unless that has been done in the session's present environment.
    fn look(&mut self, session: &Session, query: &TextQuery<'a>) -> &Option<ByForm<'a>> {
        if self.by_form.is_none() || self.looked_up_in != session.environment_now() {
            *self = Self { by_form: found(session, query), looked_up_in: session.environment_now() };
        }
        &self.by_form
    }

    /// Returns what a statement is: as it was found, if the session is still in the same environment, and no definition has changed that
    /// the result rests on. `is_another`: the statement was rewritten since.
    fn of(self, session: &Session, query: &TextQuery<'a>, is_another: bool) -> Option<ByForm<'a>> {
        let is_here = !is_another && self.looked_up_in == session.environment_now();
        let is_current = |by_form: &ByForm<'_>| match by_form {
            ByForm::Known(Bound::Select(known)) => session.shared.upstream.is_current(&known.template().told),
            ByForm::Known(Bound::Write(_)) | ByForm::New(_) => true,
        };
        self.by_form.filter(|it| is_here && is_current(it)).or_else(|| found(session, query))
    }
}

/// Returns what a statement is by its form; `None` for a long one, and where it is not certain how the session reads texts.
fn found<'a>(session: &Session, query: &TextQuery<'a>) -> Option<ByForm<'a>> {
    session.environment()?;
    let (shared, schema) = (&session.shared, session.state.environment.schema());
    let find = || shared.templates.find(query.text(), session.modes(), schema, &shared.upstream);
    query.long.is_none().then(find)
}

/// Reads the text. Another thread reads a long one, and finds all facts that are needed.
async fn read(session: &Session, query: TextQuery<'_>, new: Option<&New<'_>>) -> ReadText {
    let settings = session.parse_settings();
    let Some(packet) = query.long else {
        let of_text = || freshet_sql::read(query.text(), settings.modes);
        let request = new.map_or_else(of_text, |new| new.tokens.request());
        return ReadText { request, write: None, select: None };
    };
    let text = packet.slice(query.text_at..);
    let read = session.shared.readers.read(text, move |text| reading::query(text, settings)).await;
    read.unwrap_or_else(|| ReadText { request: Request::Other(Effects::worst()), write: None, select: None })
}

/// Carries out SET STATEMENT … FOR: Freshet's variables hold for the one statement, whose text is `rest`.
async fn for_statement(
    session: &mut Session,
    query: TextQuery<'_>,
    assignments: &[Assignment],
    rest: &[u8],
) -> Result<Flow, Lost> {
    let before = session.state.locals.clone();
    let assigned = ours::assign(session, assignments).await?;
    let packet = query.with_text(rest);
    let done = match assigned {
        Err(error) => {
            session.put_error(&error);
            Ok(Flow::Continue)
        }
        Ok(_) => match from_memory(session, &packet) {
            Ok(()) => Ok(Flow::Continue),
            Err(missed) => Box::pin(handle(session, BytesMut::from(&packet[..]), missed)).await,
        },
    };
    for Assignment { name, .. } in assignments {
        session.state.locals.take_back(name, &before);
    }
    session.refresh_key();
    done
}
