//! The first execution of a statement, if it was answered from memory. A server resolves types by the first values that it gets, and
//! has not got these. They are shown to the server before it executes the statement with others.
//!
//! A server that prepares a statement anew, because a definition has changed, forgets the types, and resolves them by the next values.
//! The first execution after that is the first one then.

use freshet_catalog::ChangedSince;
use freshet_protocol::{Capabilities, Command, Execution, Parameter};

/// The longest packet of a first execution that is kept, in bytes.
const FIRST_BYTES_MAX: usize = 1024;

/// What the server knows of the first execution.
#[derive(Debug, Default)]
pub(super) enum First {
    /// There was no execution.
    #[default]
    None,
    /// The server knows nothing: the first execution was answered from memory. This is its packet, with its types.
    Owed(Box<[u8]>),
    /// The server has executed the statement with this packet, or with one too long to keep.
    Met(Option<Box<[u8]>>),
}

/// A command that shows the server the types that it has not seen yet.
pub(crate) type OwedCommand = (Command, Vec<u8>);

/// What the server knows of the first execution, by the definitions of one time.
#[derive(Debug, Default)]
pub(super) struct FirstExecution {
    pub(super) first: First,
    /// The version of the catalog at which nothing of the statement had changed since that execution, or the preparation; 0 at first.
    version: u64,
}

impl FirstExecution {
    /// Notes that the statement was prepared when the catalog had this version.
    pub(super) fn counts_from(&mut self, version: u64) {
        self.version = version;
    }

    /// Forgets the execution if a definition of the statement's has changed since: `changed_since` says what has since the catalog had that
    /// version. It has this version `now`. Returns whether something may have changed.
    pub(super) fn heeds_definitions(
        &mut self,
        now: u64,
        changed_since: impl FnOnce(u64) -> ChangedSince,
    ) -> bool {
        let since = std::mem::replace(&mut self.version, now);
        let changed = if since == 0 || since == now { ChangedSince::Nothing } else { changed_since(since) };
        // Where that is not certain, the server may still have the types.
        if changed == ChangedSince::Named {
            self.first = First::None;
        }
        changed != ChangedSince::Nothing
    }
}

impl First {
    /// Notes that an execution was answered from memory.
    pub(super) fn note_answered(&mut self, packet: impl FnOnce() -> Vec<u8>) {
        if matches!(self, Self::None) {
            let packet = packet();
            *self = kept(packet).map_or(Self::Met(None), Self::Owed);
        }
    }

    /// Notes that the server has executed the statement with this packet.
    pub(super) fn note_met(&mut self, packet: impl FnOnce() -> Vec<u8>) {
        *self = match std::mem::take(self) {
            Self::None => Self::Met(kept(packet())),
            Self::Owed(packet) => Self::Met(Some(packet)),
            met @ Self::Met(_) => met,
        };
    }

    /// Whether there was no execution.
    pub(super) const fn is_none(&self) -> bool {
        matches!(self, Self::None)
    }

    /// Whether the first execution can be shown to another server connection, if that needs it.
    pub(super) const fn can_be_shown_again(&self) -> bool {
        !matches!(self, Self::Met(None))
    }

    /// Notes that the statement is to be prepared on another connection, which has not seen the execution.
    pub(super) fn is_owed_again(&mut self) {
        *self = match std::mem::take(self) {
            Self::Met(Some(packet)) => Self::Owed(packet),
            other => other,
        };
    }

    /// Returns the first execution for the statement with this number, if the server has not seen it.
    pub(super) fn execution(&self, id: u32) -> Option<OwedCommand> {
        let Self::Owed(packet) = self else { return None };
        let mut packet = packet.to_vec();
        packet.get_mut(1..5)?.copy_from_slice(&id.to_le_bytes());
        Some((Command::StmtExecute, packet))
    }

    /// Returns the same for the statement of this name.
    pub(super) fn statements(&self, name: &str, parameters: usize) -> Vec<OwedCommand> {
        let Self::Owed(packet) = self else { return Vec::new() };
        let execution = Execution::parse(packet, parameters, Capabilities::empty(), None, |_| false);
        let values =
            execution.ok().and_then(|it| it.parameters.iter().map(literal).collect::<Option<Vec<_>>>());
        let Some(values) = values.filter(|_| name.is_ascii()) else { return Vec::new() };
        let names: Vec<String> = (0..values.len()).map(|at| format!("@`freshet {at}`")).collect();
        let list = |pairs: Vec<String>| pairs.join(", ");
        let given = names.iter().zip(&values).map(|(name, value)| format!("{name} = {value}"));
        let taken = names.iter().map(|name| format!("{name} = NULL"));
        let statements = [
            format!("SET {}", list(given.collect())),
            format!("EXECUTE `{}` USING {}", name.replace('`', "``"), list(names.clone())),
            format!("SET {}", list(taken.collect())),
        ];
        statements.into_iter().map(|text| (Command::Query, text.into_bytes())).collect()
    }
}

/// Returns a packet, if it is short enough to be kept.
fn kept(packet: Vec<u8>) -> Option<Box<[u8]>> {
    (packet.len() <= FIRST_BYTES_MAX).then(|| packet.into())
}

/// Returns a value as text. Strings are of printable ASCII without quotes and backslashes.
fn literal(value: &Parameter<'_>) -> Option<String> {
    match value {
        Parameter::Int(number) => Some(number.to_string()),
        Parameter::Text(text) => Some(format!("'{}'", std::str::from_utf8(text).ok()?)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_execution_after_a_definition_is_the_first_one() {
        let mut known = FirstExecution::default();
        known.counts_from(5);
        known.first.note_answered(|| vec![1; 8]);
        assert!(!known.heeds_definitions(5, |_| panic!("the catalog is the same")));
        for (now, changed) in [(6, ChangedSince::Nothing), (7, ChangedSince::Perhaps)] {
            let is_redefined = known.heeds_definitions(now, |since| {
                assert_eq!(since, now - 1);
                changed
            });
            assert_eq!(is_redefined, changed != ChangedSince::Nothing);
            assert!(matches!(&known.first, First::Owed(packet) if **packet == [1; 8]), "{changed:?}");
        }
        assert!(known.heeds_definitions(8, |_| ChangedSince::Named) && known.first.is_none());
        known.first.note_answered(|| vec![2; 8]);
        assert!(matches!(&known.first, First::Owed(packet) if **packet == [2; 8]));
    }
}
