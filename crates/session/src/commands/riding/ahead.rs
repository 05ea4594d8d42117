//! The turn of a read that may be slow, taken before a connection is sought for the read: who waits for another client's answer needs no
//! connection.

use std::sync::Arc;

use freshet_cache::Key;
use freshet_sql::Datum;

use super::fitness::is_read_plainly;
use crate::commands::admitting::{Hinted, is_surely_worth_storing};
use crate::commands::asked::{from_memory, hint_of, key_for, strips};
use crate::commands::fill_plan::{ExecutedSelect, plan_of_execution, plan_of_text};
use crate::commands::prepared::{SelectExecution, is_dated, note_answered, take_stored};
use crate::commands::text::TextQuery;
use crate::environment::key_of_executions;
use crate::preparations::CompiledExecution;
use crate::relay::Lost;
use crate::session::{Missed, PreparedSelect, Session, Turn, Unfound, Waited};
use crate::template::{BoundSelect, Template};

/// Takes the turn of a text that [takes turns](Session::takes_turns). Returns whether the text is answered by then.
pub(super) async fn text(
    session: &mut Session,
    query: &TextQuery<'_>,
    known: &BoundSelect<'_>,
) -> Result<bool, Lost> {
    let (template, text) = (known.template(), query.text());
    let mut waited = Waited::default();
    while may_wait(session, template, query.missed) {
        let hint = hint_of(session, text, known.compiled.hint);
        // The comment may ask to create a cache.
        let may_create = hint.is_none() && freshet_sql::cache_hint(text, session.modes()).is_some();
        let Some(key) = key_for(session, template, hint).ok().filter(|_| !may_create) else { break };
        let unfound = Unfound { key, missed: query.missed };
        if !is_surely_worth_storing(session, Hinted { template, hint }, unfound) {
            break;
        }
        let Some(plan) = plan_of_text(session, text, known, unfound).for_others(session) else { break };
        let asked = freshet_sql::key_text(text, session.modes(), strips(session, text));
        let asked = Key { environment: plan.environment, text: &asked };
        match session.turn(asked, text, &mut waited).await? {
            Turn::Asks(leader) => session.has_had_its_turn(leader),
            Turn::Answered { .. } => return Ok(true),
            Turn::LooksAgain if from_memory(session, text, key).is_ok() => return Ok(true),
            Turn::LooksAgain => {}
        }
    }
    Ok(false)
}

/// An execution of a SELECT with its values and the second part of its answer's key.
pub(super) struct KeyedExecution<'a> {
    pub(super) execution: SelectExecution<'a>,
    pub(super) select: &'a PreparedSelect,
    pub(super) compiled: Arc<CompiledExecution>,
    pub(super) values: Vec<Datum>,
    pub(super) key_text: Vec<u8>,
}

/// Takes the turn of an execution that [takes turns](Session::takes_turns). Returns whether the execution is answered by then.
pub(super) async fn execution(
    session: &mut Session,
    KeyedExecution { execution, select, compiled, values, key_text }: &KeyedExecution<'_>,
    missed: Missed,
) -> Result<bool, Lost> {
    let template = &*compiled.template;
    let mut waited = Waited::default();
    while may_wait(session, template, missed) && !is_dated(template, values) {
        let Ok(environment) = key_for(session, template, None) else { break };
        let unfound = Unfound { key: key_of_executions(environment), missed };
        if !is_surely_worth_storing(session, Hinted { template, hint: None }, unfound) {
            break;
        }
        let executed = ExecutedSelect { text: &select.text, compiled, values };
        let Some(plan) = plan_of_execution(session, executed, unfound).for_others(session) else { break };
        let asked = Key { environment: plan.environment, text: key_text };
        match session.turn(asked, execution.statement, &mut waited).await? {
            Turn::Asks(leader) => session.has_had_its_turn(leader),
            Turn::Answered { is_noted } => {
                if is_noted {
                    execution.prepared.heeds_definitions(&session.shared.upstream);
                    note_answered(session, *execution);
                }
                return Ok(true);
            }
            Turn::LooksAgain if take_stored(session, *execution, environment).is_ok() => return Ok(true),
            Turn::LooksAgain => {}
        }
    }
    Ok(false)
}

/// Whether a read may wait for another client's answer before it has a connection.
fn may_wait(session: &Session, template: &Template, missed: Missed) -> bool {
    session.takes_turns(template)
        && !session.had_its_turn()
        && missed.may_be_stored()
        && !missed.refreshes
        && session.state.environment.key().is_some()
        && is_read_plainly(session, template)
}
