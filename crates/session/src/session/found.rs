//! `FOUND_ROWS()` after answers from memory.
//!
//! | what is asked after | and then | the answer |
//! |---|---|---|
//! | a SELECT that the server answered and that was stored | `SELECT FOUND_ROWS()` | the server's. The number is noted with the stored answer, and the question's own answer is kept as a form |
//! | an answer from memory with such a number | `SELECT FOUND_ROWS()` | from memory, in that form |
//! | the same, with another statement between that leaves `FOUND_ROWS()` alone | `SELECT FOUND_ROWS()` | the server's, with the number put right |
//! | an answer from memory without a number | anything that may ask | the server's, after the statement was repeated there |
//!
//! The number of a stored answer is the server's reply to a question right after it, so it is the server's number for those rows. The
//! answer alone does not tell how many rows a LIMIT cuts off; without LIMIT, the number is the count of the answer's rows.

use bytes::BytesMut;
use freshet_cache::{Cache, Fences, Fill, Insert, Key, Lookup, Position};
use freshet_protocol::{
    Answer, Capabilities, Command, FrameHeader, HEADER_LEN, Part, Reader, StatusFlags, put_packet,
};
use freshet_sql::{Deprecations, Flavor, asks_found_rows, keeps_found_rows, names_found_rows};
use freshet_upstream::now_ms;

use super::conclude::Ran;
use super::found_rows::Filled;
use super::hit::ENTRY_FLAGS;
use super::{Forward, Session, StatementFacts};
use crate::environment::{key_of_executions, key_of_texts};
use crate::relay::{Capture, Captured, Lost, PutRight, Relayed, row_of};

/// The ending of questions in their keys: no execution's key ends like this, since no text is that long.
const QUESTION: [u8; 4] = u32::MAX.to_le_bytes();

/// Whether the entry under this text is the form of a question's answer, and no result.
pub(crate) fn is_question(text: &[u8]) -> bool {
    text.ends_with(&QUESTION)
}

/// The longest key of a stored answer that is remembered for the question after it, in bytes.
const FILLED_BYTES_MAX: usize = 16 * 1024;

/// How many bytes longer an answer in another answer's form may be.
const VALUE_BYTES_MAX: usize = 16;

impl Session {
    /// Answers the question about the rows found from memory, if possible.
    pub(crate) fn answer_found_rows(&mut self, text: &[u8]) -> bool {
        let tx = &self.state.tx;
        let is_clear = tx.surely_autocommits() || tx.surely_transacts();
        // MariaDB keeps the warnings of the statement before, so that the client can still ask for them.
        let keeps_warnings = self.lease.has_diagnostics() && self.flavor() == Flavor::MariaDb;
        let Some(rows) = self.state.last.found().rows.filter(|_| is_clear && !keeps_warnings) else {
            return false;
        };
        let environment = self.state.environment.current().map(|it| it.id);
        let Some(environment) = environment.filter(|_| asks_found_rows(text, self.modes())) else {
            return false;
        };
        let (now, text_key, flags) = (now_ms(), question(text), self.state.status_for_answers());
        let capabilities = self.capabilities();
        let key = Key { environment: space_of(environment), text: &text_key };
        let wire = &mut self.wire;
        let found = self.shared.cache.get_if(key, now, Fences::Ignore, |entry| {
            let body = entry.body.to_vec();
            let bytes = body.len() + VALUE_BYTES_MAX;
            wire.has_room(bytes).then(|| put(wire.out().0, &body, capabilities, rows, flags))?
        });
        if !matches!(found, Lookup::Hit(())) {
            return false;
        }
        *self.wire.out().1 = 0;
        self.active(now);
        self.note_answered_from_memory(text, Some(1));
        // If the client asks for the counts, the statement is repeated in the transaction.
        if self.state.tx.begun().is_some() {
            self.state.view_mut().course.note_served();
        }
        true
    }

    /// Asks the server for the rows found. A number that Freshet knows replaces the server's number. If an answer was just stored, the
    /// server's number is noted with it.
    ///
    /// # Errors
    /// As [`Session::forward`].
    pub(crate) async fn ask_found_rows(&mut self, mut forward: Forward<'_>) -> Result<Relayed, Lost> {
        let (text, sent) = (forward.message.text, self.lease.sent());
        let filled = self.state.last.take_filled().filter(|filled| filled.sent == sent);
        let environment = self.environment().map(|it| it.id);
        let shared = std::sync::Arc::clone(&self.shared);
        let valid_from = shared.freshness().valid_from();
        let found_rows = self.state.last.found().rows.filter(|_| !self.shows_older_diagnostics());
        forward.passing.capture = (filled.is_some() || found_rows.is_some()).then(|| {
            let deprecations = Deprecations::of(text, self.modes());
            let warnings = self.warnings_of(deprecations.unwrap_or_default());
            Capture::new(shared.cache.limit(), &shared.bounds().fill).warned(warnings)
        });
        forward.passing.put_right = found_rows.map(PutRight::FoundRows);
        let mut relayed = self.forward(forward).await?;
        if let Some(captured) = relayed.captured.take()
            && let Some(rows) = value(&captured.body, self.capabilities())
        {
            if let Some(filled) = filled {
                let key = Key { environment: filled.environment, text: &filled.text };
                shared.cache.note_found_rows(key, filled.valid_from, rows);
            }
            if let Some(environment) = environment {
                keep_form(&shared.cache, environment, text, valid_from, captured);
            }
        }
        Ok(relayed)
    }

    /// Returns how many warnings the server gives for this syntax. If the server is unknown, an answer with a warning is not stored.
    pub(crate) fn warnings_of(&self, deprecations: Deprecations) -> u16 {
        let server = if deprecations.are_none() { None } else { self.shared.upstream.server() };
        server.map_or(0, |server| deprecations.warnings(|what| server.warns_of.contains(&what)))
    }

    /// Notes that the last answer was stored under this key.
    pub(crate) fn has_filled(&mut self, environment: u32, text: &[u8], valid_from: Position) {
        let sent = self.lease.sent();
        let is_kept = text.len() <= FILLED_BYTES_MAX;
        let filled = || Filled { environment, text: text.into(), valid_from, sent };
        self.state.last.note_filled(is_kept.then(filled));
    }

    /// Whether the last statement that was answered from memory is to be repeated at the server before a statement that asks about it. A
    /// statement in between replaces the counts. In that case, only a statement that asks for the found rows alone needs the repetition,
    /// and only if the repeated statement does nothing more than it did the first time.
    pub(super) fn is_to_be_repeated(&self, text: &[u8], facts: &StatementFacts) -> bool {
        let found = self.state.last.found();
        if !found.is_past {
            return true;
        }
        const OTHERS: [&[u8]; 6] =
            [b"row_count", b"warning", b"error", b"diagnostics", b"last_insert_id", b"identity"];
        let lower = text.to_ascii_lowercase();
        let has = |word: &&[u8]| lower.windows(word.len()).any(|part| part == *word);
        names_found_rows(text)
            && !OTHERS.iter().any(has)
            && !facts.asks_back
            && self.state.tx.surely_autocommits()
            && !self.state.tx.next_differs()
            && !found.is_elsewhere
    }

    /// Whether the client would see the warnings of a statement before the last answer from memory, at a statement that uses
    /// no table: MariaDB keeps the warnings for such a statement.
    pub(super) fn shows_older_diagnostics(&self) -> bool {
        self.has_older_diagnostics() && self.flavor() == Flavor::MariaDb
    }

    /// Whether the server still has the warnings, or the error, of a statement before the last answer from memory.
    pub(super) fn has_older_diagnostics(&self) -> bool {
        self.state.last.is_from_memory() && self.lease.has_diagnostics()
    }

    /// Whether a command has left `FOUND_ROWS()` as it was before. `executed_keeps`: an execution certainly has.
    pub(super) fn kept_found_rows(&self, command: Command, executed_keeps: bool, ran: &Ran<'_>) -> bool {
        let Ran { effects, text, facts, relayed, .. } = ran;
        match command {
            Command::InitDb | Command::Ping | Command::StmtPrepare | Command::StmtReset => return true,
            Command::Query | Command::StmtExecute => {}
            _ => return false,
        }
        if facts.run_code() || effects.several {
            return false;
        }
        if command == Command::StmtExecute {
            return executed_keeps;
        }
        let modes = self.modes();
        match relayed.error {
            Some(error) if !text.is_empty() && relayed.results == 0 => {
                self.flavor() == Flavor::MySql
                    || NOTHING_READ.contains(&error)
                    || keeps_found_rows(text, modes)
            }
            _ => keeps_found_rows(text, modes),
        }
    }
}

/// Errors that come before any row is read: ER_NO_DB_ERROR, ER_BAD_DB_ERROR, ER_NON_UNIQ_ERROR, ER_BAD_FIELD_ERROR, ER_PARSE_ERROR,
/// ER_TABLEACCESS_DENIED_ERROR, ER_COLUMNACCESS_DENIED_ERROR, ER_NO_SUCH_TABLE, ER_UNKNOWN_STMT_HANDLER, ER_SP_DOES_NOT_EXIST.
const NOTHING_READ: [u16; 10] = [1046, 1049, 1052, 1054, 1064, 1142, 1143, 1146, 1243, 1305];

/// Returns the first part of the keys of questions' forms in this environment.
fn space_of(environment: u32) -> u32 {
    key_of_executions(key_of_texts(environment, 0, false))
}

/// Returns the key of a question's form.
fn question(text: &[u8]) -> Vec<u8> {
    [text, &QUESTION].concat()
}

/// Stores the answer to a question as a form for other sessions. The form depends on no row.
fn keep_form(cache: &Cache, environment: u32, text: &[u8], valid_from: Position, captured: Captured) {
    let text = question(text);
    let fill = Fill {
        valid_from,
        deps: Vec::new(),
        text_prefix: 0,
        body_prefix: 0,
        body: captured.body,
        status_at: captured.status_at,
        status: captured.status.bits(),
        rows: captured.rows,
        cost_us: 0,
        tag: 0,
        expires_ms: 0,
        refresh_ms: 0,
    };
    let _: Insert = cache.insert(Key { environment: space_of(environment), text: &text }, fill);
}

/// Returns the packets of an answer, with the part of the answer that each packet is.
fn parts(
    body: &[u8],
    capabilities: Capabilities,
) -> impl Iterator<Item = Option<(freshet_protocol::Seen, &[u8])>> {
    let mut answer = Answer::to(Command::Query, capabilities);
    let mut rest = body;
    std::iter::from_fn(move || {
        let header = FrameHeader::parse(rest)?;
        let (payload, behind) = rest.get(HEADER_LEN..)?.split_at_checked(header.len)?;
        rest = behind;
        Some(answer.see(header.len, payload).ok().map(|seen| (seen, payload)))
    })
}

/// Returns the number in an answer of one row and one column.
fn value(body: &[u8], capabilities: Capabilities) -> Option<u32> {
    let rows = parts(body, capabilities).collect::<Option<Vec<_>>>()?;
    let mut rows = rows.into_iter().filter(|(seen, _)| seen.part == Part::Row);
    let (_, payload) = rows.next().filter(|_| rows.next().is_none())?;
    let number = Reader::new(payload).lenenc_bytes().ok()?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// Appends the answer to a question in this form, with another number and the session's own flags.
fn put(
    out: &mut BytesMut,
    body: &[u8],
    capabilities: Capabilities,
    rows: u32,
    session: StatusFlags,
) -> Option<()> {
    let start = out.len();
    let mut seq = FrameHeader::parse(body)?.seq;
    for part in parts(body, capabilities) {
        let Some((seen, payload)) = part else {
            out.truncate(start);
            return None;
        };
        if seen.part == Part::Row {
            put_packet(out, &mut seq, &row_of(rows));
            continue;
        }
        let from = out.len() + HEADER_LEN;
        put_packet(out, &mut seq, payload);
        if let (Some(at), Some(status)) = (seen.status_at, seen.status)
            && let Some(place) = out.get_mut(from + at..).and_then(|rest| rest.get_mut(..2))
        {
            place.copy_from_slice(&(status & ENTRY_FLAGS | session).bits().to_le_bytes());
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: &[u8] = b"\x01\0\0\x01\x01\x03\0\0\x02def\x02\0\0\x03\x017\x07\0\0\x04\xfe\0\0\x02\0\x01\0";

    #[test]
    fn an_answer_in_anothers_form_has_its_own_number() {
        let capabilities = Capabilities::DEPRECATE_EOF.union(Capabilities::PROTOCOL_41);
        assert_eq!(value(FORM, capabilities), Some(7));
        let mut out = BytesMut::from(&b"before"[..]);
        put(&mut out, FORM, capabilities, 1234, StatusFlags::IN_TRANS).unwrap();
        assert_eq!(value(&out[6..], capabilities), Some(1234));
        assert!(out.ends_with(b"\x07\0\0\x04\xfe\0\0\x01\0\x01\0"), "{out:?}");
    }
}
