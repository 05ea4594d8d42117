//! An execution in the form in which another statement of the same text, prepared for many sessions, can carry it out.

use freshet_protocol::{Capabilities, ExecutionParts};

use super::{Prepared, history};

/// An execution that another statement of the same text can carry out.
#[derive(Debug)]
pub(crate) struct Carriable {
    /// The kinds of the values, if the server resolves types by them: the other statement has been executed only with these kinds.
    pub(crate) kinds: u64,
    /// The packet, with the types of all parameters.
    pub(crate) packet: Vec<u8>,
}

impl Prepared {
    /// Returns an execution by this packet in that form; `None` if no other statement certainly does the same.
    pub(crate) fn carriable(&self, packet: &[u8], capabilities: Capabilities) -> Option<Carriable> {
        let select = self.select.as_ref()?;
        let parts = ExecutionParts::cut(packet, self.parameters, capabilities)?;
        let types = self.types();
        let said = types.said().unwrap_or_default();
        let kinds = match &self.history {
            None => 0,
            Some(_) if self.is_like_before(select) => {
                select.with_typed_by(|typed_by| history::kinds(&parts, said, typed_by))?
            }
            Some(_) => return None,
        };
        let packet = match parts.types() {
            None if self.parameters > 0 => parts.with_types(packet, said, capabilities)?,
            _ => packet.to_vec(),
        };
        Some(Carriable { kinds, packet })
    }
}
