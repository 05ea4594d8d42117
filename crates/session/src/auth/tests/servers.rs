//! Logins through a gate against real servers, with our own client end. The servers come from the environment:
//! FRESHET_TEST_MARIADB and FRESHET_TEST_MYSQL are URLs of accounts that may create others. Without them these tests
//! say so and pass, unless FRESHET_TEST_SERVERS is `required`.

use std::rc::Rc;

use freshet_protocol::ChangeUser;
use freshet_upstream::{Error, Password, TlsMode};
use tokio::net::TcpListener;
use tokio::task::{LocalSet, spawn_local};

use super::*;

const PASSWORD: &str = "a long passphrase with blanks in it";
const SCHEMA: &str = "freshet_gate";

/// The outcomes of the logins at the gate: `Some(true)` if the server was asked.
type Outcomes = Rc<std::cell::RefCell<Vec<Option<bool>>>>;

#[derive(Clone)]
struct Door {
    server: UpstreamConfig,
    client: UpstreamConfig,
    outcomes: Outcomes,
}

impl Door {
    /// Makes a gate before this server. Returns also what is needed to connect to it.
    async fn before(server: UpstreamConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = Address::Tcp { host: "127.0.0.1".into(), port: listener.local_addr().unwrap().port() };
        let mut client = UpstreamConfig::new(address, "", Secret::default());
        client.tls = TlsMode::Disabled;
        let outcomes = Outcomes::default();
        let door = Self { server: server.clone(), client, outcomes: Rc::clone(&outcomes) };
        let gate =
            Rc::new(Gate::new(Arc::new(server), Arc::new(Still(Some(EPOCH))), None, LoginOptions::default()));
        spawn_local(async move {
            while let Ok((stream, _)) = listener.accept().await {
                spawn_local(serve(Stream::tcp(stream).unwrap(), Rc::clone(&gate), Rc::clone(&outcomes)));
            }
        });
        door
    }

    /// A login through the gate.
    async fn login(&self, user: &str, password: &str, schema: Option<&str>) -> Result<Connection, Error> {
        let dialled = Connection::dial(&self.client, Capabilities::PLUGIN_AUTH, 45).await?;
        let mut login = login(user.as_bytes());
        login.auth_plugin = None;
        login.database = schema.map(|name| name.as_bytes().to_vec());
        Ok(dialled.login(login, &mut Password::new(Secret::new(password))).await?.0)
    }

    fn last(&self) -> Option<bool> {
        *self.outcomes.borrow().last().unwrap()
    }
}

/// Lets one client in, and again for each COM_CHANGE_USER, the only command in these tests.
async fn serve(stream: Stream, gate: Rc<Gate>, outcomes: Outcomes) {
    let mut admitted = admit(stream, &gate).await;
    loop {
        outcomes.borrow_mut().push(admitted.as_ref().ok().map(|(_, admitted)| admitted.upstream.is_some()));
        let Ok((mut wire, before)) = admitted else { return };
        let Ok(command) = wire.command().await else { return };
        let change = ChangeUser::parse(&command.payload[1..], before.capabilities()).unwrap();
        admitted = reauthenticate(&mut wire, before, change, &gate).await.map(|admitted| (wire, admitted));
    }
}

/// The server's own error number for a login that it refuses.
fn code(outcome: Result<Connection, Error>) -> u16 {
    match outcome {
        Err(Error::Server(packet)) => packet.code,
        other => panic!("refused by the server, not {other:?}"),
    }
}

/// Runs a test in front of each server that the environment names. Each test has a user of its own.
#[allow(clippy::print_stderr, reason = "a test that is left out says so")]
fn with_each(user: &str, test: impl AsyncFn(Door)) {
    for variable in ["FRESHET_TEST_MARIADB", "FRESHET_TEST_MYSQL"] {
        let Ok(url) = std::env::var(variable) else {
            assert_ne!(
                std::env::var("FRESHET_TEST_SERVERS").as_deref(),
                Ok("required"),
                "{variable} is not set"
            );
            eprintln!("left out: {variable} is not set");
            continue;
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let server = UpstreamConfig::from_url(&url).unwrap();
        runtime.block_on(LocalSet::new().run_until(async {
            prepare(&server, user).await;
            test(Door::before(server).await).await;
        }));
    }
}

async fn administrator(server: &UpstreamConfig) -> Connection {
    let dialled = Connection::dial(server, Capabilities::PLUGIN_AUTH, 45).await.unwrap();
    let mut login = login(server.user.as_bytes());
    login.auth_plugin = None;
    dialled.login(login, &mut Password::new(server.password.clone())).await.unwrap().0
}

async fn prepare(server: &UpstreamConfig, user: &str) {
    let mut administrator = administrator(server).await;
    for statement in [
        format!("CREATE DATABASE IF NOT EXISTS {SCHEMA}"),
        format!("DROP USER IF EXISTS {user}@'%'"),
        format!("CREATE USER {user}@'%' IDENTIFIED BY '{PASSWORD}'"),
        format!("GRANT SELECT ON {SCHEMA}.* TO {user}@'%'"),
    ] {
        administrator.query(&statement).await.unwrap();
    }
}

#[test]
fn the_server_judges_and_its_words_reach_the_client() {
    const USER: &str = "freshet_judged";
    with_each(USER, async |door| {
        door.login(USER, PASSWORD, None).await.unwrap();
        assert_eq!(door.last(), Some(true));
        door.login(USER, PASSWORD, Some(SCHEMA)).await.unwrap();
        assert_eq!(code(door.login(USER, "wrong", None).await), 1045);
        // MariaDB has another number for users that do not exist, if it has asked them for no password.
        assert!(matches!(code(door.login("freshet_nobody", "x", None).await), 1045 | 1698));
        assert_eq!(code(door.login(USER, PASSWORD, Some("mysql")).await), 1044);
        assert_eq!(door.last(), None);
    });
}

#[test]
fn a_login_is_repeated_from_memory() {
    const USER: &str = "freshet_repeated";
    with_each(USER, async |door| {
        door.login(USER, PASSWORD, None).await.unwrap();
        assert_eq!(door.last(), Some(true));
        // MySQL's account was asked for its password; MariaDB's has proved itself without it, and shows the server's stored value.
        door.login(USER, PASSWORD, None).await.unwrap();
        assert_eq!(door.last(), Some(false));
        // Another schema is another login; and a wrong password is always the server's.
        door.login(USER, PASSWORD, Some(SCHEMA)).await.unwrap();
        assert_eq!(door.last(), Some(true));
        door.login(USER, PASSWORD, Some(SCHEMA)).await.unwrap();
        assert_eq!(door.last(), Some(false));
        assert_eq!(code(door.login(USER, "wrong", None).await), 1045);
        // The server may count refusals in a row, and sees the next login.
        door.login(USER, PASSWORD, Some(SCHEMA)).await.unwrap();
        assert_eq!(door.last(), Some(true));
    });
}

/// A server that has just started knows no account's password yet, and asks for it in full.
#[test]
fn without_tls_on_either_side_a_first_login_is_let_in() {
    const USER: &str = "freshet_cold";
    with_each(USER, async |door| {
        let mut server = door.server.clone();
        server.tls = TlsMode::Disabled;
        let without_tls = Door::before(server).await;
        without_tls.login(USER, PASSWORD, None).await.unwrap();
        assert_eq!(without_tls.last(), Some(true), "the server was asked");
    });
}

#[test]
fn change_user_is_a_login_of_its_own() {
    const USER: &str = "freshet_changed";
    with_each(USER, async |door| {
        let mut connection = door.login(USER, PASSWORD, None).await.unwrap();
        let change = |schema: &str| ChangeUser {
            user: USER.into(),
            auth_response: Vec::new(),
            database: schema.into(),
            collation: Some(45),
            auth_plugin: None,
            attributes: None,
        };
        let mut right = Password::new(Secret::new(PASSWORD));
        connection.change_user(change(SCHEMA), &mut right).await.unwrap();
        connection.change_user(change(""), &mut right).await.unwrap();
        let refused = connection.change_user(change(""), &mut Password::new(Secret::new("wrong"))).await;
        assert!(matches!(refused, Err(Error::Server(packet)) if packet.code == 1045));
        assert!(connection.ping().await.is_err(), "as with the server, the connection is over");
    });
}
