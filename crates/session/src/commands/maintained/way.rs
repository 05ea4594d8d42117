//! The way that a query is asked: as text, or as an execution of a prepared statement.

use std::borrow::Cow;

use freshet_sql::{Datum, QueryPlan, Unplanned};

use crate::commands::asked::{self, strips};
use crate::commands::fill_plan::{ExecutedSelect, Fillable, plan_of_execution, plan_of_text};
use crate::commands::prepared::{By, SelectExecution, take_stored};
use crate::created::Frame;
use crate::environment::key_of_executions;
use crate::preparations::CompiledExecution;
use crate::session::{Missed, PreparedSelect, Session, Unfound};
use crate::template::{BoundSelect, Template};

/// The way that a query is asked, and the keys of its answers.
#[derive(Clone, Copy)]
pub(in crate::commands) struct Way<'a> {
    pub(in crate::commands) asked: Asked<'a>,
    /// The first part of the keys of texts in its environment.
    pub(in crate::commands) of_texts: u32,
}

/// The query as text, or as an execution.
#[derive(Clone, Copy)]
pub(in crate::commands) enum Asked<'a> {
    /// The query is this text.
    Text(&'a [u8], &'a BoundSelect<'a>),
    /// The query is executed by COM_STMT_EXECUTE or EXECUTE, with these values.
    Execution(SelectExecution<'a>, &'a [Datum], (&'a PreparedSelect, &'a CompiledExecution)),
}

impl<'a> Way<'a> {
    pub(super) fn template(&self) -> &'a Template {
        match &self.asked {
            Asked::Text(_, bound) => bound.template(),
            Asked::Execution(_, _, (_, compiled)) => &compiled.template,
        }
    }

    /// Returns the text of the SELECT.
    pub(super) fn text(&self) -> &'a [u8] {
        match &self.asked {
            Asked::Text(text, _) => text,
            Asked::Execution(_, _, (select, _)) => &select.text,
        }
    }

    /// Returns the plan form of the SELECT.
    ///
    /// # Errors
    /// What has no place in the form.
    pub(super) fn plan_form(&self, session: &Session) -> Result<Cow<'a, QueryPlan>, Unplanned> {
        let statement = asked::statement(session, self.text());
        match &self.asked {
            Asked::Text(_, bound) => bound.plan_form(statement).map(Cow::Owned),
            Asked::Execution(_, _, (_, compiled)) => compiled.plan_form(statement).map(Cow::Borrowed),
        }
    }

    /// Returns the values of the markers.
    pub(super) fn values(&self) -> &'a [Datum] {
        match &self.asked {
            Asked::Text(..) => &[],
            Asked::Execution(_, values, _) => values,
        }
    }

    /// Returns the first part of the key of the answers.
    pub(super) fn first_key(&self) -> u32 {
        match &self.asked {
            Asked::Text(..) => self.of_texts,
            Asked::Execution(..) => key_of_executions(self.of_texts),
        }
    }

    /// Returns the second part of the key; `None` if the answer cannot come from memory.
    pub(super) fn key_text(&self, session: &Session) -> Option<Vec<u8>> {
        match &self.asked {
            Asked::Text(text, _) => {
                Some(freshet_sql::key_text(text, session.modes(), strips(session, text)).to_vec())
            }
            Asked::Execution(execution, ..) => {
                let mut key = Vec::new();
                execution.key_of(&mut key)?;
                Some(key)
            }
        }
    }

    /// Returns the text by which the frame of the answers is known.
    pub(super) fn frame_text<'k>(&self, key_text: &'k [u8]) -> Cow<'k, [u8]> {
        match &self.asked {
            Asked::Text(..) => key_text.into(),
            Asked::Execution(execution, ..) => execution.by.framed(self.text()).into(),
        }
    }

    /// Returns how the answer is stored.
    pub(super) fn plan(&self, session: &Session) -> Fillable {
        let unfound = Unfound { key: self.first_key(), missed: Missed::default() };
        match &self.asked {
            Asked::Text(text, bound) => plan_of_text(session, text, bound, unfound),
            Asked::Execution(_, values, (select, compiled)) => {
                let executed = ExecutedSelect { text: &select.text, compiled, values };
                plan_of_execution(session, executed, unfound)
            }
        }
    }

    /// Answers the query from memory, if its answer is there.
    pub(super) fn answers_from_memory(&self, session: &mut Session) -> bool {
        match &self.asked {
            Asked::Text(text, _) => asked::from_memory(session, text, self.of_texts).is_ok(),
            Asked::Execution(execution, ..) => take_stored(session, *execution, self.of_texts).is_ok(),
        }
    }

    /// Puts these rows of the text protocol into an answer; `None` if the rows have no known form for this way.
    pub(super) fn around<'r>(
        &self,
        frame: &Frame,
        rows: impl Iterator<Item = &'r [u8]>,
    ) -> Option<(Vec<u8>, [u32; 2])> {
        match &self.asked {
            Asked::Execution(SelectExecution { by: By::Command, .. }, ..) => frame.around_binary(rows),
            // The answer to an EXECUTE has the form of a text's answer.
            Asked::Text(..) | Asked::Execution(..) => Some(frame.around(rows)),
        }
    }

    /// Returns the text that asks the same, as the key of its answer has it; `None` if a value cannot be written as text.
    pub(super) fn written(&self, session: &Session) -> Option<Vec<u8>> {
        let written = match &self.asked {
            Asked::Text(text, _) => text.to_vec(),
            Asked::Execution(_, values, (select, _)) => {
                let values: Vec<Vec<u8>> = values.iter().map(literal).collect::<Option<_>>()?;
                freshet_sql::with_values(&select.text, &values, session.modes())?
            }
        };
        Some(freshet_sql::key_text(&written, session.modes(), strips(session, &written)).to_vec())
    }
}

/// Returns a value as a literal.
fn literal(value: &Datum) -> Option<Vec<u8>> {
    Some(match value {
        // The blank: behind another minus sign, the sign would begin a comment.
        Datum::Int(number) if *number < 0 => format!(" {number}").into_bytes(),
        Datum::Int(number) => number.to_string().into_bytes(),
        Datum::Decimal(digits) => format!(" {digits}").into_bytes(),
        Datum::Text(text) | Datum::Shown(text) | Datum::Moment(text) if !text.contains(&b'\'') => {
            [b"'", &**text, b"'"].concat()
        }
        _ => return None,
    })
}
