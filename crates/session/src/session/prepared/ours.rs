//! A prepared statement of Freshet's own: the server has prepared a substitute.

use freshet_protocol::{Capabilities, Execution, Parameter};

use super::Prepared;
use super::substitute::Substitute;

impl Prepared {
    /// Makes the statement one of Freshet's own with this text.
    pub(crate) fn of_ours(self, text: &[u8], made: Vec<u8>) -> Self {
        Self { ours: Some(Substitute::new(text, made)), ..self }
    }

    /// Returns the text, if the statement is Freshet's own.
    pub(crate) fn text_of_ours(&self) -> Option<&[u8]> {
        self.ours.as_ref().map(Substitute::text)
    }

    /// Whether the server has prepared this text as the substitute.
    pub(crate) fn is_made_as(&self, text: &[u8]) -> bool {
        self.ours.as_ref().is_some_and(|ours| ours.is(text))
    }

    /// Notes the substitute that the server has prepared. The server has not been told the types of its parameters.
    pub(crate) fn set_made_as(&self, text: &[u8]) {
        if let Some(ours) = &self.ours {
            ours.set(text);
            self.types().forget_told();
        }
    }

    /// Returns the values of an execution's packet; `None` if they are unknown.
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
