//! Logging in to real servers, by every way they offer.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

mod common;

use common::{MARIADB, MYSQL, account, connect, one, run, tls, with_server};
use freshet_protocol::{Capabilities, ChangeUser};
use freshet_upstream::{Address, Connection, Error, Password, Secret, TlsMode, UpstreamConfig, control};

async fn code(config: &UpstreamConfig) -> u16 {
    control::connect(config).await.map(|_| ()).unwrap_err().to_err_packet().code
}

async fn works(config: &UpstreamConfig) {
    let mut connection = connect(config).await;
    let user = one(&mut connection, "SELECT CURRENT_USER()").await;
    assert!(user.starts_with(&config.user), "{user} is not {}", config.user);
    let id = one(&mut connection, "SELECT CONNECTION_ID()").await;
    assert_eq!(id, connection.thread_id().to_string());
    connection.ping().await.unwrap();
    connection.quit().await;
}

#[test]
fn mysql_caching_sha2_password() {
    with_server(MYSQL, async |server| {
        let mut admin = connect(&server).await;
        for (user, password) in [("up_sha2", "s\u{e9}cr\u{20ac}t"), ("up_empty", "")] {
            let create = format!("CREATE USER {user} IDENTIFIED WITH caching_sha2_password BY '{password}'");
            run(&mut admin, &[&format!("DROP USER IF EXISTS {user}"), &create]).await;
            let config = account(&server, user, password);
            // The server forgets what it verified, so that the next login is a full one.
            for mode in [TlsMode::Disabled, TlsMode::Required, TlsMode::Preferred] {
                run(&mut admin, &["FLUSH PRIVILEGES"]).await;
                works(&tls(&config, mode)).await;
                // And this one is fast.
                works(&tls(&config, mode)).await;
                works(&tls(&config, TlsMode::Disabled)).await;
            }
            assert_eq!(code(&account(&server, user, "wrong")).await, 1045);
            assert_eq!(code(&tls(&account(&server, user, "wrong"), TlsMode::Disabled)).await, 1045);
        }
    });
}

#[test]
fn mysql_long_passwords_and_other_plugins() {
    with_server(MYSQL, async |server| {
        let mut admin = connect(&server).await;
        let long = "x".repeat(200);
        run(
            &mut admin,
            &["DROP USER IF EXISTS up_long", &format!("CREATE USER up_long IDENTIFIED BY '{long}'")],
        )
        .await;
        works(&tls(&account(&server, "up_long", &long), TlsMode::Disabled)).await;
        let created =
            admin.query("CREATE USER IF NOT EXISTS up_sha256 IDENTIFIED WITH sha256_password BY 'pw'").await;
        match created {
            Ok(_) => {
                works(&tls(&account(&server, "up_sha256", "pw"), TlsMode::Disabled)).await;
                works(&tls(&account(&server, "up_sha256", "pw"), TlsMode::Required)).await;
                assert_eq!(code(&account(&server, "up_sha256", "wrong")).await, 1045);
            }
            Err(error) => println!("skipped: sha256_password: {error}"),
        }
    });
}

#[test]
fn mysql_over_a_unix_socket() {
    with_server(MYSQL, async |server| {
        let mut admin = connect(&server).await;
        over_the_socket(&mut admin, &server).await;
        run(&mut admin, &["DROP USER IF EXISTS up_sock", "CREATE USER up_sock IDENTIFIED BY 'pw'"]).await;
        if let Some(config) = socket(&mut admin, &account(&server, "up_sock", "pw")).await {
            // A full authentication, with the password in clear on the socket.
            works(&config).await;
            works(&tls(&config, TlsMode::Required)).await;
        }
    });
}

#[test]
fn mariadb_native_password_and_unix_socket() {
    with_server(MARIADB, async |server| {
        let mut admin = connect(&server).await;
        run(
            &mut admin,
            &[
                "CREATE OR REPLACE USER up_native IDENTIFIED BY 'pw'",
                "CREATE OR REPLACE USER up_none IDENTIFIED BY ''",
                "CREATE OR REPLACE USER up_ed IDENTIFIED VIA mysql_native_password USING PASSWORD('pw') OR unix_socket",
            ],
        )
        .await;
        for mode in [TlsMode::Disabled, TlsMode::Preferred, TlsMode::Required] {
            works(&tls(&account(&server, "up_native", "pw"), mode)).await;
            works(&tls(&account(&server, "up_none", ""), mode)).await;
            works(&tls(&account(&server, "up_ed", "pw"), mode)).await;
            assert_eq!(code(&tls(&account(&server, "up_native", "no"), mode)).await, 1045);
        }
        assert_eq!(code(&account(&server, "up_nobody", "pw")).await, 1045);
        over_the_socket(&mut admin, &server).await;
        // The account named as the operating system names us needs no password.
        let us = std::env::var("USER").unwrap_or_else(|_| "root".into());
        let create = format!("CREATE USER IF NOT EXISTS '{us}'@localhost IDENTIFIED VIA unix_socket");
        run(&mut admin, &[&create]).await;
        if let Some(config) = socket(&mut admin, &account(&server, &us, "")).await {
            works(&config).await;
        }
    });
}

async fn over_the_socket(admin: &mut Connection, server: &UpstreamConfig) {
    let Some(config) = socket(admin, server).await else { return };
    works(&config).await;
    let connection = connect(&config).await;
    assert!(connection.is_secure() && !connection.is_tls());
}

/// The same account over the server's socket, if that can be reached from here.
async fn socket(admin: &mut Connection, server: &UpstreamConfig) -> Option<UpstreamConfig> {
    let named = one(admin, "SELECT @@socket").await;
    let inside_a_root = std::env::var("FRESHET_TEST_MYSQL_SOCKET").ok();
    let path =
        [inside_a_root, Some(named)].into_iter().flatten().find(|path| std::path::Path::new(path).exists());
    let Some(path) = path else {
        println!("skipped: the server's socket is not to be seen from here");
        return None;
    };
    let mut config = server.clone();
    config.address = Address::Unix(path.into());
    Some(config)
}

async fn verified(mut server: UpstreamConfig, variable: &str) {
    let Ok(authority) = std::env::var(variable) else {
        println!("skipped: {variable} is not set");
        return;
    };
    server.tls_ca = Some(authority.into());
    let mut connection = connect(&tls(&server, TlsMode::VerifyCa)).await;
    assert!(connection.is_tls());
    assert_ne!(one(&mut connection, "SELECT 1").await, "");
    server.tls_ca = Some(foreign_authority().into());
    for mode in [TlsMode::VerifyCa, TlsMode::VerifyIdentity] {
        let error = control::connect(&tls(&server, mode)).await.unwrap_err();
        assert!(matches!(error, Error::Tls(_)), "{error}");
    }
    // Without verification the authority is not looked at.
    connect(&tls(&server, TlsMode::Required)).await;
}

/// Returns an authority that has signed nobody's certificate here.
fn foreign_authority() -> &'static str {
    concat!(env!("CARGO_MANIFEST_DIR"), "/tests/common/foreign_ca.pem")
}

#[test]
fn mysql_certificates_are_verified() {
    with_server(MYSQL, async |server| verified(server, "FRESHET_TEST_MYSQL_CA").await);
}

#[test]
fn mariadb_certificates_are_verified() {
    with_server(MARIADB, async |server| verified(server, "FRESHET_TEST_MARIADB_CA").await);
}

async fn change_user(server: UpstreamConfig, user: &str) {
    let mut admin = connect(&server).await;
    run(
        &mut admin,
        &[&format!("DROP USER IF EXISTS {user}"), &format!("CREATE USER {user} IDENTIFIED BY 'pw'")],
    )
    .await;
    let to = |auth_plugin: Option<&str>| ChangeUser {
        user: user.into(),
        auth_response: Vec::new(),
        database: b"information_schema".to_vec(),
        collation: Some(45),
        auth_plugin: auth_plugin.map(Into::into),
        attributes: None,
    };
    for mode in [TlsMode::Disabled, TlsMode::Required] {
        let mut connection = connect(&tls(&server, mode)).await;
        let mut password = Password::new(Secret::new("pw"));
        connection.change_user(to(None), &mut password).await.unwrap();
        assert!(one(&mut connection, "SELECT CURRENT_USER()").await.starts_with(user));
        assert_eq!(one(&mut connection, "SELECT DATABASE()").await, "information_schema");
        // A plugin that no account has makes the server ask for the account's own.
        let mut password = Password::new(Secret::new("pw"));
        connection.change_user(to(Some("freshet")), &mut password).await.unwrap();
        let mut wrong = Password::new(Secret::new("wrong"));
        let error = connection.change_user(to(None), &mut wrong).await.unwrap_err();
        assert_eq!(error.to_err_packet().code, 1045, "{error}");
    }
}

#[test]
fn mysql_change_user() {
    with_server(MYSQL, async |server| change_user(server, "up_change").await);
}

#[test]
fn mariadb_change_user() {
    with_server(MARIADB, async |server| change_user(server, "up_change").await);
}

/// A relay names a plugin that no account has, and is asked for the account's own.
async fn unknown_plugin(server: UpstreamConfig) {
    let dialled = Connection::dial(&server, Capabilities::empty(), 45).await.unwrap();
    let mut login = control::login(&server);
    login.auth_plugin = Some(b"freshet".to_vec());
    let (mut connection, _) =
        dialled.login(login, &mut Password::new(server.password.clone())).await.unwrap();
    assert_eq!(one(&mut connection, "SELECT 1").await, "1");
    let long = format!("SELECT LENGTH('{}')", "y".repeat((16 << 20) + 10));
    run(&mut connection, &["SET SESSION sql_mode = ''"]).await;
    match connection.query(&long).await {
        Ok(rows) => assert_eq!(rows.text(0, 0), Some(((16 << 20) + 10).to_string().as_str())),
        // max_allowed_packet is smaller than that on some servers.
        Err(error) => assert!(matches!(error, Error::Server(_) | Error::Io(_) | Error::Closed), "{error}"),
    }
}

#[test]
fn an_unknown_plugin_is_switched_away_from() {
    with_server(MYSQL, unknown_plugin);
    with_server(MARIADB, unknown_plugin);
}
