//! The facts of the account that the server has let a login in as. Freshet asks for them on the login's own connection, once for each name
//! as long as no account changes.
//!
//! Freshet reads two facts from the account's definition. If it limits what its user may do in an hour or at once, the
//! server has to see each login. And MariaDB shows the stored value of a password of `mysql_native_password` to its owner: together with
//! the client's answer, that is all that further logins need (`native::hash_in`). Only the right stored value can give it, so
//! a mistake in reading the definition does no harm.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use freshet_protocol::native;
use freshet_sql::contains_ignoring_case;
use freshet_upstream::{Connection, Credential, Error, NativeHash};
use tokio::time::timeout;

use super::admitted::Admitted;
use super::asker::{LoginAsker, unhex, who};
use super::gate::Gate;
use super::knowledge::Epoch;
use super::relay::Learned;
use super::secrets::Accepted;

/// The definition of the session's own account.
const DEFINITION: &str = "SHOW CREATE USER CURRENT_USER()";
/// What MySQL shows in the place of a password to those who may not read accounts.
const HIDDEN: &[u8] = b"<secret>";
/// The start of every limit of an account: MAX_QUERIES_PER_HOUR and similar ones.
const BOUND: &[u8] = b"MAX_";
/// How long a login may wait until Freshet's own account has read the stored value.
const STORED_LIMIT: Duration = Duration::from_secs(1);

/// The digits of a stored value of `mysql_native_password`, which is an asterisk and these digits.
const STORED_DIGITS: usize = 2 * native::TOKEN_LEN;

impl LoginAsker<'_> {
    /// Remembers a login that the server has accepted on `connection`, and returns what proves it, if that is known.
    ///
    /// # Errors
    /// The connection is lost.
    pub(super) async fn learn(
        self,
        connection: &mut Connection,
        accepted: Accepted<'_>,
        learned: Learned,
    ) -> Result<Option<Credential>, Error> {
        let user = accepted.user;
        let Some(epoch) = self.epoch else { return self.keep(connection, user, known(learned)).await };
        let credential = if self.gate.secrets.is_met(user, epoch) {
            known(learned)
        } else {
            self.meet(connection, user, learned, epoch).await?
        };
        if let Some(credential) = &credential {
            self.gate.secrets.learn(accepted, credential.clone(), epoch);
        }
        Ok(credential)
    }

    /// Keeps what proves a login while nothing else can be remembered: a client may not give its password again.
    async fn keep(
        self,
        connection: &mut Connection,
        user: &[u8],
        credential: Option<Credential>,
    ) -> Result<Option<Credential>, Error> {
        if let Some(credential) = &credential
            && let Some((account, _)) = definition(connection).await?
        {
            self.gate.secrets.keep(user, &unhex(&account), credential.clone());
        }
        Ok(credential)
    }

    async fn meet(
        self,
        connection: &mut Connection,
        user: &[u8],
        learned: Learned,
        epoch: Epoch,
    ) -> Result<Option<Credential>, Error> {
        let Some((account, definition)) = definition(connection).await? else {
            return Ok(known(learned));
        };
        self.gate.secrets.meet(user, &unhex(&account), !is_bounded(&definition), epoch);
        self.gate.secrets.note_definition(user, hash_of(&definition), epoch);
        match learned {
            Learned::Known(credential) => Ok(Some(credential)),
            Learned::Native { scramble, proof } => {
                let hash_in =
                    |text: &[u8]| stored(text).find_map(|it| native::hash_in(&proof, &scramble, &it));
                let hash = match hash_in(&definition) {
                    Some(hash) => Some(hash),
                    None => self.read_stored(&account).await.and_then(|text| hash_in(&text)),
                };
                Ok(hash.map(|hash| Credential::NativeHash(NativeHash::new(hash))))
            }
        }
    }

    /// Returns the stored value of an account's password, if the server shows it to Freshet's own account only.
    async fn read_stored(self, account: &str) -> Option<Vec<u8>> {
        let question = format!(
            "SELECT CONCAT('''', authentication_string, '''') FROM mysql.user \
             WHERE CAST(CONCAT(User, '@', Host) AS BINARY) = X'{account}'"
        );
        let rows = timeout(STORED_LIMIT, self.gate.ask(&question)).await.ok()?.ok()?;
        rows.rows.into_iter().next()?.into_iter().next()?
    }
}

impl Gate {
    /// Asks for the definition of a session's account on the session's connection, if accounts have changed since anybody of this name was
    /// met: otherwise nobody would know whether another connection may be opened until the next login. A changed definition, or one that
    /// hides the password, tells nothing: only the next login does.
    ///
    /// # Errors
    /// The connection is lost.
    pub(crate) async fn meets_again(
        &self,
        admitted: &Admitted,
        connection: &mut Connection,
    ) -> Result<(), Error> {
        if let Some(epoch) = self.epoch()
            && self.secrets.repeats(&admitted.user, epoch).is_none()
            && let Some((account, definition)) = definition(connection).await?
            && !contains_ignoring_case(&definition, HIDDEN)
        {
            let (account, hash) = (unhex(&account), hash_of(&definition));
            self.secrets.note_defined_still(&admitted.user, &account, hash, epoch);
        }
        Ok(())
    }
}

/// Returns the account in hexadecimal digits, and its definition; `None` if the server does not say.
pub(super) async fn definition(connection: &mut Connection) -> Result<Option<(String, Vec<u8>)>, Error> {
    let asked = async {
        let (_, account) = who(connection).await?;
        let rows = connection.query(DEFINITION).await?;
        let text = rows.rows.into_iter().next().and_then(|row| row.into_iter().next().flatten());
        Ok(text.map(|text| (account, text)))
    };
    match asked.await {
        // An account whose password has expired may ask nothing.
        Err(Error::Server(_)) => Ok(None),
        answer => answer,
    }
}

fn hash_of(definition: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    definition.hash(&mut hasher);
    hasher.finish()
}

fn known(learned: Learned) -> Option<Credential> {
    match learned {
        Learned::Known(credential) => Some(credential),
        Learned::Native { .. } => None,
    }
}

/// Whether an account's definition may limit what its user does.
pub(super) fn is_bounded(definition: &[u8]) -> bool {
    definition.windows(BOUND.len()).any(|part| part.eq_ignore_ascii_case(BOUND))
}

/// Returns all parts of an account's definition that look like a stored value: `'*…'`.
fn stored(text: &[u8]) -> impl Iterator<Item = [u8; native::TOKEN_LEN]> {
    let quoted = text.split(|byte| *byte == b'\'');
    quoted.filter_map(|part| part.strip_prefix(b"*")).filter_map(|digits| {
        let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == STORED_DIGITS)?;
        unhex(digits).try_into().ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_stored_is_found_in_definitions() {
        let once = "'*14E65567ABDB5135D0CFD9A70B3032C179A49EE7'";
        for (definition, found) in [
            (format!("CREATE USER `a`@`%` IDENTIFIED BY PASSWORD {once} REQUIRE SSL"), 1),
            (
                format!(
                    "CREATE USER `a`@`%` IDENTIFIED VIA mysql_native_password USING {once} OR unix_socket"
                ),
                1,
            ),
            (format!("CREATE USER `it's`@`%` IDENTIFIED BY PASSWORD {once}"), 1),
            ("CREATE USER `a`@`%` IDENTIFIED WITH 'mysql_native_password' AS <secret>".to_owned(), 0),
            ("CREATE USER `a`@`%`".to_owned(), 0),
            ("CREATE USER `a`@`%` IDENTIFIED BY PASSWORD '*14E6'".to_owned(), 0),
            (format!("CREATE USER `a`@`%` IDENTIFIED BY PASSWORD '*{}'", "xy".repeat(20)), 0),
        ] {
            assert_eq!(stored(definition.as_bytes()).count(), found, "{definition}");
        }
    }

    #[test]
    fn bounds_are_seen() {
        assert!(is_bounded(b"CREATE USER `a`@`%` REQUIRE NONE WITH MAX_USER_CONNECTIONS 5"));
        assert!(!is_bounded(b"CREATE USER `a`@`%` IDENTIFIED BY PASSWORD '*14E6' PASSWORD EXPIRE"));
    }
}
