//! The parts of an upstream URL.

use std::path::PathBuf;
use std::time::Duration;

use super::{ConfigError, TlsMode, UpstreamConfig};
use crate::address::{Address, DEFAULT_PORT};
use crate::secret::Secret;

const FORMS: &str = "mysql://user:password@host:port/schema?ssl-mode=…, mysql://user:password@/schema?socket=/path, unix:/path?user=…";
const PARAMETERS: &str = "ssl-mode, ssl-ca, socket, connect-timeout, user, password";

impl UpstreamConfig {
    /// Reads a URL such as `mysql://user:password@host:3306/schema?ssl-mode=required`.
    ///
    /// Every part but the scheme and the user may be absent, and every part may be
    /// percent-encoded. A unix socket is given as `mysql://user:password@/schema?socket=/path`, or
    /// as `unix:/path` with `?user=` and `?password=`. The parameters are `ssl-mode`, `ssl-ca`,
    /// `socket`, `connect-timeout` (seconds), `user` and `password`. With `ssl-ca` and no
    /// `ssl-mode` the mode is `verify-ca`, as in MySQL's own clients.
    ///
    /// # Errors
    /// A [`ConfigError`] that names the wrong part and what is allowed there.
    pub fn from_url(url: &str) -> Result<Self, ConfigError> {
        let config = parse(url)?;
        config.validate()?;
        Ok(config)
    }
}

/// Reads the parts of a URL; [`UpstreamConfig::validate`] checks whether they fit together.
fn parse(url: &str) -> Result<UpstreamConfig, ConfigError> {
    let (scheme, rest) =
        url.split_once(':').ok_or_else(|| ConfigError::new("the URL has no scheme", FORMS))?;
    let (body, query) = match rest.split_once('?') {
        Some((body, query)) => (body, Some(query)),
        None => (rest, None),
    };
    let mut config = match scheme.to_ascii_lowercase().as_str() {
        "mysql" | "mariadb" => authority(body)?,
        "unix" => socket_only(body)?,
        // A URL without a scheme would show "user" here, so the text is not repeated.
        _ => return Err(ConfigError::new("the URL's scheme is not known", FORMS)),
    };
    let query = query.unwrap_or_default();
    parameters(&mut config, query).map_err(|error| if query.contains('@') { misplaced() } else { error })?;
    if config.user.is_empty() {
        return Err(ConfigError::new("the URL names no user", FORMS));
    }
    match &config.address {
        Address::Tcp { host, .. } if host.is_empty() => Err(ConfigError::new("the URL names no host", FORMS)),
        _ => Ok(config),
    }
}

/// Returns the error for a misplaced part. A password with an unencoded '?' is cut there, and its rest looks like parameters: it must not
/// be repeated.
fn misplaced() -> ConfigError {
    ConfigError::new(
        "the URL has an '@' behind a '?'",
        "a '?' in a password written as %3F, an '@' in a parameter as %40",
    )
}

/// Reads `//user:password@host:port/schema`.
fn authority(body: &str) -> Result<UpstreamConfig, ConfigError> {
    let body = body.strip_prefix("//").ok_or_else(|| ConfigError::new("the URL has no '//'", FORMS))?;
    // A password may hold an unencoded '/' or '@': the account ends at the last '@'.
    let (account, place) = body.rsplit_once('@').unwrap_or(("", body));
    let (user, password) = account.split_once(':').unwrap_or((account, ""));
    let (endpoint, schema) = place.split_once('/').unwrap_or((place, ""));
    let mut config = UpstreamConfig::new(
        host_and_port(endpoint)?,
        text(user, "the user")?,
        Secret::new(decode(password, "the password")?),
    );
    if !schema.is_empty() {
        config.database = Some(text(schema, "the schema")?);
    }
    Ok(config)
}

/// Reads `/path` or `///path` of a socket; the account is in the parameters.
fn socket_only(body: &str) -> Result<UpstreamConfig, ConfigError> {
    let path = text(body.strip_prefix("//").unwrap_or(body), "the socket's path")?;
    if !path.starts_with('/') {
        return Err(ConfigError::new("the socket's path is not absolute", "unix:/path?user=…"));
    }
    Ok(UpstreamConfig::new(Address::Unix(PathBuf::from(path)), "", Secret::default()))
}

fn host_and_port(endpoint: &str) -> Result<Address, ConfigError> {
    let (host, port) = match endpoint.strip_prefix('[') {
        Some(rest) => {
            let (host, after) = rest
                .split_once(']')
                .ok_or_else(|| ConfigError::new("the host has '[' and no ']'", "an IPv6 address as [::1]"))?;
            (host, after.strip_prefix(':').unwrap_or(after))
        }
        None => endpoint.split_once(':').unwrap_or((endpoint, "")),
    };
    let port = match port {
        "" => DEFAULT_PORT,
        digits => match digits.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(wrong_port(digits)),
        },
    };
    Ok(Address::Tcp { host: text(host, "the host")?, port })
}

/// Returns the error for a wrong port. Without a host, the password stands in the place of the port: a text that is no number is not
/// repeated.
fn wrong_port(port: &str) -> ConfigError {
    let is_number = port.bytes().all(|byte| byte.is_ascii_digit());
    let what = if is_number { format!("the port is '{port}'") } else { "the port is no number".to_owned() };
    ConfigError::new(what, "1 to 65535")
}

fn parameters(config: &mut UpstreamConfig, query: &str) -> Result<(), ConfigError> {
    let mut mode_given = false;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        match name.to_ascii_lowercase().replace('_', "-").as_str() {
            "ssl-mode" | "sslmode" => {
                config.tls = text(value, "ssl-mode")?.parse()?;
                mode_given = true;
            }
            "ssl-ca" => config.tls_ca = Some(PathBuf::from(text(value, "ssl-ca")?)),
            "socket" => config.address = socket(config, text(value, "socket")?)?,
            "connect-timeout" => config.connect_timeout = seconds(value)?,
            "user" => config.user = text(value, "user")?,
            "password" => config.password = Secret::new(decode(value, "password")?),
            _ => {
                return Err(ConfigError::new(
                    format!("the URL's parameter '{name}' is not known"),
                    PARAMETERS,
                ));
            }
        }
    }
    if config.tls_ca.is_some() && !mode_given {
        config.tls = TlsMode::VerifyCa;
    }
    Ok(())
}

fn socket(config: &UpstreamConfig, path: String) -> Result<Address, ConfigError> {
    let contradicts =
        matches!(&config.address, Address::Tcp { host, .. } if !host.is_empty() && host != "localhost");
    if contradicts {
        return Err(ConfigError::new("the URL names a host and a socket", "one of them"));
    }
    if !path.starts_with('/') {
        return Err(ConfigError::new(format!("socket is '{path}'"), "an absolute path"));
    }
    Ok(Address::Unix(PathBuf::from(path)))
}

fn seconds(value: &str) -> Result<Duration, ConfigError> {
    let wrong =
        || ConfigError::new(format!("connect-timeout is '{value}'"), "seconds, more than 0, at most 600");
    let seconds: f64 = value.parse().map_err(|_| wrong())?;
    Duration::try_from_secs_f64(seconds).map_err(|_| wrong())
}

fn text(part: &str, what: &str) -> Result<String, ConfigError> {
    String::from_utf8(decode(part, what)?)
        .map_err(|_| ConfigError::new(format!("{what} is not UTF-8"), "UTF-8, percent-encoded"))
}

/// Undoes percent-encoding. A '%' that starts no escape is an error, because a password could be read in two ways otherwise.
fn decode(part: &str, what: &str) -> Result<Vec<u8>, ConfigError> {
    let mut out = Vec::with_capacity(part.len());
    let mut bytes = part.bytes();
    while let Some(byte) = bytes.next() {
        if byte != b'%' {
            out.push(byte);
            continue;
        }
        let digits = (bytes.next().and_then(hex), bytes.next().and_then(hex));
        let (Some(high), Some(low)) = digits else {
            return Err(ConfigError::new(
                format!("{what} has a '%' that starts no escape"),
                "'%' and two hexadecimal digits; '%' itself is written %25",
            ));
        };
        out.push(high << 4 | low);
    }
    Ok(out)
}

fn hex(digit: u8) -> Option<u8> {
    char::from(digit).to_digit(16).map(|value| value as u8)
}
