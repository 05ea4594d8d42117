//! The server's demands on the channel of a login.

use freshet_upstream::Channel;

/// The server's demands on the channel of one account's logins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Requirement {
    /// The account has REQUIRE SSL or more.
    pub(super) tls: bool,
    /// `require_secure_transport` is on: TLS, or a unix socket.
    pub(super) secure: bool,
}

impl Requirement {
    pub(super) fn is_met_by(self, channel: Channel) -> bool {
        (!self.tls || channel == Channel::Tls) && (!self.secure || channel.is_secure())
    }
}
