//! Status variables about the session's channel: the client asks about its own channel, and the server answers about the
//! channel from Freshet. If a statement plainly asks for such variables, Freshet corrects the rows on their way.

use freshet_protocol::Compression;
use freshet_sql::{Modes, SessionStatus, StatusName, session_status};
use freshet_upstream::net::Tls;
use rustls::{CipherSuite, ProtocolVersion};

use super::processes::Processes;
use super::text_row;
use super::uncounted::{Own, Uncounted};

/// The level that both servers show for zlib. No client sets one.
const ZLIB_LEVEL: &str = "6";

/// The variables.
static VARIABLES: &[ChannelVariable] = &[
    ChannelVariable { name: "Compression", of: compression },
    ChannelVariable { name: "Compression_algorithm", of: algorithm },
    ChannelVariable { name: "Compression_level", of: level },
    ChannelVariable { name: "Ssl_cipher", of: cipher },
    ChannelVariable { name: "Ssl_version", of: version },
];

/// A status variable, and its value as both servers show it.
struct ChannelVariable {
    name: &'static str,
    of: fn(&ChannelLayers) -> String,
}

/// The layers that the client's bytes pass.
#[derive(Debug, Default)]
pub(crate) struct ChannelLayers {
    pub(crate) tls: Option<Tls>,
    pub(crate) compression: Option<Compression>,
}

/// OpenSSL's names of the cipher suites, as the servers show them.
static CIPHERS: &[(CipherSuite, &str)] = &[
    (CipherSuite::TLS13_AES_256_GCM_SHA384, "TLS_AES_256_GCM_SHA384"),
    (CipherSuite::TLS13_AES_128_GCM_SHA256, "TLS_AES_128_GCM_SHA256"),
    (CipherSuite::TLS13_CHACHA20_POLY1305_SHA256, "TLS_CHACHA20_POLY1305_SHA256"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, "ECDHE-ECDSA-AES256-GCM-SHA384"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, "ECDHE-ECDSA-AES128-GCM-SHA256"),
    (CipherSuite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-ECDSA-CHACHA20-POLY1305"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384, "ECDHE-RSA-AES256-GCM-SHA384"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256, "ECDHE-RSA-AES128-GCM-SHA256"),
    (CipherSuite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256, "ECDHE-RSA-CHACHA20-POLY1305"),
];

fn compression(channel: &ChannelLayers) -> String {
    if channel.compression.is_some() { "ON" } else { "OFF" }.to_owned()
}

fn algorithm(channel: &ChannelLayers) -> String {
    match channel.compression {
        None => "",
        Some(Compression::Zlib) => "zlib",
        Some(Compression::Zstd { .. }) => "zstd",
    }
    .to_owned()
}

fn level(channel: &ChannelLayers) -> String {
    match channel.compression {
        None => "0".to_owned(),
        Some(Compression::Zlib) => ZLIB_LEVEL.to_owned(),
        Some(Compression::Zstd { level }) => level.to_string(),
    }
}

fn cipher(channel: &ChannelLayers) -> String {
    let Some(tls) = channel.tls else { return String::new() };
    let named = CIPHERS.iter().find(|(suite, _)| *suite == tls.suite);
    named.map_or_else(|| format!("{:?}", tls.suite), |(_, name)| (*name).to_owned())
}

fn version(channel: &ChannelLayers) -> String {
    let Some(tls) = channel.tls else { return String::new() };
    match tls.version {
        ProtocolVersion::TLSv1_2 => "TLSv1.2".to_owned(),
        ProtocolVersion::TLSv1_3 => "TLSv1.3".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The corrections for the rows of an answer on their way.
#[derive(Debug)]
pub(crate) enum PutRight {
    /// The rows describe the session's channel.
    Channel(Box<OwnChannel>),
    /// The rows list processes.
    Processes(Box<Processes>),
    /// The only row is the number of found rows.
    FoundRows(u32),
}

impl PutRight {
    /// Sets how much Freshet asked on the connection that the client did not ask.
    pub(crate) fn counting(mut self, own: Own) -> Self {
        if let Self::Channel(channel) = &mut self {
            channel.uncounted.own = own;
        }
        self
    }

    /// Returns the row that the client gets in the place of `payload`; `None` if the client gets `payload` itself.
    pub(crate) fn row(&self, payload: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Channel(channel) => channel.row(payload),
            Self::Processes(processes) => processes.row(payload),
            Self::FoundRows(rows) => Some(row_of(*rows)),
        }
    }
}

/// Returns a row of the text protocol with one number.
pub(crate) fn row_of(number: u32) -> Vec<u8> {
    text_row::row(&[Some(number.to_string().as_bytes())])
}

/// Corrects the rows of one answer with status variables of the session.
#[derive(Debug)]
pub(crate) struct OwnChannel {
    at: SessionStatus,
    /// `None` if the client's channel is like the one to the server.
    channel: Option<ChannelLayers>,
    uncounted: Uncounted,
}

impl OwnChannel {
    /// Returns the corrections for the answer to `text`, if it asks for status variables of its session: those of the client's channel,
    /// which may differ from the channel to the server, which may have TLS; and the counters.
    pub(crate) fn asked_by(
        text: &[u8],
        modes: Modes,
        channel: ChannelLayers,
        server_has_tls: bool,
        uncounted: Uncounted,
    ) -> Option<Self> {
        let is_alike = channel.tls.is_none() && channel.compression.is_none() && !server_has_tls;
        let channel = (!is_alike).then_some(channel);
        Some(Self { at: session_status(text, modes)?, channel, uncounted })
    }

    /// Returns the row that the client gets in the place of `payload`; `None` if the client gets `payload` itself.
    pub(crate) fn row(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut values = text_row::values(payload)?;
        let name = match &self.at.name {
            StatusName::At(column) => values.get(*column).copied()??,
            StatusName::Is(name) => name.as_bytes(),
        };
        let said = values.get(self.at.value_at).copied()??;
        let variable = VARIABLES.iter().find(|known| name.eq_ignore_ascii_case(known.name.as_bytes()));
        let value = match variable {
            Some(variable) => (variable.of)(self.channel.as_ref()?),
            None => self.uncounted.value(name, said)?,
        };
        *values.get_mut(self.at.value_at)? = Some(value.as_bytes());
        Some(text_row::row(&values))
    }
}

#[cfg(test)]
mod tests {
    use freshet_sql::Flavor;

    use super::super::uncounted::ServedCounts;
    use super::*;

    #[test]
    fn only_rows_of_the_channel_are_put_right() {
        let at = SessionStatus { name: StatusName::At(0), value_at: 1 };
        let tls = Tls { version: ProtocolVersion::TLSv1_3, suite: CipherSuite::TLS13_AES_128_GCM_SHA256 };
        let (served, own) = (ServedCounts { texts: 2, ..ServedCounts::default() }, Own::default());
        let uncounted = Uncounted { served, own, flavor: Flavor::MySql };
        let own = |channel| OwnChannel { at: at.clone(), channel: Some(channel), uncounted };
        let clear = own(ChannelLayers::default());
        let secure = own(ChannelLayers { tls: Some(tls), compression: None });
        let packed = |compression| own(ChannelLayers { tls: None, compression: Some(compression) });
        assert_eq!(clear.row(b"\x0bSsl_version\x07TLSv1.3"), Some(b"\x0bSsl_version\0".to_vec()));
        assert_eq!(secure.row(b"\x0bSsl_version\0"), Some(b"\x0bSsl_version\x07TLSv1.3".to_vec()));
        let level = b"\x11Compression_level\x010";
        assert_eq!(clear.row(level), Some(level.to_vec()));
        assert_eq!(packed(Compression::Zlib).row(level), Some(b"\x11Compression_level\x016".to_vec()));
        let row = packed(Compression::Zstd { level: 19 }).row(level);
        assert_eq!(row, Some(b"\x11Compression_level\x0219".to_vec()));
        assert_eq!(secure.row(b"\x07Queries\x017"), None);
        assert_eq!(clear.row(b"\x09Questions\x017"), Some(b"\x09Questions\x019".to_vec()));
        assert_eq!(secure.row(b"\xfb\xfb"), None);
        assert_eq!(secure.row(b"\x40short"), None);
    }
}
