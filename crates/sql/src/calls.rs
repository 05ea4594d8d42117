//! The stored routines that a statement calls by name.

use crate::TableName;

/// The most routines that a statement is taken to call by name; one that calls more may call anything.
pub(crate) const CALLS_MAX: usize = 32;

/// Which kind of routine a name stands for: a procedure and a function may share one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RoutineKind {
    /// What CALL runs.
    Procedure,
    /// What an expression runs.
    Function,
}

/// A routine as a statement names it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Call {
    /// Whether it is called or stands in an expression.
    pub kind: RoutineKind,
    /// Its name, with the schema if that is written. Routines are found whatever the case of the name.
    pub name: TableName,
}

/// The routines that a statement may run, directly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Calls {
    /// These at most. What is named like a function may be none: a built-in one that not every server has.
    Named(Vec<Call>),
    /// It cannot be told.
    Unknown,
}

impl Calls {
    /// None.
    pub const NOTHING: Self = Self::Named(Vec::new());

    /// Whether none is called for certain.
    pub fn is_nothing(&self) -> bool {
        matches!(self, Self::Named(calls) if calls.is_empty())
    }

    /// Adds a call.
    pub(crate) fn push(&mut self, call: Call) {
        match self {
            Self::Named(calls) if calls.len() >= CALLS_MAX => *self = Self::Unknown,
            Self::Named(calls) if !calls.contains(&call) => calls.push(call),
            _ => {}
        }
    }

    pub(crate) fn and(mut self, next: Self) -> Self {
        let Self::Named(more) = next else { return Self::Unknown };
        more.into_iter().for_each(|call| self.push(call));
        self
    }
}
