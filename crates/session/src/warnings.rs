//! The rows of SHOW WARNINGS after a statement that Freshet answered itself.

use freshet_protocol::ErrPacket;
use freshet_sql::{AsksWarnings, Flavor};

use crate::local::{self, ShownCell};
use crate::session::Session;

/// How many warnings are kept: the server's default of `max_error_count`.
const WARNINGS_MAX: usize = 64;

/// A warning of a statement that succeeded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Warning {
    pub(crate) code: u16,
    pub(crate) message: String,
}

/// The warnings, or the error, of the last statement, if Freshet answered it.
#[derive(Debug, Default)]
pub(crate) struct Warnings {
    /// SHOW WARNINGS is about a statement that Freshet answered, and not about one of the server's.
    are_ours: bool,
    all: Vec<Warning>,
    /// The last one is an error.
    has_error: bool,
}

impl Warnings {
    /// Forgets all: SHOW WARNINGS is the server's to answer.
    pub(crate) fn clear(&mut self) {
        self.are_ours = false;
        self.all.clear();
    }

    /// Begins a statement of Freshet's own. MySQL forgets the earlier warnings then; MariaDB keeps them until there is something new.
    pub(crate) fn begin(&mut self, flavor: Flavor) {
        *self = Self { are_ours: flavor == Flavor::MySql, ..Self::default() };
    }

    /// Adds warnings of the statement.
    pub(crate) fn extend(&mut self, warnings: impl IntoIterator<Item = Warning>) {
        self.all.extend(warnings);
        self.all.truncate(WARNINGS_MAX);
        self.are_ours |= !self.all.is_empty();
    }

    /// Notes the statement's error. Its earlier warnings are not shown.
    pub(crate) fn refuse(&mut self, error: &ErrPacket) {
        let message = String::from_utf8_lossy(&error.message).into_owned();
        *self = Self { are_ours: true, all: vec![Warning { code: error.code, message }], has_error: true };
    }

    /// Returns how many warnings there are, for an OK packet.
    pub(crate) fn count(&self) -> u16 {
        u16::try_from(self.all.len()).unwrap_or(u16::MAX)
    }

    fn errors(&self) -> usize {
        usize::from(self.has_error && !self.all.is_empty())
    }
}

/// Answers a statement that asks for warnings, if the last statement was answered here.
pub(crate) fn show(session: &mut Session, text: &[u8]) -> bool {
    if !session.state.last.warnings.are_ours {
        return false;
    }
    let Some(asked) = freshet_sql::asks_warnings(text, session.modes()) else { return false };
    let warnings = &session.state.last.warnings;
    match asked {
        AsksWarnings::Count { errors, title } => {
            let count = if errors { warnings.errors() } else { warnings.all.len() };
            local::put_rows(session, &[&title], &[[ShownCell::Number(count.to_string())]]);
        }
        AsksWarnings::Rows { errors, offset, count } => {
            let level = if warnings.errors() > 0 { "Error" } else { "Warning" };
            let is_shown = !errors || warnings.errors() > 0;
            let row = |warning: &Warning| {
                let code = ShownCell::Number(warning.code.to_string());
                [ShownCell::text(level), code, ShownCell::text(warning.message.clone())]
            };
            let shown = warnings.all.iter().filter(|_| is_shown).skip(offset).take(count);
            let rows: Vec<[ShownCell; 3]> = shown.map(row).collect();
            local::put_rows(session, &["Level", "Code", "Message"], &rows);
        }
    }
    true
}
