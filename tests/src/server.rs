//! The real servers, in sets of one of each kind. A test has a set to itself: what it does to the server, from DDL to
//! accounts and global variables, costs no other test its hits. As many tests run at once as there are sets.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::{Target, leave_out};

/// Whose server it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flavor {
    /// MariaDB.
    MariaDb,
    /// MySQL.
    MySql,
}

/// A real server.
#[derive(Debug, Clone)]
pub struct Server {
    /// Whose it is.
    pub flavor: Flavor,
    /// Its URL, as Freshet takes it.
    pub url: String,
    /// How to reach it directly.
    pub target: Target,
}

impl Server {
    /// The first two numbers of its version.
    ///
    /// # Panics
    /// If the server does not tell.
    #[must_use]
    pub fn version(&self) -> (u16, u16) {
        use mysql::prelude::Queryable;
        let told: Option<String> =
            self.target.connect().query_first("SELECT VERSION()").expect("it is answered");
        let told = told.expect("there is a row");
        let mut numbers = told.split('.').map(|number| number.parse().expect("a number"));
        (numbers.next().expect("the first number"), numbers.next().expect("the second number"))
    }

    /// Its unix socket, as this machine names it: a server under chroot names its socket as it sees it.
    ///
    /// # Panics
    /// If the socket cannot be found.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        use mysql::prelude::Queryable;
        let told: Option<String> =
            self.target.connect().query_first("SELECT @@socket").expect("it is answered");
        let socket = told.expect("there is a row");
        let roots = ["FRESHET_TEST_SERVER_ROOT", "FRESHET_TEST_MYSQL_ROOT", "FRESHET_MYSQL_ROOT"];
        let roots = roots.into_iter().filter_map(std::env::var_os);
        let below = |root: PathBuf| root.join(socket.trim_start_matches('/'));
        let default = concat!(env!("CARGO_MANIFEST_DIR"), "/../.freshet/mysql-root").into();
        [PathBuf::from(&socket)]
            .into_iter()
            .chain(roots.map(|root| below(root.into())))
            .chain([below(default)])
            .find(|path| path.exists())
            .expect("the server's socket is there")
    }

    /// Its URL over that socket.
    ///
    /// # Panics
    /// If the socket cannot be found.
    #[must_use]
    pub fn url_over_socket(&self) -> String {
        let Target { user, password, .. } = &self.target;
        format!("mysql://{user}:{password}@/?socket={}", self.socket().display())
    }
}

/// The servers of one set. Waits until a set is free and keeps it until the calling thread, which is a test's own, ends.
///
/// # Panics
/// If a server is missing that may not be.
pub fn all() -> Vec<Server> {
    let set = SET.with_borrow_mut(|set| set.get_or_insert_with(Set::take).number);
    let suffix = if set == 0 { String::new() } else { format!("_{}", set + 1) };
    let named = [(Flavor::MariaDb, "FRESHET_TEST_MARIADB"), (Flavor::MySql, "FRESHET_TEST_MYSQL")];
    named
        .into_iter()
        .filter_map(|(flavor, variable)| from_environment(flavor, &format!("{variable}{suffix}")))
        .collect()
}

/// Sets that the environment may give; all but the first have their number at the end of their variables' names, as `_2`.
const SETS_MAX: usize = 8;

/// Which sets are taken.
static TAKEN: Mutex<[bool; SETS_MAX]> = Mutex::new([false; SETS_MAX]);
static GIVEN_BACK: Condvar = Condvar::new();

thread_local! {
    static SET: RefCell<Option<Set>> = const { RefCell::new(None) };
}

/// A set that one thread has to itself.
struct Set {
    number: usize,
}

impl Set {
    fn take() -> Set {
        let mut taken = taken();
        loop {
            if let Some(number) = (0..SETS_MAX).find(|&number| !taken[number] && is_given(number)) {
                taken[number] = true;
                return Set { number };
            }
            taken = GIVEN_BACK.wait(taken).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Set {
    fn drop(&mut self) {
        taken()[self.number] = false;
        GIVEN_BACK.notify_one();
    }
}

fn taken() -> MutexGuard<'static, [bool; SETS_MAX]> {
    TAKEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first set is always there, if only to say what it lacks.
fn is_given(number: usize) -> bool {
    number == 0 || std::env::var_os(format!("FRESHET_TEST_MARIADB_{}", number + 1)).is_some()
}

/// The server behind a URL.
pub fn at(flavor: Flavor, url: &str) -> Server {
    Server { flavor, target: target(url), url: url.to_owned() }
}

fn from_environment(flavor: Flavor, variable: &str) -> Option<Server> {
    match std::env::var(variable) {
        Ok(url) if !url.is_empty() => Some(at(flavor, &url)),
        _ => {
            leave_out(&format!("{variable} is not set"));
            None
        }
    }
}

fn target(url: &str) -> Target {
    let options = mysql::Opts::from_url(url).expect("the server's URL is one that the client understands");
    Target {
        host: options.get_ip_or_hostname().into_owned(),
        port: options.get_tcp_port(),
        user: options.get_user().unwrap_or_default().to_owned(),
        password: options.get_pass().unwrap_or_default().to_owned(),
    }
}
