use super::*;
use crate::modes::{Flavor, Modes};
use crate::request::{Request, read};

fn ours(text: &str) -> Option<Ours> {
    match read(text.as_bytes(), Modes::new(Flavor::MariaDb)) {
        Request::Ours(ours) => Some(ours),
        _ => None,
    }
}

fn set(scope: Scope, name: &str, value: AssignedValue) -> Assignment {
    Assignment { scope, name: name.to_owned(), value, keeps: Keeps::Not }
}

#[test]
fn sets_of_our_variables() {
    let on = || AssignedValue::Text("ON".to_owned());
    for (text, expected) in [
        ("SET query_cache_type = ON", vec![set(Scope::Unspecified, "query_cache_type", on())]),
        (
            "SET GLOBAL Query_Cache_Size = 1048576",
            vec![set(Scope::Global, "query_cache_size", AssignedValue::Int(1 << 20))],
        ),
        (
            "SET @@global.query_cache_limit := -1",
            vec![set(Scope::Global, "query_cache_limit", AssignedValue::Int(-1))],
        ),
        (
            "SET @@query_cache_type = DEFAULT;",
            vec![set(Scope::Unspecified, "query_cache_type", AssignedValue::Default)],
        ),
        (
            "SET LOCAL freshness = 'session'",
            vec![set(Scope::Session, "freshness", AssignedValue::Text("session".to_owned()))],
        ),
        (
            "SET SESSION query_cache_type=2, @@local.query_cache_wlock_invalidate = 1",
            vec![
                set(Scope::Session, "query_cache_type", AssignedValue::Int(2)),
                set(Scope::Session, "query_cache_wlock_invalidate", AssignedValue::Int(1)),
            ],
        ),
        (
            "SET GLOBAL query_cache_size = 2 * 1024",
            vec![set(Scope::Global, "query_cache_size", AssignedValue::Other("2 * 1024".to_owned()))],
        ),
    ] {
        assert_eq!(ours(text), Some(Ours::SetVariables(expected)), "{text}");
    }
    let mixed = Ours::SetMixed {
        ours: vec![set(Scope::Unspecified, "query_cache_type", AssignedValue::Int(0))],
        rest: "SET NAMES utf8, @x = f(1, 2), GLOBAL wait_timeout = 5".to_owned(),
    };
    assert_eq!(
        ours("SET NAMES utf8, query_cache_type=0, @x = f(1, 2), GLOBAL wait_timeout = 5"),
        Some(mixed)
    );
    // Tried on both servers: the second is global as well.
    let inherited = Ours::SetMixed {
        ours: vec![set(Scope::Global, "query_cache_size", AssignedValue::Int(0))],
        rest: "SET GLOBAL wait_timeout = 5, @@session.x = 1, GLOBAL y = 2".to_owned(),
    };
    assert_eq!(
        ours("SET GLOBAL wait_timeout = 5, query_cache_size = 0, @@session.x = 1, y = 2"),
        Some(inherited)
    );
    for text in [
        "SET @query_cache_type = 1",
        "SET x = 1",
        "SET STATEMENT SESSION query_cache_type=1 FOR SELECT 1",
        "SET STATEMENT query_cache_type=1 FOR SET STATEMENT query_cache_type=0 FOR SELECT 1",
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
    assert_eq!(ours("SHOW COLUMNS FROM t"), None);
}

#[test]
fn shows_that_can_match_the_servers_too() {
    use Lists::{Status, Variables};
    let like = |pattern: &str| ShowFilter::Names(LikeFilter::Like(pattern.to_owned()));
    let condition = |text: &str| ShowFilter::Where(text.as_bytes().to_vec());
    for (text, lists, scope, filter) in [
        ("SHOW VARIABLES", Variables, Scope::Unspecified, ShowFilter::All),
        ("SHOW /*!50002 GLOBAL */ STATUS", Status, Scope::Global, ShowFilter::All),
        ("SHOW VARIABLES LIKE 'query%'", Variables, Scope::Unspecified, like("query%")),
        ("SHOW VARIABLES LIKE '%query_cache%'", Variables, Scope::Unspecified, like("%query_cache%")),
        ("SHOW SESSION STATUS LIKE 'Q%'", Status, Scope::Session, like("Q%")),
        ("SHOW VARIABLES WHERE Value = 'x'", Variables, Scope::Unspecified, condition("Value = 'x'")),
        (
            "SHOW STATUS WHERE Variable_name LIKE 'Q%' OR Value > 1",
            Status,
            Scope::Unspecified,
            condition("Variable_name LIKE 'Q%' OR Value > 1"),
        ),
    ] {
        assert_eq!(ours(text), Some(Ours::ShowAll { lists, scope, filter }), "{text}");
        assert!(crate::effects(text.as_bytes(), Modes::new(Flavor::MySql)).is_plain(), "{text}");
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
    assert_eq!(ours("FLUSH NO_WRITE_TO_BINLOG STATUS"), Some(Ours::FlushStatus));
    assert_eq!(ours("FLUSH STATUS, HOSTS"), None);
    assert_eq!(ours("RESET QUERY CACHE"), Some(Ours::ResetQueryCache));
    let among = |is_reset, rest: &str| Some(Ours::AmongOthers { is_reset, rest: rest.to_owned() });
    assert_eq!(ours("RESET QUERY CACHE, MASTER"), among(true, "RESET MASTER"));
    assert_eq!(ours("reset slave 'a,b' all, query cache;"), among(true, "RESET slave 'a,b' all"));
    assert_eq!(ours("FLUSH HOSTS, QUERY CACHE, STATUS"), among(false, "FLUSH HOSTS, STATUS"));
    assert_eq!(ours("FLUSH NO_WRITE_TO_BINLOG QUERY CACHE, LOGS"), among(false, "FLUSH LOCAL LOGS"));
    for not in
        ["RESET QUERY CACHE,", "RESET MASTER, SLAVE", "FLUSH , QUERY CACHE", "FLUSH TABLES a, QUERY CACHE"]
    {
        assert_eq!(ours(not), None, "{not}");
    }
    assert_eq!(ours("FLUSH QUERY CACHE; SELECT 1"), None);
}

/// Returns the text with what is mentioned in brackets.
fn marked(text: &str) -> String {
    marked_in(text, None)
}

fn marked_in(text: &str, schema: Option<&str>) -> String {
    let mut marked = String::new();
    let mut behind = 0;
    for Mention { at, what } in mentions(text.as_bytes(), Modes::new(Flavor::MySql), schema) {
        marked.push_str(&text[behind..at.start]);
        let title = if let Mentioned::Title(title) = what {
            String::from_utf8(title).unwrap()
        } else {
            String::new()
        };
        marked.push_str(&format!("[{}{title}]", &text[at.clone()]));
        behind = at.end;
    }
    marked + &text[behind..]
}

#[test]
fn mentions_of_ours() {
    for (text, expected) in [
        ("SELECT @@query_cache_size/1024 AS kb", "SELECT [@@query_cache_size]/1024 AS kb"),
        ("SELECT @@query_cache_size/1024", "SELECT [@@query_cache_size]/1024[@@query_cache_size/1024]"),
        ("SELECT @@query_cache_size / 2 kb, 1", "SELECT [@@query_cache_size] / 2 kb, 1"),
        (
            "SELECT 1, @@GLOBAL.query_cache_type, @@version",
            "SELECT 1, [@@GLOBAL.query_cache_type][@@GLOBAL.query_cache_type], @@version",
        ),
        (
            "SELECT IF(@@query_cache_type = 'ON', 1, 2) FROM t",
            "SELECT IF([@@query_cache_type] = 'ON', 1, 2)[IF(@@query_cache_type = 'ON', 1, 2)] FROM t",
        ),
        ("SELECT a FROM t WHERE a < @@query_cache_size", "SELECT a FROM t WHERE a < [@@query_cache_size]"),
        ("SET @old = @@query_cache_size, @x = 1", "SET @old = [@@query_cache_size], @x = 1"),
        ("SET @@query_cache_type = 1", "SET @@query_cache_type = 1"),
        (
            "SET x = 1, @@global.query_cache_size = @@query_cache_size * 2",
            "SET x = 1, @@global.query_cache_size = [@@query_cache_size] * 2",
        ),
        ("SELECT @query_cache_size, '@@query_cache_size'", "SELECT @query_cache_size, '@@query_cache_size'"),
        ("SELECT @@version", "SELECT @@version"),
        (
            "SELECT * FROM performance_schema.global_status WHERE VARIABLE_NAME = 'Qcache_hits'",
            "SELECT * FROM [performance_schema.global_status] WHERE VARIABLE_NAME = 'Qcache_hits'",
        ),
        (
            "SELECT a.x FROM t JOIN `information_schema`.SESSION_VARIABLES AS v ON 1",
            "SELECT a.x FROM t JOIN [`information_schema`.SESSION_VARIABLES] AS v ON 1",
        ),
        (
            "INSERT INTO t SELECT * FROM information_schema.global_status",
            "INSERT INTO t SELECT * FROM [information_schema.global_status]",
        ),
        // The view would keep the current values.
        (
            "CREATE VIEW v AS SELECT * FROM information_schema.global_status",
            "CREATE VIEW v AS SELECT * FROM information_schema.global_status",
        ),
        (
            "CREATE TEMPORARY TABLE t SELECT HITS FROM information_schema.query_cache_info",
            "CREATE TEMPORARY TABLE t SELECT HITS FROM [information_schema.query_cache_info]",
        ),
        (
            "SELECT * FROM information_schema.SYSTEM_VARIABLES v",
            "SELECT * FROM [information_schema.SYSTEM_VARIABLES] v",
        ),
        ("SELECT * FROM information_schema.tables", "SELECT * FROM information_schema.tables"),
        // What asks for others of the server's own is the server's.
        (
            "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'",
            "SELECT VARIABLE_VALUE FROM performance_schema.session_status WHERE VARIABLE_NAME = 'Ssl_cipher'",
        ),
        (
            "SELECT * FROM performance_schema.session_status",
            "SELECT * FROM performance_schema.session_status",
        ),
        (
            "SELECT * FROM performance_schema.global_status",
            "SELECT * FROM [performance_schema.global_status]",
        ),
        (
            "SELECT * FROM information_schema.global_status WHERE VARIABLE_NAME LIKE 'Q%'",
            "SELECT * FROM [information_schema.global_status] WHERE VARIABLE_NAME LIKE 'Q%'",
        ),
    ] {
        assert_eq!(marked(text), expected, "{text}");
    }
}

#[test]
fn a_client_is_told_its_own_number_and_lists_are_searched_for_the_servers() {
    const N: &str = "2147483650";
    for (text, expected) in [
        ("SELECT CONNECTION_ID()", "SELECT [CONNECTION_ID()][CONNECTION_ID()]"),
        ("select connection_id ( ) AS c, 1", "select [connection_id ( )] AS c, 1"),
        ("SELECT a FROM t WHERE o = CONNECTION_ID()", "SELECT a FROM t WHERE o = [CONNECTION_ID()]"),
        ("INSERT INTO t VALUES (1, CONNECTION_ID())", "INSERT INTO t VALUES (1, [CONNECTION_ID()])"),
        ("UPDATE t SET o = connection_id(); DO 1", "UPDATE t SET o = [connection_id()]; DO 1"),
        ("SELECT * FROM (SELECT CONNECTION_ID()) t", "SELECT * FROM (SELECT CONNECTION_ID()) t"),
        ("DO 1; SELECT CONNECTION_ID()", "DO 1; SELECT CONNECTION_ID()"),
        (
            "SET STATEMENT a = 1 FOR CREATE VIEW v AS SELECT CONNECTION_ID()",
            "SET STATEMENT a = 1 FOR CREATE VIEW v AS SELECT CONNECTION_ID()",
        ),
        // Rows of an application's own.
        (
            &format!("DELETE sys FROM systems sys WHERE sys.id = {N}"),
            &format!("DELETE sys FROM systems sys WHERE sys.id = {N}"),
        ),
        (
            &format!("SELECT 1 FROM t, information_schema.tables WHERE id = {N}"),
            &format!("SELECT 1 FROM t, information_schema.tables WHERE id = {N}"),
        ),
        ("SELECT 'CONNECTION_ID()', connection_id", "SELECT 'CONNECTION_ID()', connection_id"),
        ("SELECT s.CONNECTION_ID()", "SELECT s.CONNECTION_ID()"),
        // They would keep the current number.
        ("CREATE VIEW v AS SELECT CONNECTION_ID()", "CREATE VIEW v AS SELECT CONNECTION_ID()"),
        (
            "DO 1; ALTER TABLE t ALTER c SET DEFAULT (CONNECTION_ID())",
            "DO 1; ALTER TABLE t ALTER c SET DEFAULT (CONNECTION_ID())",
        ),
        // The server's functions and lists have its numbers.
        ("SELECT IS_USED_LOCK('a') = CONNECTION_ID()", "SELECT IS_USED_LOCK('a') = CONNECTION_ID()"),
        (
            "SELECT * FROM information_schema.processlist WHERE id = CONNECTION_ID()",
            "SELECT * FROM information_schema.processlist WHERE id = CONNECTION_ID()",
        ),
        (
            &format!("SELECT 1 FROM performance_schema.threads WHERE `PROCESSLIST_ID` = {N} AND c = {N}"),
            &format!("SELECT 1 FROM performance_schema.threads WHERE `PROCESSLIST_ID` = [{N}] AND c = {N}"),
        ),
        (
            &format!("SELECT 1 FROM sys.session WHERE conn_id={N} OR conn_id=17"),
            &format!("SELECT 1 FROM sys.session WHERE conn_id=[{N}] OR conn_id=17"),
        ),
        (&format!("SELECT a FROM t WHERE id = {N}"), &format!("SELECT a FROM t WHERE id = {N}")),
    ] {
        assert_eq!(marked(text), expected, "{text}");
    }
    let text = "SELECT CONNECTION_ID(), t.* FROM threads t WHERE processlist_id = 2147483650";
    let expected = "SELECT CONNECTION_ID(), t.* FROM threads t WHERE processlist_id = [2147483650]";
    assert_eq!(marked_in(text, Some("performance_schema")), expected);
}

#[test]
fn tables_are_found_in_the_default_schema() {
    let text = "SELECT COUNT(GLOBAL_STATUS) FROM GLOBAL_STATUS JOIN QUERY_CACHE_INFO, x.global_status";
    let marked = |schema| marked_in(text, Some(schema));
    assert_eq!(
        marked("Information_Schema"),
        "SELECT COUNT(GLOBAL_STATUS) FROM [GLOBAL_STATUS] JOIN [QUERY_CACHE_INFO], x.global_status"
    );
    assert_eq!(marked("test"), text);
}

#[test]
fn several_statements_may_empty_the_cache() {
    let empties = |text: &str| super::empties(text.as_bytes(), Modes::new(Flavor::MySql));
    assert_eq!(empties("SELECT 1; flush tables; SELECT 2"), Some(Vec::new()));
    assert_eq!(empties("FLUSH TABLES a; RESET QUERY CACHE"), Some(Vec::new()));
    let names = vec![TableName::bare("a"), TableName::of("s", "b")];
    assert_eq!(empties("FLUSH TABLES a; SELECT 1; FLUSH TABLE s.b"), Some(names));
    assert_eq!(empties("FLUSH STATUS; FLUSH TABLES a WITH READ LOCK; SELECT 1"), None);
}

#[test]
fn quoted_names_are_ours_too() {
    for text in ["SET SESSION `query_cache_type` = 1", "SET @@session.`Query_Cache_Type` = 1"] {
        let expected = set(Scope::Session, "query_cache_type", AssignedValue::Int(1));
        assert_eq!(ours(text), Some(Ours::SetVariables(vec![expected])), "{text}");
    }
    assert_eq!(ours("SET TRANSACTION ISOLATION LEVEL READ COMMITTED, query_cache_type = 1"), None);
}

#[test]
fn ours_for_one_statement_leave_the_servers() {
    let set = || vec![set(Scope::Unspecified, "query_cache_type", AssignedValue::Int(1))];
    for (text, rest) in [
        ("SET STATEMENT query_cache_type=1 FOR SELECT 1", "SELECT 1"),
        ("SET STATEMENT a=2, query_cache_type=1 FOR SELECT 1", "SET STATEMENT a=2 FOR SELECT 1"),
    ] {
        assert_eq!(ours(text), Some(Ours::SetStatement { ours: set(), rest: rest.into() }), "{text}");
    }
}

#[test]
fn tables_are_flushed_by_name_and_not_with_a_lock() {
    let names = vec![TableName::bare("a"), TableName::of("s", "b")];
    assert_eq!(ours("FLUSH LOCAL TABLES a, `s`.b"), Some(Ours::FlushTables(names)));
    assert_eq!(ours("FLUSH TABLES"), Some(Ours::FlushTables(Vec::new())));
    for text in ["FLUSH TABLES WITH READ LOCK", "FLUSH TABLES a WITH READ LOCK", "FLUSH TABLES a FOR EXPORT"]
    {
        assert_eq!(ours(text), None, "{text}");
    }
}

#[test]
fn hints_for_caches_stand_behind_the_first_word_of_a_select() {
    use crate::{CacheHint, CreateCache, Method, cache_hint, skips_cache};
    let modes = Modes::new(Flavor::MySql);
    let hint = |text: &str| cache_hint(text.as_bytes(), modes);
    for text in [
        "SELECT /*rs+ SKIP CACHE */ a FROM t",
        "  select/*RS+skip cache*/a FROM t",
        "SELECT\n/*Rs+ SKIP /* inner CACHE */ 1",
    ] {
        let is_skipped = !text.contains("inner");
        assert_eq!(hint(text) == Some(CacheHint::Skip), is_skipped, "{text}");
        assert_eq!(skips_cache(text.as_bytes(), modes), is_skipped, "{text}");
    }
    let created = |made: CreateCache| Some(CacheHint::Create(made));
    assert_eq!(hint("SELECT /*rs+ CREATE CACHE */ 1"), created(CreateCache::default()));
    let shallow = CreateCache {
        method: Some(Method::Shallow),
        policy: Some((300, Some(60))),
        always: true,
        ..CreateCache::default()
    };
    let text = "SELECT /*rs+ CREATE SHALLOW CACHE POLICY TTL 300 SECONDS REFRESH 60 SECONDS COALESCE 5 SECONDS ALWAYS */ a FROM t";
    assert_eq!(hint(text), created(shallow));
    for unknown in
        ["", "SKIP", "SKIP CACHE NOW", "CREATE CACHE FROM SELECT 1", "CREATE CACHE name", "DROP CACHE a", "'"]
    {
        assert_eq!(hint(&format!("SELECT /*rs+ {unknown} */ 1")), Some(CacheHint::Unknown), "{unknown}");
    }
    for none in [
        "SELECT a FROM t",
        "SELECT a /*rs+ SKIP CACHE */ FROM t",
        "/*rs+ SKIP CACHE */ SELECT a FROM t",
        "SELECT /*+ SKIP CACHE */ a FROM t",
        "SELECT /* rs+ SKIP CACHE */ a FROM t",
        "SELECT /*rs+ SKIP CACHE",
        "SELECTED /*rs+ SKIP CACHE */",
        "sel",
        "",
    ] {
        assert_eq!(hint(none), None, "{none}");
    }
}
