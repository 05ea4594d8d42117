//! The types of a prepared statement's parameters. A client sends them with the first execution, and later only when they change.
//! The server needs them in the same way, but does not get executions that are answered from memory.

use freshet_protocol::ParameterType;

/// The types that the client has said, and the types that the server has been told.
#[derive(Debug, Default)]
pub(super) struct Types {
    said: Option<Vec<ParameterType>>,
    told: Option<Vec<ParameterType>>,
}

impl Types {
    /// Returns the types for an execution that brings none.
    pub(super) fn said(&self) -> Option<&[ParameterType]> {
        self.said.as_deref()
    }

    /// Notes the types that an execution brings, if it brings any.
    pub(super) fn say(&mut self, types: Option<impl Iterator<Item = ParameterType> + Clone>) {
        let Some(types) = types else { return };
        if !self.said().is_some_and(|said| types.clone().eq(said.iter().copied())) {
            self.said = Some(types.collect());
        }
    }

    /// Notes that the server is sent an execution that brings types or none. Returns whether the server needs the types besides.
    pub(super) fn tell(&mut self, brings: bool) -> bool {
        let lacks = !brings && self.told != self.said;
        self.told.clone_from(&self.said);
        lacks
    }

    /// Forgets what the server was told: it is unknown what it has taken from the last execution, so it is told again.
    pub(super) fn forget_told(&mut self) {
        self.told = None;
    }

    /// Forgets also the types for the client's next execution.
    pub(super) fn forget(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use freshet_protocol::{Capabilities, ExecutionParts};

    use super::*;

    /// Returns the types as a packet brings them.
    fn types(kinds: &[u8]) -> Vec<ParameterType> {
        let mut packet = vec![0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0];
        packet.extend(vec![0; kinds.len().div_ceil(8)]);
        packet.push(1);
        kinds.iter().for_each(|kind| packet.extend([*kind, 0]));
        let parts = ExecutionParts::cut(&packet, kinds.len(), Capabilities::empty()).unwrap();
        parts.types().unwrap().collect()
    }

    #[test]
    fn what_the_server_was_told_is_not_what_was_said_to_us() {
        let mut known = Types::default();
        assert!(!known.tell(false), "there is nothing to tell");
        known.say(Some(types(&[3]).into_iter()));
        assert!(known.tell(false), "it was said with an execution that the server was not sent");
        assert!(!known.tell(false));
        known.say(Some(types(&[8]).into_iter()));
        assert!(!known.tell(true), "the execution brings them");
        assert!(!known.tell(false));
        known.say(None::<std::vec::IntoIter<ParameterType>>);
        assert!(!known.tell(false));
        known.forget();
        assert_eq!(known.said(), None);
    }
}
