//! How a query is asked: by its text, or by executing what was prepared.

use std::borrow::Cow;

use freshet_sql::Datum;

use crate::commands::asked::{self, statement, strips};
use crate::commands::filling::{Fillable, plan, plan_of_text};
use crate::commands::prepared::{By, Execution, take_stored};
use crate::created::Frame;
use crate::environment::key_of_executions;
use crate::preparations::CompiledExecution;
use crate::rows::{Behind, BoundPlan, deps_of_execution};
use crate::session::{Missed, PreparedSelect, Session};
use crate::template::{BoundSelect, Template};

/// How a query is asked, and where its answers are.
#[derive(Clone, Copy)]
pub(in crate::commands) struct Way<'a> {
    pub(in crate::commands) asked: Asked<'a>,
    /// The first part of the keys of texts in its environment.
    pub(in crate::commands) of_texts: u32,
}

/// How a query is asked.
#[derive(Clone, Copy)]
pub(in crate::commands) enum Asked<'a> {
    /// By this text.
    Text(&'a [u8], &'a BoundSelect<'a>),
    /// By COM_STMT_EXECUTE or EXECUTE, with these values.
    Execution(Execution<'a>, &'a [Datum], (&'a PreparedSelect, &'a CompiledExecution)),
}

impl<'a> Way<'a> {
    pub(super) fn template(&self) -> &'a Template {
        match &self.asked {
            Asked::Text(_, bound) => bound.template(),
            Asked::Execution(_, _, (_, compiled)) => &compiled.template,
        }
    }

    /// The text of the SELECT.
    pub(super) fn text(&self) -> &'a [u8] {
        match &self.asked {
            Asked::Text(text, _) => text,
            Asked::Execution(_, _, (select, _)) => &select.text,
        }
    }

    /// What its markers stand for.
    pub(super) fn values(&self) -> &'a [Datum] {
        match &self.asked {
            Asked::Text(..) => &[],
            Asked::Execution(_, values, _) => values,
        }
    }

    /// The first part of the key of its answers.
    pub(super) fn first_key(&self) -> u32 {
        match &self.asked {
            Asked::Text(..) => self.of_texts,
            Asked::Execution(..) => key_of_executions(self.of_texts),
        }
    }

    /// The second part; `None` if its answer is not to be had from memory.
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

    /// What is around the rows of its answers is known by this text.
    pub(super) fn frame_text<'k>(&self, key_text: &'k [u8]) -> Cow<'k, [u8]> {
        match &self.asked {
            Asked::Text(..) => key_text.into(),
            Asked::Execution(execution, ..) => execution.by.framed(self.text()).into(),
        }
    }

    /// How its answer is stored.
    pub(super) fn plan(&self, session: &Session) -> Fillable {
        let at = (self.first_key(), Missed::default());
        match &self.asked {
            Asked::Text(text, bound) => plan_of_text(session, text, bound, at),
            Asked::Execution(_, values, (select, compiled)) => {
                let template = &compiled.template;
                let depends = |behind: Behind<'_>| {
                    let statement = statement(session, &select.text);
                    deps_of_execution(
                        statement,
                        BoundPlan { plan: &compiled.plan, values },
                        &template.tables,
                        behind,
                    )
                };
                plan(session, template, at, depends)
            }
        }
    }

    /// Answers it from memory, if it is there.
    pub(super) fn answers_from_memory(&self, session: &mut Session) -> bool {
        match &self.asked {
            Asked::Text(text, _) => asked::from_memory(session, text, self.of_texts).is_ok(),
            Asked::Execution(execution, ..) => take_stored(session, *execution, self.of_texts).is_ok(),
        }
    }

    /// An answer of these rows of the text protocol; `None` if they have no other form that is known.
    pub(super) fn around<'r>(
        &self,
        frame: &Frame,
        rows: impl Iterator<Item = &'r [u8]>,
    ) -> Option<(Vec<u8>, [u32; 2])> {
        match &self.asked {
            Asked::Execution(Execution { by: By::Command, .. }, ..) => frame.around_binary(rows),
            // The answer to an EXECUTE is in the form of a text's.
            Asked::Text(..) | Asked::Execution(..) => Some(frame.around(rows)),
        }
    }

    /// The text that asks the same, as the key of its answer has it; `None` if a value cannot be written.
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

/// A value as a literal.
fn literal(value: &Datum) -> Option<Vec<u8>> {
    Some(match value {
        // Behind another sign it would begin a comment.
        Datum::Int(number) if *number < 0 => format!(" {number}").into_bytes(),
        Datum::Int(number) => number.to_string().into_bytes(),
        Datum::Decimal(digits) => format!(" {digits}").into_bytes(),
        Datum::Text(text) | Datum::Moment(text) if !text.contains(&b'\'') => [b"'", &**text, b"'"].concat(),
        _ => return None,
    })
}
