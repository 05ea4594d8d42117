//! Whether the server's commits wait for us, by its own settings and status.
//!
//! Pure: names and values in, a verdict out. `check` asks it before anything is set up, and the follower asks it again and again while
//! the level `semisync` is in use.
//!
//! All of these must hold, each for a reason. *Enabled*, with the wait *after the binlog and before the engine's commit* (AFTER_SYNC):
//! otherwise others see a commit before we have heard of it. *The wait goes on without a replica*: otherwise a server that has lost us
//! commits at once, while we may not have noticed. *Only our acknowledgement is enough*: with that of another replica, a commit would end
//! its wait before it has reached us. *A long enough timeout* for the proof that none has run out (`proven.rs`).

use std::time::Duration;

use freshet_sql::Flavor;
use freshet_upstream::server::Variables;

/// The shortest timeout that is accepted. The proof holds for half of it, and is renewed four times a second.
pub(crate) const TIMEOUT_MIN: Duration = Duration::from_millis(1_000);

/// Both spellings; MySQL has had the first since 8.0.26.
const PREFIXES: [&str; 2] = ["rpl_semi_sync_source_", "rpl_semi_sync_master_"];

/// A setting that is missing, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// In words for users.
    pub why: String,
    /// The statement that sets it right, or when the fault ends by itself.
    pub remedy: String,
}

impl Lack {
    pub(crate) fn new(why: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { why: why.into(), remedy: remedy.into() }
    }
}

/// The server's variables of semi-synchronous replication.
struct Settings<'a> {
    prefix: &'static str,
    variables: &'a Variables,
}

impl<'a> Settings<'a> {
    /// Reads the settings. `None` if the server has none: the plugin is not loaded.
    fn of(variables: &'a Variables) -> Option<Self> {
        let prefix = PREFIXES.into_iter().find(|prefix| variables.knows(&format!("{prefix}enabled")))?;
        Some(Self { prefix, variables })
    }

    fn name(&self, rest: &str) -> String {
        format!("{}{rest}", self.prefix)
    }

    /// Returns the name of a setting. The word for a replica changed with the prefix.
    fn named(&self, new: &str, old: &str) -> String {
        self.name(if self.prefix == PREFIXES[0] { new } else { old })
    }

    fn set(&self, name: &str, value: &str) -> String {
        format!("SET GLOBAL {name} = {value};")
    }

    fn timeout(&self) -> Duration {
        Duration::from_millis(self.variables.text(&self.name("timeout")).parse().unwrap_or(0))
    }

    /// Returns how many acknowledgements a commit waits for; on MariaDB always one.
    fn wait_count(&self) -> (String, u64) {
        let name = self.named("wait_for_replica_count", "wait_for_slave_count");
        let count = self.variables.text(&name).parse().unwrap_or(1);
        (name, count)
    }

    fn lack(&self) -> Option<Lack> {
        let enabled = self.name("enabled");
        if !self.variables.is_on(&enabled) {
            let (enabled, point) =
                (self.set(&enabled, "ON"), self.set(&self.name("wait_point"), "'AFTER_SYNC'"));
            return Some(Lack::new(
                "semi-synchronous replication is off at the server",
                format!("{enabled} {point}"),
            ));
        }
        let point = self.name("wait_point");
        let found = self.variables.text(&point);
        if !found.eq_ignore_ascii_case("AFTER_SYNC") {
            return Some(Lack::new(
                format!("{point} is {found}: others see a commit before it has reached us"),
                self.set(&point, "'AFTER_SYNC'"),
            ));
        }
        let waits = self.named("wait_no_replica", "wait_no_slave");
        if !self.variables.is_on(&waits) {
            return Some(Lack::new(
                format!("{waits} is OFF: a server that has lost us does not wait"),
                self.set(&waits, "ON"),
            ));
        }
        if self.timeout() < TIMEOUT_MIN {
            let timeout = self.name("timeout");
            return Some(Lack::new(
                format!(
                    "{timeout} is {} ms, too short to prove that no wait has run out",
                    self.timeout().as_millis()
                ),
                self.set(&timeout, &TIMEOUT_MIN.as_millis().to_string()),
            ));
        }
        None
    }
}

fn no_plugin(flavor: Flavor) -> Lack {
    let remedy = match flavor {
        Flavor::MySql => {
            "INSTALL PLUGIN rpl_semi_sync_source SONAME 'semisync_source.so'; \
             SET GLOBAL rpl_semi_sync_source_enabled = ON;"
        }
        Flavor::MariaDb => {
            "INSTALL SONAME 'semisync_master', or MariaDB 10.3 or later, which has it built in"
        }
    };
    Lack::new("the server has no semi-synchronous replication loaded", remedy)
}

/// Whether the server knows semi-synchronous replication at all.
pub(crate) fn is_known(variables: &Variables) -> bool {
    Settings::of(variables).is_some()
}

/// Returns the setting that the server lacks, if any.
pub fn lack(flavor: Flavor, variables: &Variables) -> Option<Lack> {
    match Settings::of(variables) {
        None => Some(no_plugin(flavor)),
        Some(settings) => settings.lack(),
    }
}

/// Returns how long commits that are made from now on wait for our acknowledgement, at least.
///
/// # Errors
/// The reason why they do not wait.
pub(crate) fn waits(flavor: Flavor, variables: &Variables, status: &Variables) -> Result<Duration, Lack> {
    let settings = Settings::of(variables).ok_or_else(|| no_plugin(flavor))?;
    if let Some(lack) = settings.lack() {
        return Err(lack);
    }
    if !status.is_on(&settings.name("status")) {
        return Err(Lack::new(
            "the server has fallen back to asynchronous replication",
            "it comes back by itself with the next commit that is acknowledged in time",
        ));
    }
    let clients: u64 = status.text(&settings.name("clients")).parse().unwrap_or(0);
    let (name, count) = settings.wait_count();
    match clients {
        0 => Err(Lack::new(
            "the server does not count us among its semi-synchronous replicas",
            "none is known",
        )),
        clients if clients > count => Err(Lack::new(
            format!("{clients} replicas are semi-synchronous, and the acknowledgement of {count} is enough"),
            match flavor {
                Flavor::MySql => settings.set(&name, &clients.to_string()),
                Flavor::MariaDb => {
                    "SET GLOBAL rpl_semi_sync_slave_enabled = OFF on the other replicas, and restart their \
                                    IO threads"
                        .to_owned()
                }
            },
        )),
        _ => Ok(settings.timeout()),
    }
}

#[cfg(test)]
mod tests;
