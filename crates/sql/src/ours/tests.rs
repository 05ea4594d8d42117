use super::*;
use crate::modes::{Flavor, Modes};
use crate::request::{Request, read};

fn ours(text: &str) -> Option<Ours> {
    match read(text.as_bytes(), Modes::new(Flavor::MariaDb)) {
        Request::Ours(ours) => Some(ours),
        _ => None,
    }
}

fn set(scope: Scope, name: &str, value: Value) -> Assignment {
    Assignment { scope, name: name.to_owned(), value }
}

#[test]
fn sets_of_our_variables() {
    let on = || Value::Text("ON".to_owned());
    for (text, expected) in [
        ("SET query_cache_type = ON", vec![set(Scope::Unspecified, "query_cache_type", on())]),
        (
            "SET GLOBAL Query_Cache_Size = 1048576",
            vec![set(Scope::Global, "query_cache_size", Value::Int(1 << 20))],
        ),
        (
            "SET @@global.query_cache_limit := -1",
            vec![set(Scope::Global, "query_cache_limit", Value::Int(-1))],
        ),
        (
            "SET @@query_cache_type = DEFAULT;",
            vec![set(Scope::Unspecified, "query_cache_type", Value::Default)],
        ),
        (
            "SET LOCAL freshness = 'session'",
            vec![set(Scope::Session, "freshness", Value::Text("session".to_owned()))],
        ),
        (
            "SET SESSION query_cache_type=2, @@local.query_cache_wlock_invalidate = 1",
            vec![
                set(Scope::Session, "query_cache_type", Value::Int(2)),
                set(Scope::Session, "query_cache_wlock_invalidate", Value::Int(1)),
            ],
        ),
        (
            "SET GLOBAL query_cache_size = 2 * 1024",
            vec![set(Scope::Global, "query_cache_size", Value::Other("2 * 1024".to_owned()))],
        ),
    ] {
        assert_eq!(ours(text), Some(Ours::SetVariables(expected)), "{text}");
    }
    let mixed = Ours::SetMixed {
        ours: vec![set(Scope::Unspecified, "query_cache_type", Value::Int(0))],
        rest: "SET NAMES utf8, @x = f(1, 2), GLOBAL wait_timeout = 5".to_owned(),
    };
    assert_eq!(
        ours("SET NAMES utf8, query_cache_type=0, @x = f(1, 2), GLOBAL wait_timeout = 5"),
        Some(mixed)
    );
    // Tried on both servers: the second is global as well.
    let inherited = Ours::SetMixed {
        ours: vec![set(Scope::Global, "query_cache_size", Value::Int(0))],
        rest: "SET GLOBAL wait_timeout = 5, @@session.x = 1, GLOBAL y = 2".to_owned(),
    };
    assert_eq!(
        ours("SET GLOBAL wait_timeout = 5, query_cache_size = 0, @@session.x = 1, y = 2"),
        Some(inherited)
    );
    for text in [
        "SET @query_cache_type = 1",
        "SET x = 1",
        "SET STATEMENT query_cache_type=1 FOR SELECT 1",
        "SET x = @@query_cache_size",
    ] {
        assert_eq!(ours(text), None, "{text}");
    }
}

#[test]
fn shows_that_can_match_only_ours() {
    let like = |pattern: &str| LikeFilter::Like(pattern.to_owned());
    let variables = |scope, like| Some(Ours::ShowVariables { scope, like });
    assert_eq!(
        ours("SHOW VARIABLES LIKE 'query_cache%'"),
        variables(Scope::Unspecified, like("query_cache%"))
    );
    assert_eq!(
        ours("show global variables like 'Have\\_query\\_cache'"),
        variables(Scope::Global, like("Have\\_query\\_cache"))
    );
    let names = LikeFilter::Names(vec!["query_cache_type".to_owned(), "freshness".to_owned()]);
    assert_eq!(
        ours("SHOW SESSION VARIABLES WHERE Variable_name IN ('query_cache_type', 'freshness')"),
        variables(Scope::Session, names)
    );
    let status = |like| Some(Ours::ShowStatus { scope: Scope::Unspecified, like });
    assert_eq!(ours("SHOW STATUS LIKE 'Qcache%'"), status(like("Qcache%")));
    assert_eq!(
        ours("SHOW STATUS WHERE `Variable_name` = 'Qcache_hits'"),
        status(LikeFilter::Names(vec!["Qcache_hits".to_owned()]))
    );
    for text in [
        "SHOW VARIABLES",
        "SHOW VARIABLES LIKE 'query%'",
        "SHOW VARIABLES LIKE '%query_cache%'",
        "SHOW STATUS LIKE 'Q%'",
        "SHOW VARIABLES WHERE Value = 'x'",
    ] {
        assert_eq!(ours(text), None, "{text}");
    }
}

#[test]
fn filters_match_as_like_does() {
    let matches = |pattern: &str, name: &str| LikeFilter::Like(pattern.to_owned()).matches(name);
    assert!(matches("query_cache%", "query_cache_size"));
    assert!(matches("QUERY\\_CACHE\\_TYPE", "query_cache_type"));
    assert!(matches("%", ""));
    assert!(matches("%a%b", "xaxbxb"));
    assert!(matches("", ""));
    assert!(!matches("%a%b", "xaxbx"));
    assert!(!matches("query", "query_cache"));
    assert!(!matches("a\\_b", "axb"));
    assert!(!matches("_", ""));
}

#[test]
fn selects_of_our_variables() {
    let column = |scope, name: &str, title: &str| SelectedVariable {
        scope,
        name: name.to_owned(),
        title: title.to_owned(),
    };
    assert_eq!(
        ours("SELECT @@Query_cache_size, @@global.query_cache_type AS t, @@SESSION.freshness f LIMIT 1"),
        Some(Ours::SelectVariables(vec![
            column(Scope::Unspecified, "query_cache_size", "@@Query_cache_size"),
            column(Scope::Global, "query_cache_type", "t"),
            column(Scope::Session, "freshness", "f"),
        ]))
    );
    for text in [
        "SELECT @@query_cache_size + 1",
        "SELECT @@query_cache_size FROM t",
        "SELECT @@query_cache_size, 1",
        "SELECT @query_cache_size",
    ] {
        assert_eq!(ours(text), None, "{text}");
    }
}

#[test]
fn commands_about_the_cache() {
    assert_eq!(ours("FLUSH QUERY CACHE"), Some(Ours::FlushQueryCache));
    assert_eq!(ours("flush local query cache;"), Some(Ours::FlushQueryCache));
    assert_eq!(ours("RESET QUERY CACHE"), Some(Ours::ResetQueryCache));
    assert_eq!(ours("RESET QUERY CACHE, MASTER"), None);
    assert_eq!(ours("FLUSH QUERY CACHE; SELECT 1"), None);
}
