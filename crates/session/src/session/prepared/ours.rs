//! A prepared statement of ours: the server has prepared a substitute.

use freshet_protocol::{Capabilities, Execution, Parameter};

use super::Prepared;
use super::substitute::Substitute;

impl Prepared {
    /// The same statement, which is one of ours with this text.
    pub(crate) fn of_ours(self, text: &[u8], made: Vec<u8>) -> Self {
        Self { ours: Some(Substitute::new(text, made)), ..self }
    }

    /// Its text, if it is one of ours.
    pub(crate) fn text_of_ours(&self) -> Option<&[u8]> {
        self.ours.as_ref().map(Substitute::text)
    }

    /// Whether this is what the server has prepared in its place.
    pub(crate) fn is_made_as(&self, text: &[u8]) -> bool {
        self.ours.as_ref().is_some_and(|ours| ours.is(text))
    }

    /// Notes what the server has prepared in its place, of whose parameters' types it was told nothing.
    pub(crate) fn set_made_as(&self, text: &[u8]) {
        if let Some(ours) = &self.ours {
            ours.set(text);
            self.types().forget_told();
        }
    }

    /// The values that a packet executes it with; `None` if they cannot be told.
    pub(crate) fn values<'a>(
        &self,
        packet: &'a [u8],
        capabilities: Capabilities,
    ) -> Option<Vec<Parameter<'a>>> {
        let mut types = self.types();
        let parsed =
            Execution::parse(packet, self.parameters, capabilities, types.said(), |_| self.has_long_data());
        let Execution { parameters, types: sent } = parsed.ok()?;
        types.say(sent.as_ref().map(|sent| sent.iter().copied()));
        Some(parameters)
    }
}
