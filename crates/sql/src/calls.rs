//! The stored routines that a statement calls by name.

use crate::TableName;

/// The most routines that a statement may call by name; a statement that calls more may call anything.
pub(crate) const CALLS_MAX: usize = 32;

/// The kind of routine that a name stands for: a procedure and a function may share a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum RoutineKind {
    /// CALL runs it.
    Procedure,
    /// An expression runs it.
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
    /// These at most. A name like a function's may stand for no routine, but for a built-in function that only some servers have.
    Named(Vec<Call>),
    /// The routines cannot be told.
    Unknown,
}

impl Calls {
    /// None.
    pub const NOTHING: Self = Self::Named(Vec::new());

    /// Whether it is certain that none is called.
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
