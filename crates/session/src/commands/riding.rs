//! A SELECT whose answer is not stored, carried on a connection with those of others (`session/lanes.rs`).
//!
//! To the session it is an answer from memory that had to be waited for. What is no plain answer (an error, warnings that the text
//! does not tell of, too many rows) is not passed on: the statement is sent once more, on the session's own connection.

use std::time::Instant;

use freshet_protocol::Command;
use freshet_sql::contains_ignoring_case;
use freshet_upstream::lane::{Carried, NotCarried, SLOW};
use freshet_upstream::now_ms;

use super::asked::{key_for, strips};
use super::filling::{FillPlan, Fillable, count_not_cached, found_rows, keep, plan_of_text, rights};
use super::text::Query;
use crate::counters::Count;
use crate::relay::Lost;
use crate::session::{Missed, Session};
use crate::shared::Multiplexing;
use crate::template::{BoundSelect, Template, Verdict};
use crate::why::Why;

/// Answers it so, if it may be; false if it is still to be answered.
pub(super) async fn ride(
    session: &mut Session,
    query: &Query<'_>,
    known: BoundSelect<'_>,
) -> Result<bool, Lost> {
    let template = known.template();
    if !may_be_carried(session, template, &known) {
        return Ok(false);
    }
    let (text, missed) = (query.text(), query.missed);
    // The server is asked for this on the connection on which the statement was.
    if contains_ignoring_case(text, b"sql_calc_found_rows") {
        return Ok(false);
    }
    let Some(plan) = planned(session, (text, missed), &known) else { return Ok(false) };
    let rights = rights(session, template);
    let Some((lane, outcome)) = session.carry((Command::Query, query.packet), rights) else {
        return Ok(false);
    };
    // Before it is answered: what a rule says of its age is counted from here.
    let (started, storing) = (Instant::now(), session.storing());
    session.shared.counters.add(Count::Carried);
    session.shared.counters.add(Count::Forwarded);
    session.shared.counters.add_many(Count::BytesSent, query.packet.len());
    let carried = match session.outcome(outcome).await? {
        Ok(carried) => carried,
        Err(why) => {
            if why == NotCarried::TooLarge {
                template.pace.is_unfit(now_ms());
            }
            return Ok(false);
        }
    };
    note_pace(template, &carried);
    session.shared.counters.add_many(Count::BytesReceived, carried.frames.len());
    let warnings = plan.as_ref().map_or(0, |plan| plan.warnings);
    let Some(mut relayed) = session.put_carried((&lane, carried), warnings)? else {
        template.pace.is_unfit(now_ms());
        return Ok(false);
    };
    let took = started.elapsed();
    relayed.tag = session.count_sent((Command::Query, text), took, &relayed);
    session.shared.settling.has_answered(took);
    session.note_template(relayed.tag, template);
    let key_text = freshet_sql::key_text(text, session.modes(), strips(session, text));
    let found = found_rows(session, &key_text, &relayed);
    match plan {
        Ok(plan) => {
            let answer = (&mut relayed, found);
            keep(session, (&key_text, missed), plan, answer, (took, storing)).await;
        }
        Err(why) => {
            count_not_cached(session);
            session.count_refused(&relayed, &why.into());
        }
    }
    session.answered_by_lane(text, found);
    Ok(true)
}

/// Whether it is one that is known to be quick, and reads nothing but tables.
fn may_be_carried(session: &Session, template: &Template, known: &BoundSelect<'_>) -> bool {
    matches!(template.verdict, Verdict::Cache)
        && template.effects.reads.is_nothing()
        && template.effects.calls.is_nothing()
        && !template.effects.reads_last_statement
        && !known.compiled.is_hinted
        && !session.ruled.is_bargain()
        && session.state.locals.fill_wait(&session.shared.globals).is_zero()
        && (template.pace.is_quick() || session.shared.options.multiplexing == Multiplexing::Always)
        && template.pace.is_fit(now_ms())
        && session.shared.upstream.is_current(&template.told)
}

fn note_pace(template: &Template, carried: &Carried) {
    template.pace.took(carried.took);
    if carried.took >= SLOW {
        template.pace.is_unfit(now_ms());
    }
}

/// How its answer is stored, or why it is not; `None` if it is not to be carried.
fn planned(
    session: &mut Session,
    (text, missed): (&[u8], Missed),
    known: &BoundSelect<'_>,
) -> Option<Result<FillPlan, Why>> {
    let key = match key_for(session, known.template(), known.compiled.hint) {
        Ok(key) if missed.may_be_stored() => key,
        Ok(_) => return None,
        Err(why @ (Why::CacheOff | Why::NotDemanded)) => return Some(Err(why)),
        Err(_) => return None,
    };
    match plan_of_text(session, text, known, (key, missed)) {
        Fillable::Surely(plan) => Some(Ok(plan)),
        Fillable::Perhaps(plan) => Some(plan),
        Fillable::Never(_) => None,
    }
}
