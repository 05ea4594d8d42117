//! What an account demands of the client's channel (REQUIRE SSL and its kin, `require_secure_transport`) holds through
//! Freshet as it does without it: whichever way the client comes, and whichever way Freshet goes to the server.

use std::cell::RefCell;
use std::io::Read;
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use freshet_tests::cached::{eventually, run};
use freshet_tests::raw::{Raw, command};
use freshet_tests::{Flavor, Freshet, Server, Target, tool};

/// The accounts: name, password, and what is demanded.
const ACCOUNTS: [(&str, &str, &str); 6] = [
    ("login_any", "", "NONE"),
    ("login_any_word", "open sesame", "NONE"),
    ("login_ssl", "", "SSL"),
    ("login_ssl_word", "open sesame", "SSL"),
    ("login_x509", "", "X509"),
    ("login_issuer", "open sesame", "ISSUER '/CN=nobody'"),
];

/// How a client comes.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Channel {
    Clear,
    Tls,
    Socket,
    SocketTls,
}

const CHANNELS: [Channel; 4] = [Channel::Clear, Channel::Tls, Channel::Socket, Channel::SocketTls];

/// Where clients come to: a port and a socket.
struct Door {
    port: u16,
    socket: PathBuf,
}

impl Door {
    fn of_server(server: &Server) -> Door {
        Door { port: server.target.port, socket: server.socket() }
    }

    /// What a client on this channel sees of itself, or the error it is told; hosts are masked.
    fn login(&self, channel: Channel, user: &str, password: &str) -> String {
        let said = self.ask(channel, user, password, "SELECT CURRENT_USER()");
        said.replace("'localhost'", "'HOST'").replace("'127.0.0.1'", "'HOST'")
    }

    /// What the command line client prints.
    fn ask(&self, channel: Channel, user: &str, password: &str, text: &str) -> String {
        let mut client = Command::new("mariadb");
        client.args(["--no-defaults", "-N", "-s", "--skip-ssl-verify-server-cert"]).stdin(Stdio::null());
        client.arg(format!("-u{user}")).env("MYSQL_PWD", password);
        match channel {
            Channel::Clear | Channel::Tls => client.arg("-h127.0.0.1").arg(format!("-P{}", self.port)),
            Channel::Socket | Channel::SocketTls => client.arg("-S").arg(&self.socket),
        };
        client.arg(match channel {
            Channel::Clear | Channel::Socket => "--skip-ssl",
            Channel::Tls | Channel::SocketTls => "--ssl",
        });
        let output = client.args(["-e", text]).output().expect("the client runs");
        let said = if output.status.success() { output.stdout } else { output.stderr };
        String::from_utf8_lossy(&said).trim().to_owned()
    }
}

fn answer_of(server: &Server, question: &str) -> String {
    use mysql::prelude::Queryable;
    server.target.connect().query_first(question).expect("it is answered").expect("there is a row")
}

fn make_accounts(server: &Server) {
    let mut admin = server.target.connect();
    for (user, password, demand) in ACCOUNTS {
        run(
            &mut admin,
            &[
                &format!("DROP USER IF EXISTS {user}"),
                &format!("CREATE USER {user} IDENTIFIED BY '{password}' REQUIRE {demand}"),
            ],
        );
    }
}

/// A Freshet that listens on a port and a socket, whose URL has further parameters.
fn freshet_before(server: &Server, url: &str, flags: &[&str]) -> (Freshet, Door) {
    let number = std::process::id();
    let name = format!("freshet-logins-{number}-{:?}-{}.sock", server.flavor, short_hash(url, flags));
    let socket = std::env::temp_dir().join(name);
    let listen = format!("127.0.0.1:0,{}", socket.display());
    let server = Server { url: url.to_owned(), ..server.clone() };
    let freshet = Freshet::with(&server, &[&["--listen", &listen], flags].concat());
    let port = freshet.target().port;
    (freshet, Door { port, socket })
}

fn short_hash(url: &str, flags: &[&str]) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    (url, flags).hash(&mut hasher);
    hasher.finish()
}

/// Runs a test for each server; there is nothing to be tested without a Freshet.
fn with_each(test: impl Fn(&Server, &Door)) {
    if std::env::var_os("FRESHET_TEST_DIRECT").is_some() || !tool::is_there("mariadb") {
        return;
    }
    for server in freshet_tests::server::all() {
        make_accounts(&server);
        let direct = Door::of_server(&server);
        test(&server, &direct);
    }
}

/// Fails with every login that has another outcome than it has directly. Right ones are tried twice: the second may be
/// answered from what the first has taught.
fn assert_same_logins(direct: &Door, through: &Door, channels: &[Channel], what: &str) {
    let right = ACCOUNTS.iter().map(|&(user, password, _)| (user, password, 2));
    let wrong = [("login_any_word", "wrong", 1), ("login_ssl_word", "wrong", 1), ("login_ssl", "wrong", 1)];
    let attempts: Vec<_> = right.chain(wrong).collect();
    let mut differences = Vec::new();
    for &channel in channels {
        for &(user, password, rounds) in &attempts {
            let expected = direct.login(channel, user, password);
            for round in 1..=rounds {
                let seen = through.login(channel, user, password);
                if seen != expected {
                    differences.push(format!(
                        "{what}, {channel:?}, {user} with {password:?}, login {round}:\n  direct:  {expected}\n  \
                         through: {seen}"
                    ));
                }
            }
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn an_account_demands_the_same_of_its_clients_channel() {
    with_each(|server, direct| {
        let Target { port, .. } = server.target;
        let (all, without_tls) = (&CHANNELS[..], &[Channel::Clear, Channel::Socket][..]);
        for (what, channels, url) in [
            ("by default", all, server.url.clone()),
            ("with TLS upstream", without_tls, format!("{}?ssl-mode=required", server.url)),
            ("over the server's socket", all, server.url_over_socket()),
            // An address that Freshet does not know to be its own machine's.
            (
                "from afar",
                without_tls,
                server.url.replace(&format!("127.0.0.1:{port}"), &format!("0.0.0.0:{port}")),
            ),
        ] {
            let (freshet, through) = freshet_before(server, &url, &[]);
            assert_same_logins(direct, &through, channels, what);
            freshet.stop();
        }
    });
}

#[test]
fn without_tls_upstream_the_server_refuses_who_needs_it() {
    with_each(|server, _| {
        let (freshet, through) = freshet_before(server, &format!("{}?ssl-mode=disabled", server.url), &[]);
        for channel in CHANNELS {
            assert_eq!(through.login(channel, "login_any_word", "open sesame"), "login_any_word@%");
            let refused = through.login(channel, "login_ssl_word", "open sesame");
            assert!(refused.contains("ERROR 1045 (28000)"), "{channel:?}: {refused}");
        }
        freshet.stop();
    });
}

/// `require_secure_transport` of the server is read once a second.
#[test]
fn a_server_that_requires_secure_transport_does_so_of_our_clients() {
    with_each(|server, direct| {
        let mut admin = server.target.connect();
        let code = match server.flavor {
            Flavor::MySql => "3159 (HY000)",
            // It has an error for it from 11.4 on.
            Flavor::MariaDb if server.version() >= (11, 4) => "3159 (08004)",
            Flavor::MariaDb => "1045 (28000)",
        };
        for (what, url) in [
            ("by default", server.url.clone()),
            ("with TLS upstream", format!("{}?ssl-mode=required", server.url)),
            ("over the server's socket", server.url_over_socket()),
        ] {
            let (freshet, through) = freshet_before(server, &url, &[]);
            // What was learned before must not outlast the change.
            assert_eq!(through.login(Channel::Clear, "login_any", ""), "login_any@%");
            run(&mut admin, &["SET GLOBAL require_secure_transport = ON"]);
            let refused = direct.login(Channel::Clear, "login_any", "");
            let outcome = std::panic::catch_unwind(|| {
                assert!(refused.contains(code), "{refused}");
                eventually("the variable is heeded", || {
                    (through.login(Channel::Clear, "login_any", "") == refused).then_some(())
                });
                assert_same_logins(direct, &through, &[Channel::Clear, Channel::Socket], what);
            });
            run(&mut admin, &["SET GLOBAL require_secure_transport = OFF"]);
            outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            freshet.stop();
        }
    });
}

#[test]
fn a_demand_holds_from_the_next_login_on() {
    with_each(|server, _| {
        for mode in ["preferred", "required"] {
            let (freshet, through) = freshet_before(server, &format!("{}?ssl-mode={mode}", server.url), &[]);
            let mut admin = freshet.target().connect();
            for round in 0..5 {
                run(&mut admin, &["ALTER USER login_any REQUIRE NONE"]);
                for _ in 0..2 {
                    assert_eq!(through.login(Channel::Clear, "login_any", ""), "login_any@%");
                }
                run(&mut admin, &["ALTER USER login_any REQUIRE SSL"]);
                let refused = through.login(Channel::Clear, "login_any", "");
                assert!(refused.contains("ERROR 1045 (28000)"), "{mode}, round {round}: {refused}");
                assert_eq!(through.login(Channel::Tls, "login_any", ""), "login_any@%");
            }
            drop(admin);
            freshet.stop();
        }
    });
}

#[test]
fn a_change_of_user_is_judged_by_the_channel_too() {
    with_each(|server, _| {
        for mode in ["preferred", "required"] {
            let (freshet, _) = freshet_before(server, &format!("{}?ssl-mode={mode}", server.url), &[]);
            let change = |user: &str, asks_before: bool| {
                let mut client = Raw::dial("127.0.0.1", freshet.target().port).expect("it greets");
                client.login("login_any", "", 0).expect("it is let in");
                if asks_before {
                    client.query("SELECT 1").expect("an answer");
                }
                let body = [user.as_bytes(), b"\0\0\0\x2d\0mysql_native_password\0"].concat();
                client.send(command::CHANGE_USER, &body).expect("it is sent");
                client.authenticated().map_err(|error| error.to_string())
            };
            for asks_before in [false, true] {
                change("login_any", asks_before).expect("it is let in");
                let refused = change("login_ssl", asks_before).expect_err("it has no TLS");
                assert!(refused.contains("#28000Access denied for user 'login_ssl'"), "{mode}: {refused}");
            }
            freshet.stop();
        }
    });
}

/// An account that may follow the binlog and not read accounts.
#[test]
fn where_accounts_cannot_be_read_the_server_judges_or_nobody_comes_in() {
    with_each(|server, direct| {
        let mut admin = server.target.connect();
        run(
            &mut admin,
            &[
                "DROP USER IF EXISTS login_blind",
                "CREATE USER login_blind IDENTIFIED BY 'blind'",
                "GRANT REPLICATION SLAVE, REPLICATION CLIENT, PROCESS ON *.* TO login_blind",
            ],
        );
        let port = server.target.port;
        let far = format!("mysql://login_blind:blind@0.0.0.0:{port}/");
        let (freshet, through) = freshet_before(server, &far, &[]);
        assert_same_logins(direct, &through, &[Channel::Clear, Channel::Tls], "blind");
        freshet.stop();
        let (freshet, through) = freshet_before(server, &format!("{far}?ssl-mode=required"), &[]);
        assert_same_logins(direct, &through, &[Channel::Tls], "blind with TLS");
        let refused = through.login(Channel::Clear, "login_any", "");
        assert!(refused.contains("grant Freshet's account SELECT on mysql.user"), "{refused}");
        freshet.stop();
        run(&mut admin, &["DROP USER login_blind"]);
    });
}

/// Over the server's socket Freshet's process may itself be one that an account lets in, whatever the client answers.
#[test]
fn what_freshets_own_process_may_do_is_no_clients() {
    with_each(|server, direct| {
        if server.flavor == Flavor::MySql {
            return;
        }
        let mut admin = server.target.connect();
        let me = Command::new("id").arg("-un").output().expect("id runs").stdout;
        let me = String::from_utf8(me).expect("a name").trim().to_owned();
        // The plugin lets a process in as the account of its user's name; root's is there already.
        let made = format!("CREATE USER IF NOT EXISTS {me}@localhost");
        let native = "IDENTIFIED VIA mysql_native_password USING PASSWORD";
        run(&mut admin, &[&made, &format!("ALTER USER {me}@localhost {native}('x') OR unix_socket")]);
        let outcome = std::panic::catch_unwind(|| {
            let (freshet, through) = freshet_before(server, &server.url_over_socket(), &[]);
            let me_there = format!("{me}@localhost");
            for password in ["", "nonsense"] {
                for _ in 0..2 {
                    assert_eq!(direct.login(Channel::Socket, &me, password), me_there);
                    assert_eq!(through.login(Channel::Socket, &me, password), me_there);
                    let refused = through.login(Channel::Clear, &me, password);
                    assert!(refused.contains("ERROR"), "{password:?}: {refused}");
                }
            }
            freshet.stop();
        });
        let undo = if me == "root" {
            format!("ALTER USER root@localhost {native}('')")
        } else {
            format!("DROP USER {me}@localhost")
        };
        run(&mut admin, &[&undo]);
        outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
}

/// Which cipher suite is agreed on is between the two ends.
fn without_suite(said: &str) -> String {
    ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384"]
        .iter()
        .fold(said.to_owned(), |said, suite| said.replace(suite, "SUITE"))
}

/// The client's own channel is what the status variables tell of, and not Freshet's to the server.
#[test]
fn status_variables_tell_of_the_clients_own_channel() {
    const QUESTIONS: [&str; 5] = [
        "SHOW STATUS LIKE 'Ssl_cipher'",
        "SHOW SESSION STATUS LIKE 'ssl_version'",
        "SHOW LOCAL STATUS WHERE Variable_name IN ('Ssl_cipher', 'Ssl_version', 'Compression')",
        "SELECT VARIABLE_VALUE FROM SCHEMA.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'",
        "SELECT * FROM SCHEMA.session_status WHERE VARIABLE_NAME IN ('Ssl_cipher', 'Ssl_version') ORDER BY 1",
    ];
    with_each(|server, direct| {
        let schema = if server.flavor == Flavor::MySql { "performance_schema" } else { "information_schema" };
        for mode in ["preferred", "required", "disabled"] {
            let (freshet, through) = freshet_before(server, &format!("{}?ssl-mode={mode}", server.url), &[]);
            for channel in [Channel::Clear, Channel::Tls, Channel::Socket] {
                for question in QUESTIONS {
                    let question = question.replace("SCHEMA", schema);
                    let [direct, through] = [direct, &through]
                        .map(|door| without_suite(&door.ask(channel, "login_any", "", &question)));
                    assert_eq!(direct, through, "{mode}, {channel:?}: {question}");
                }
                // What the client's own library says of its connection.
                let shown = through.ask(channel, "login_any", "", "\\s; SHOW STATUS LIKE 'Ssl_cipher'");
                let cipher = shown.split("Ssl_cipher").nth(1).expect("it is shown").trim();
                assert_eq!(channel == Channel::Tls, !cipher.is_empty(), "{shown}");
                assert!(cipher.is_empty() || shown.contains(&format!("in use is {cipher}")), "{shown}");
            }
            freshet.stop();
        }
    });
}

/// All that is said to a client that only connects.
fn first_words(port: u16) -> Vec<u8> {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it can be set");
    let mut said = vec![0; 4];
    stream.read_exact(&mut said).expect("it says something");
    said.resize(4 + usize::from(said[0]), 0);
    stream.read_exact(&mut said[4..]).expect("it says all of it");
    said
}

#[test]
fn too_many_connections_are_refused_in_the_servers_form() {
    with_each(|server, direct| {
        let mut admin = server.target.connect();
        let before = answer_of(server, "SELECT @@GLOBAL.max_connections");
        let (freshet, through) = freshet_before(server, &server.url, &[]);
        // Freshet greets a client of a full server once it has met the server itself.
        Raw::dial("127.0.0.1", through.port).expect("it greets");
        run(&mut admin, &["SET GLOBAL max_connections = 10"]);
        let outcome = std::panic::catch_unwind(|| {
            // Who said who he is, and who sits on the last place, which is for administrators, and has not said so yet.
            // Without him the last place comes free again when the server has let go of the client that it refused.
            let (held, last_place) = (RefCell::new(Vec::new()), RefCell::new(None));
            let dial = || Raw::dial("127.0.0.1", direct.port);
            let refused = eventually("the server is full", || {
                if let Ok(mut client) = dial() {
                    match client.login("login_any", "", 0) {
                        Ok(_) => held.borrow_mut().push(client),
                        Err(_) => *last_place.borrow_mut() = dial().ok(),
                    }
                }
                Some(first_words(direct.port)).filter(|said| said[4] == 0xff && last_place.borrow().is_some())
            });
            assert_eq!(refused, b"\x17\0\0\0\xff\x10\x04Too many connections");
            // Freshet has greeted by then, and clients expect an SQLSTATE.
            let mut client = Raw::dial("127.0.0.1", through.port).expect("it greets");
            let told = client.login("login_any", "", 0).expect_err("the server is full").to_string();
            assert!(told.contains("#08004Too many connections"), "{told}");
            refused
        });
        run(&mut admin, &[&format!("SET GLOBAL max_connections = {before}")]);
        let refused = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        freshet.stop();

        let (_freshet, through) = freshet_before(server, &server.url, &["--max-clients", "1"]);
        let _held = TcpStream::connect(("127.0.0.1", through.port)).expect("it listens");
        let told =
            eventually("there is one client", || Some(first_words(through.port)).filter(|it| it[4] == 0xff));
        assert_eq!(told, refused);
    });
}
