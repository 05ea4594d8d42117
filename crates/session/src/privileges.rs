//! What a client may do to the cache, by the server's grants.

use freshet_protocol::ErrPacket;
use freshet_sql::Flavor;
use freshet_upstream::Rows;

use crate::relay::Lost;
use crate::session::Session;

/// A privilege that one of Freshet's own statements needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Privilege {
    /// To set a global variable.
    SetGlobal,
    /// To see what other clients do.
    Process,
    /// To empty the cache.
    Reload,
    /// To kill other users' connections.
    Kill,
}

impl Privilege {
    /// Any of these, granted on `*.*`, is enough.
    const fn names(self) -> &'static [&'static str] {
        match self {
            Self::SetGlobal => &["ALL PRIVILEGES", "SUPER", "SYSTEM_VARIABLES_ADMIN"],
            Self::Process => &["ALL PRIVILEGES", "PROCESS"],
            Self::Reload => &["ALL PRIVILEGES", "RELOAD"],
            Self::Kill => &["ALL PRIVILEGES", "SUPER", "CONNECTION_ADMIN", "CONNECTION ADMIN"],
        }
    }

    const fn shown(self, flavor: Flavor) -> &'static str {
        match self {
            // MariaDB has no other privilege for its own query cache.
            Self::SetGlobal if matches!(flavor, Flavor::MariaDb) => "SUPER",
            Self::SetGlobal => "SUPER or SYSTEM_VARIABLES_ADMIN",
            Self::Process => "PROCESS",
            Self::Reload => "RELOAD",
            Self::Kill => "SUPER or CONNECTION_ADMIN",
        }
    }
}

/// Asks the server whether this client has `privilege`.
///
/// # Errors
/// The outer error: the server's connection is lost. The inner error is for the client.
pub(crate) async fn require(
    session: &mut Session,
    privilege: Privilege,
) -> Result<Result<(), ErrPacket>, Lost> {
    if let Err(error) = session.connect().await {
        return Ok(Err(error.to_err_packet()));
    }
    match session.ask("SHOW GRANTS").await {
        Ok(grants) if granted(&grants, privilege) => Ok(Ok(())),
        Ok(_) => Ok(Err(ErrPacket::new(
            1227,
            "42000",
            format!(
                "Access denied; you need (at least one of) the {} privilege(s) for this operation",
                privilege.shown(session.flavor())
            ),
        ))),
        Err(error) => Ok(Err(error.to_err_packet())),
    }
}

/// Whether one of the lines `GRANT … ON *.* TO …` names the privilege.
fn granted(grants: &Rows, privilege: Privilege) -> bool {
    let lines = grants.rows.iter().filter_map(|row| row.first()?.as_deref());
    lines.filter_map(|line| std::str::from_utf8(line).ok()).any(|line| {
        let Some(list) = line.strip_prefix("GRANT ").and_then(|rest| rest.split_once(" ON *.* TO ")) else {
            return false;
        };
        list.0.split(',').any(|name| privilege.names().contains(&name.trim()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(lines: &[&str]) -> Rows {
        Rows {
            rows: lines.iter().map(|line| vec![Some(line.as_bytes().to_vec())]).collect(),
            ..Rows::default()
        }
    }

    #[test]
    fn only_grants_on_everything_count() {
        let cases = [
            ("GRANT ALL PRIVILEGES ON *.* TO `a`@`%` WITH GRANT OPTION", true),
            ("GRANT SELECT, SYSTEM_VARIABLES_ADMIN ON *.* TO `a`@`%`", true),
            ("GRANT ALL PRIVILEGES ON `d`.* TO `a`@`%`", false),
            ("GRANT SELECT, INSERT ON *.* TO `a`@`%`", false),
        ];
        for (line, has) in cases {
            assert_eq!(granted(&rows(&[line]), Privilege::SetGlobal), has, "{line}");
        }
    }
}
