use super::*;

fn unix(path: &str) -> Address {
    Address::Unix(PathBuf::from(path))
}

fn tcp(host: &str, port: u16) -> Address {
    Address::Tcp { host: host.into(), port }
}

#[test]
fn urls_mean_what_they_say() {
    type Case = (&'static str, Address, &'static str, &'static [u8], Option<&'static str>);
    let cases: &[Case] = &[
        ("mysql://root:pw@db.example:3307/shop", tcp("db.example", 3307), "root", b"pw", Some("shop")),
        ("mariadb://root@db", tcp("db", 3306), "root", b"", None),
        ("mysql://a%40b:p%3aw%2f%25@h/", tcp("h", 3306), "a@b", b"p:w/%", None),
        ("mysql://u:p@ss/w@h:1/x", tcp("h", 1), "u", b"p@ss/w", Some("x")),
        ("mysql://u:%ff@[::1]:3310/x", tcp("::1", 3310), "u", b"\xff", Some("x")),
        ("mysql://u:p@[::1]", tcp("::1", 3306), "u", b"p", None),
        ("mysql://u:p@/db?socket=/run/my.sock", unix("/run/my.sock"), "u", b"p", Some("db")),
        ("mysql://u:p@localhost/db?socket=%2frun%2fmy.sock", unix("/run/my.sock"), "u", b"p", Some("db")),
        ("unix:/run/my.sock?user=root&password=x", unix("/run/my.sock"), "root", b"x", None),
        ("unix:///run/my.sock?user=root", unix("/run/my.sock"), "root", b"", None),
    ];
    for (url, address, user, password, database) in cases {
        let config = UpstreamConfig::from_url(url).unwrap_or_else(|error| panic!("{url}: {error}"));
        assert_eq!(&config.address, address, "{url}");
        assert_eq!(config.user, *user, "{url}");
        assert_eq!(config.password.expose(), *password, "{url}");
        assert_eq!(config.database.as_deref(), *database, "{url}");
    }
}

#[test]
fn wrong_urls_are_told_in_one_line_without_the_password() {
    let cases = [
        ("", "no scheme"),
        ("hunter2", "no scheme"),
        ("postgres://u:hunter2@h", "scheme is not known"),
        ("mysql:u:hunter2@h", "no '//'"),
        ("mysql://:hunter2@h", "no user"),
        ("mysql://u:hunter2@", "no host"),
        ("mysql://u:hunter2@h:0", "port is '0'"),
        ("mysql://u:hunter2@h:70000", "port is '70000'"),
        ("mysql://u:hunter2%zz@h", "password has a '%'"),
        ("mysql://u:hunter2@[::1", "no ']'"),
        ("mysql://u:hunter2@h?ssl-mode=maybe", "ssl-mode is 'maybe'"),
        ("mysql://u:hunter2@h?ssl-mode=verify-ca", "no authority"),
        ("mysql://u:hunter2@h?colour=red", "'colour' is not known"),
        ("mysql://u:hunter2@h?socket=/x", "a host and a socket"),
        ("mysql://u:hunter2@/?socket=x", "socket is 'x'"),
        ("mysql://u:hunter2@h?connect-timeout=0", "connect-timeout"),
        ("mysql://u:hunter2@h?connect-timeout=-1", "connect-timeout"),
        ("mysql://u:hunter2@/?socket=/x&ssl-mode=verify-identity&ssl-ca=/y", "no host name to verify"),
        ("unix:relative?user=u", "not absolute"),
        ("mysql://u:1?hunter2@h", "an '@' behind a '?'"),
        ("mysql://u:2?ssl-mode=hunter2@h", "an '@' behind a '?'"),
        ("mysql://u:hunter2", "port is no number"),
        ("mysql://u:hunter2/db", "port is no number"),
    ];
    for (url, expected) in cases {
        let message = UpstreamConfig::from_url(url).expect_err(url).to_string();
        assert!(message.contains(expected), "{url}: {message}");
        assert!(message.contains("allowed: "), "{url}: {message}");
        assert!(!message.contains("hunter2") && !message.contains('\n'), "{url}: {message}");
    }
}

#[test]
fn an_authority_alone_means_verify_ca() {
    let config = UpstreamConfig::from_url("mysql://u@h?ssl-ca=/ca.pem").unwrap();
    assert_eq!(config.tls, TlsMode::VerifyCa);
    let config = UpstreamConfig::from_url("mysql://u@h?ssl-ca=/ca.pem&ssl-mode=REQUIRED").unwrap();
    assert_eq!(config.tls, TlsMode::Required);
    assert_eq!(UpstreamConfig::from_url("mysql://u@h").unwrap().tls, TlsMode::Preferred);
}

#[test]
fn a_configuration_never_shows_its_password() {
    let config = UpstreamConfig::from_url("mysql://u:hunter2@h").unwrap();
    assert!(!format!("{config:?}").contains("hunter2"));
}
