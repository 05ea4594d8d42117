use std::path::Path;

use super::*;
use crate::settings::ALL;

const URL: &str = "mysql://u:sesame@db:3306/";

fn typed(pairs: &[(&'static Setting, &str)]) -> Typed {
    let mut typed = Typed::default();
    typed.say(&settings::UPSTREAM, URL);
    for (setting, value) in pairs {
        typed.say(setting, value);
    }
    typed
}

fn refused(pairs: &[(&'static Setting, &str)]) -> String {
    Config::new(&typed(pairs)).unwrap_err().to_string()
}

#[test]
fn every_default_is_allowed() {
    let config = Config::new(&typed(&[])).unwrap();
    assert_eq!(config.query_cache_size, 256 << 20);
    assert_eq!(config.query_cache_limit, 1 << 20);
    assert_eq!(config.query_cache_type, 1);
    assert_eq!(config.listen, [Listen::Tcp("127.0.0.1:3307".into())]);
    assert_eq!(config.upstream.server_id, 0);
    assert_eq!(config.upstream.heartbeat, Duration::from_millis(200));
}

#[test]
fn a_server_on_this_machine_has_half_of_the_cores() {
    let threads = |url: &str| {
        let mut typed = Typed::default();
        typed.say(&settings::UPSTREAM, url);
        Config::new(&typed).unwrap().threads
    };
    let cores = std::thread::available_parallelism().unwrap().get();
    assert_eq!(threads("mysql://u:p@192.0.2.1:3306/"), cores);
    assert_eq!(threads("mysql://u:p@127.0.0.1:3306/"), cores.div_ceil(2));
    assert_eq!(threads("mysql://u:p@/?socket=/s"), cores.div_ceil(2));
}

#[test]
fn every_setting_refuses_nonsense() {
    for setting in ALL {
        // An empty path to the file itself is judged before there is a configuration.
        if setting.name == settings::CONFIG.name {
            continue;
        }
        let message = refused(&[(setting, "!=\u{1}nonsense=!")]);
        assert!(message.starts_with(setting.name), "{message}");
        // The URL's own reader says more than the table does.
        assert!(message.contains(if setting.secret { "allowed: " } else { setting.allowed }), "{message}");
        assert!(message.contains(&format!("flag --{}", setting.flag())), "{message}");
        assert_eq!(message.lines().count(), 1);
    }
}

#[test]
fn the_binlog_of_the_upstream_itself_is_followed() {
    for same in ["", "mysql://other:word@db:3306/schema", "mysql://u:sesame@db"] {
        assert!(Config::new(&typed(&[(&settings::CDC, same)])).is_ok(), "{same}");
    }
    for other in ["mysql://u:sesame@replica:3306/", "mysql://u:sesame@db:3307/"] {
        let message = refused(&[(&settings::CDC, other)]);
        assert!(message.starts_with("cdc (CDC_DB_URL) names "), "{message}");
        assert!(!message.contains("sesame") && message.lines().count() == 1, "{message}");
    }
}

#[test]
fn bounds() {
    use settings as s;
    for (setting, good, bad) in [
        (&s::QUERY_CACHE_SIZE, "10485760000", "10485761024"),
        (&s::QUERY_CACHE_SIZE, "0", "1000"),
        (&s::QUERY_CACHE_LIMIT, "4294967295", "4G"),
        (&s::MAX_CLIENTS, "1", "0"),
        (&s::MAX_ALLOWED_PACKET, "1G", "1025M"),
        (&s::HEARTBEAT, "50ms", "49ms"),
        (&s::LOGIN_TIMEOUT, "1h", "61m"),
        (&s::SERVER_ID, "4294967295", "4294967296"),
        (&s::THREADS, "1024", "1025"),
        (&s::LISTEN, "[::1]:3307, /run/f.sock", "localhost"),
        (&s::LISTEN, "unix:/run/f.sock", "localhost:70000"),
        (&s::UPSTREAM_TLS, "REQUIRED", "on"),
        (&s::QUERY_CACHE_TYPE, "DEMAND", "3"),
        (&s::FRESHNESS, "STRICT", "linear"),
        (&s::FRESHNESS, "semisync", "4"),
        (&s::MAX_STALENESS, "1d", "25h"),
        (&s::MAX_STALENESS, "10ms", "9ms"),
        (&s::FILL_WAIT, "60s", "61s"),
        (&s::SEMISYNC, "AUTO", "maybe"),
    ] {
        assert!(Config::new(&typed(&[(setting, good)])).is_ok(), "{} = {good}", setting.name);
        assert!(refused(&[(setting, bad)]).contains(bad), "{} = {bad}", setting.name);
    }
}

#[test]
fn commits_wait_for_us_only_where_it_was_said() {
    use settings as s;
    let waits = |pairs: &[_]| Config::new(&typed(pairs)).unwrap().upstream.semisync;
    assert!(!waits(&[]) && !waits(&[(&s::FRESHNESS, "eventual")]));
    assert!(waits(&[(&s::FRESHNESS, "semisync")]) && waits(&[(&s::SEMISYNC, "on")]));
    let message = refused(&[(&s::FRESHNESS, "semisync"), (&s::SEMISYNC, "off")]);
    assert!(message.contains("semisync") && message.contains("must not be off"), "{message}");
}

#[test]
fn a_password_is_never_shown() {
    assert!(!refused(&[(&settings::UPSTREAM, "postgres://u:sesame@db/")]).contains("sesame"));
}

#[test]
fn the_upstream_must_be_said() {
    let message = Config::new(&Typed::default()).unwrap_err().to_string();
    assert!(message.contains("UPSTREAM_DB_URL"), "{message}");
}

#[test]
fn a_certificate_needs_its_key() {
    let message = refused(&[(&settings::TLS_CERT, "/dev/null")]);
    assert!(message.starts_with("tls_key"), "{message}");
}

#[test]
fn a_file_gives_way_to_what_was_said_before() {
    let mut typed = typed(&[(&settings::THREADS, "3")]);
    let file = "threads = 5\nmax_clients = 7\nlisten = [\"127.0.0.1:1\", \"/x\"]\nquery_cache_strip_comments = true\n";
    typed.take_toml(Path::new("/f.toml"), file).unwrap();
    let config = Config::new(&typed).unwrap();
    assert_eq!((config.threads, config.max_clients, config.listen.len()), (3, 7, 2));
    assert!(config.query_cache_strip_comments);
}

#[test]
fn a_file_is_refused_by_name() {
    for (file, expected) in [
        ("thread = 5", "\"thread\" in file /f.toml is no setting; settings: upstream, "),
        ("config = \"/g\"", "\"config\" in file /f.toml is no setting"),
        ("threads = 1979-05-27", "threads from file /f.toml: a table or a date"),
        ("[threads]\na = 1", "threads from file /f.toml: a table or a date"),
        ("max_clients = 1\nthreads = ", "config file /f.toml: line 2: "),
    ] {
        let message = Typed::default().take_toml(Path::new("/f.toml"), file).unwrap_err().to_string();
        assert!(message.starts_with(expected), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
    }
    let mut typed = typed(&[]);
    typed.take_toml(Path::new("/f.toml"), "threads = -1").unwrap();
    let message = Config::new(&typed).unwrap_err().to_string();
    assert_eq!(message, "threads from file /f.toml: \"-1\" is not allowed; allowed: 0 to 1024");
}

#[test]
fn names_are_unique() {
    for (i, one) in ALL.iter().enumerate() {
        assert!(ALL[i + 1..].iter().all(|other| other.name != one.name && other.env != one.env));
    }
}

#[test]
fn passwords_that_everybody_knows_are_for_this_machine() {
    use settings as s;
    let typed =
        |set: &[(&'static Setting, &str)]| typed(&[set, &[(&s::STATE_DIR, "/var/lib/freshet")]].concat());
    let refused = |set: &[(&'static Setting, &str)]| Config::new(&typed(set)).unwrap_err().to_string();
    for near in ["127.0.0.1:6032", "localhost:6032", "[::1]:6032", "/run/freshet/admin.sock"] {
        assert!(Config::new(&typed(&[(&s::ADMIN_LISTEN, near)])).unwrap().admin.is_some(), "{near}");
    }
    for far in ["0.0.0.0:6032", "10.0.0.1:6032", "db.example:6032", "127.0.0.1:6032,[::]:6032"] {
        assert!(refused(&[(&s::ADMIN_LISTEN, far)]).starts_with("admin_credentials"), "{far}");
        let admin = (&s::ADMIN_CREDENTIALS, "root:sesame");
        assert!(refused(&[(&s::ADMIN_LISTEN, far), admin]).starts_with("stats_credentials"), "{far}");
        for guessed in ["root:root", "root:", "root:sesame;other:other"] {
            let admin = (&s::ADMIN_CREDENTIALS, guessed);
            assert!(refused(&[(&s::ADMIN_LISTEN, far), admin]).starts_with("admin_credentials"), "{guessed}");
        }
        let both = [(&s::ADMIN_LISTEN, far), admin, (&s::STATS_CREDENTIALS, "look:see")];
        assert!(Config::new(&typed(&both)).is_ok(), "{far}");
    }
    assert!(Config::new(&typed(&[])).unwrap().admin.is_none());
}

#[test]
fn the_admin_port_needs_a_place_for_its_tables() {
    let said = refused(&[(&settings::ADMIN_LISTEN, "127.0.0.1:6032")]);
    assert_eq!(said, "state_dir must be set, because admin_listen is");
}
