//! Who may connect to the admin port.

use crate::store::Role;

/// A name and its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Account {
    /// The name, which is not empty.
    pub user: String,
    /// The password, which may be empty.
    pub password: String,
}

impl std::fmt::Debug for Account {
    // The password stays out of logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Account").field(&self.user).finish()
    }
}

impl Account {
    /// Reads `user:password`, or several of them with `;` between them, as ProxySQL writes them. `None` for anything else.
    pub fn read_all(text: &str) -> Option<Vec<Account>> {
        let one = |text: &str| {
            let (user, password) = text.trim().split_once(':')?;
            (!user.is_empty()).then(|| Account { user: user.to_owned(), password: password.to_owned() })
        };
        text.trim_end_matches([';', ' ']).split(';').map(one).collect()
    }

    /// Writes accounts in the form that [`Self::read_all`] reads.
    fn write_all(accounts: &[Account]) -> String {
        let one = |account: &Account| format!("{}:{}", account.user, account.password);
        accounts.iter().map(one).collect::<Vec<_>>().join(";")
    }

    /// Whether everybody can guess the password: it is missing, or is the name, as in ProxySQL's defaults.
    #[must_use]
    pub fn is_guessed(&self) -> bool {
        self.password.is_empty() || self.password == self.user
    }
}

/// All accounts.
#[derive(Debug, Clone, Default)]
pub struct Accounts {
    /// The accounts of administrators.
    pub admin: Vec<Account>,
    /// The accounts that may only look at statistics.
    pub stats: Vec<Account>,
    /// The admin port can be reached from other machines.
    pub is_far: bool,
}

impl Accounts {
    pub(crate) fn find(&self, user: &[u8]) -> Option<(Role, &str)> {
        let of = |role| self.of(role).iter().map(move |account| (role, account));
        let mut all = of(Role::Admin).chain(of(Role::Stats));
        all.find(|(_, account)| account.user.as_bytes() == user)
            .map(|(role, account)| (role, &*account.password))
    }

    fn of(&self, role: Role) -> &[Account] {
        if role == Role::Stats { &self.stats } else { &self.admin }
    }

    /// Returns the accounts of a role, as a variable shows them.
    pub(crate) fn text(&self, role: Role) -> String {
        Account::write_all(self.of(role))
    }

    /// Makes these accounts of a role count, from the next login on.
    ///
    /// # Errors
    /// The reason for the client, if it is not possible. Nothing is changed then.
    pub(crate) fn set(&mut self, role: Role, text: &str) -> Result<(), String> {
        let accounts =
            Account::read_all(text).ok_or("it is user:password, or several of them with ; between them")?;
        let guessed = accounts.iter().find(|account| self.is_far && account.is_guessed());
        // Accounts that count already were given when the program was started.
        if let Some(account) = guessed.filter(|_| *accounts != *self.of(role)) {
            return Err(format!(
                "the password of '{}' is easy to guess, and the admin port can be reached from other machines",
                account.user
            ));
        }
        let of = if role == Role::Stats { &mut self.stats } else { &mut self.admin };
        *of = accounts;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_and_found() {
        let mut accounts = Accounts::default();
        accounts.set(Role::Admin, "admin:admin; radmin:a:b;").unwrap();
        accounts.set(Role::Stats, "stats:").unwrap();
        assert_eq!(accounts.text(Role::Admin), "admin:admin;radmin:a:b");
        assert_eq!(accounts.find(b"radmin"), Some((Role::Admin, "a:b")));
        assert_eq!(accounts.find(b"stats"), Some((Role::Stats, "")));
        assert_eq!(accounts.find(b"root"), None);
        for wrong in ["", "admin", ":x", "a:b;;c:d", "a:b;c"] {
            assert!(accounts.set(Role::Admin, wrong).is_err(), "{wrong}");
        }
        assert_eq!(accounts.text(Role::Admin), "admin:admin;radmin:a:b");
    }

    #[test]
    fn a_password_that_everybody_guesses_is_for_this_machine() {
        let mut accounts = Accounts { is_far: true, ..Accounts::default() };
        for wrong in ["admin:admin", "admin:sesame;radmin:radmin", "admin:"] {
            assert!(accounts.set(Role::Admin, wrong).unwrap_err().contains("easy to guess"), "{wrong}");
        }
        accounts.set(Role::Admin, "admin:sesame").unwrap();
    }
}
