//! Why a statement is not cacheable, in words for users.

use std::fmt;

/// Why a statement is not cacheable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// It does not start with SELECT or WITH, or it changes rows.
    NotSelect,
    /// The text holds more than one statement.
    SeveralStatements,
    /// A session mode changes the grammar in ways that are not followed here.
    OtherSyntax,
    /// The text cannot be cut into tokens for certain.
    NotReadable,
    /// The grammar is not known here; this part is the reason.
    NotParsed(String),
    /// It is too long or too deep to be analysed.
    TooLarge,
    /// It reads or assigns a user or system variable.
    Variable,
    /// A function whose result depends on more than its arguments.
    Volatile(String),
    /// A function that is not known to be built in.
    UnknownFunction(String),
    /// It takes locks: FOR UPDATE, FOR SHARE, LOCK IN SHARE MODE.
    Locks,
    /// It has an INTO.
    Into,
    /// PROCEDURE ANALYSE.
    Procedure,
    /// It reads a sequence.
    Sequence,
    /// FOR SYSTEM_TIME: the rows that it reads depend on the time.
    SystemTime,
    /// An optimizer hint sets a variable.
    HintSetsVariable,
    /// It reads no table.
    NoTable,
    /// It reads a schema of the server's own.
    SystemSchema(String),
    /// A table's name is not in ASCII, so its bytes depend on a character set.
    NameBeyondAscii,
}

impl Reason {
    /// Returns a phrase for users that completes "not cached because …".
    pub fn text(&self) -> String {
        self.to_string()
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::NotSelect => f.write_str("it is not a SELECT"),
            Reason::SeveralStatements => f.write_str("the text holds several statements"),
            Reason::OtherSyntax => f.write_str("sql_mode changes the grammar"),
            Reason::NotReadable => f.write_str("the text cannot be cut into tokens for certain"),
            Reason::NotParsed(what) => write!(f, "its grammar is not understood: {what}"),
            Reason::TooLarge => f.write_str("it is too long or too deeply nested to be analysed"),
            Reason::Variable => f.write_str("it uses a variable"),
            Reason::Volatile(name) => write!(f, "{name} does not depend on its arguments alone"),
            Reason::UnknownFunction(name) => write!(f, "{name} is not known to be a built-in function"),
            Reason::Locks => f.write_str("it locks rows"),
            Reason::Into => f.write_str("it has an INTO"),
            Reason::Procedure => f.write_str("it has a PROCEDURE"),
            Reason::Sequence => f.write_str("it reads a sequence"),
            Reason::SystemTime => f.write_str("it reads a table as of a time"),
            Reason::HintSetsVariable => f.write_str("an optimizer hint sets a variable"),
            Reason::NoTable => f.write_str("it reads no table"),
            Reason::SystemSchema(name) => write!(f, "it reads the system schema {name}"),
            Reason::NameBeyondAscii => f.write_str("a table's name is not in ASCII"),
        }
    }
}

impl std::error::Error for Reason {}
