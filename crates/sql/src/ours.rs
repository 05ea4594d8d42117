//! Statements that we answer ourselves: our variables, our status, our cache.

/// A statement of ours.
#[derive(Clone, Debug, PartialEq)]
pub enum Ours {
    /// SET of nothing but our variables.
    SetVariables(Vec<Assignment>),
    /// SET of ours and of the server's together.
    SetMixed {
        /// Ours, in order.
        ours: Vec<Assignment>,
        /// The SET without ours, for the server.
        rest: String,
    },
    /// SHOW VARIABLES that can match only ours.
    ShowVariables {
        /// GLOBAL or SESSION.
        scope: Scope,
        /// Which of them.
        like: LikeFilter,
    },
    /// SHOW STATUS that can match only ours.
    ShowStatus {
        /// GLOBAL or SESSION.
        scope: Scope,
        /// Which of them.
        like: LikeFilter,
    },
    /// SELECT of our system variables and nothing else.
    SelectVariables(Vec<SelectedVariable>),
    /// FLUSH QUERY CACHE.
    FlushQueryCache,
    /// RESET QUERY CACHE.
    ResetQueryCache,
}

/// One assignment of a SET.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// GLOBAL, SESSION, or neither written.
    pub scope: Scope,
    /// The variable in lower case.
    pub name: String,
    /// What it is set to.
    pub value: Value,
}

/// The scope a variable is named with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Scope {
    /// SESSION or LOCAL.
    Session,
    /// GLOBAL.
    Global,
    /// None was written.
    Unspecified,
}

/// The right side of an assignment.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// An integer, signed.
    Int(i128),
    /// A string, or a bare word such as ON.
    Text(String),
    /// DEFAULT.
    Default,
    /// Any other expression, as it was written.
    Other(String),
}

/// One column of `SELECT @@query_cache_size, @@global.query_cache_type AS t`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectedVariable {
    /// GLOBAL, SESSION, or neither written.
    pub scope: Scope,
    /// The variable in lower case.
    pub name: String,
    /// The column's name: the alias, or the expression as it was written.
    pub title: String,
}

/// Which names a SHOW asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LikeFilter {
    /// Those that match this LIKE pattern (`%`, `_`, `\` as escape), case-insensitively.
    Like(String),
    /// Those named here, case-insensitively.
    Names(Vec<String>),
}

impl LikeFilter {
    /// Whether a variable's name passes.
    pub fn matches(&self, _name: &str) -> bool {
        unimplemented!()
    }
}
