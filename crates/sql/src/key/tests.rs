use super::*;
use crate::modes::Flavor;

const MODES: Modes = Modes::new(Flavor::MariaDb);

#[test]
fn keys_leave_out_what_is_at_the_ends() {
    let key =
        |text: &str, strip| String::from_utf8_lossy(&key_text(text.as_bytes(), MODES, strip)).into_owned();
    assert_eq!(key(" \n SELECT  1 ; ;", false), "SELECT  1");
    assert_eq!(key("/* a */ SELECT /* b */ 1 -- c", false), "/* a */ SELECT /* b */ 1 -- c");
    assert_eq!(key("/* a */ SELECT /* b */ 1 -- c", true), "SELECT 1");
    assert_eq!(key("SELECT a# b\nFROM t;/* x */", true), "SELECT a FROM t");
    assert_eq!(key("SELECT '/* a */'  , 1", true), "SELECT '/* a */'  , 1");
    assert_eq!(key("SELECT 'open /* a */", true), "SELECT 'open /* a */");
    assert_eq!(key(";;", true), "");
    assert_eq!(key(" ;SELECT 1;", true), ";SELECT 1");
    assert_eq!(key("/*!50000;*/SELECT 1", true), "; SELECT 1");
    assert_eq!(key("SELECT 1 --#\n2", true), "SELECT 1 --#\n2");
    assert_eq!(key("SELECT 1 --/**/", true), "SELECT 1 --/**/");
    assert_eq!(key("SELECT 1 --;--", true), "SELECT 1 --;--");
    assert_eq!(key("SELECT 1 -/**/-2", true), "SELECT 1 - -2");
    assert_eq!(key("SELECT /*+ SET_VAR(sql_mode='') */ a", true), "SELECT /*+ SET_VAR(sql_mode='') */ a");
}

#[test]
fn hints_are_taken_off() {
    let strip = |text: &str| {
        strip_hint(text.as_bytes(), MODES).map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    assert_eq!(strip("SELECT SQL_CACHE a FROM t"), Some("SELECT a FROM t".to_owned()));
    assert_eq!(strip("select distinct sql_no_cache\n* from t"), Some("select distinct * from t".to_owned()));
    assert_eq!(strip("SELECT a, sql_cache FROM t"), None);
    assert_eq!(strip("SELECT sql_cache FROM t"), None);
    assert_eq!(strip("SELECT sql_cache, b FROM t"), None);
    assert_eq!(strip("SELECT 'SQL_CACHE' FROM t"), None);
    assert_eq!(strip("SELECT a FROM t"), None);
    assert_eq!(
        strip("INSERT INTO t SELECT SQL_NO_CACHE a FROM u"),
        Some("INSERT INTO t SELECT a FROM u".to_owned())
    );
}

#[test]
fn misused_hints_give_the_servers_errors() {
    let error = |text: &str| {
        let HintError { code, sqlstate, message } = hint_error(text.as_bytes(), MODES)?;
        Some(format!("{code} {sqlstate} {message}"))
    };
    let both = Some("1221 HY000 Incorrect usage of SQL_NO_CACHE and SQL_CACHE".to_owned());
    let misplaced = |name: &str| Some(format!("1234 42000 Incorrect usage/placement of '{name}'"));
    // Each of these was tried on MariaDB 10.11.
    assert_eq!(error("select sql_cache sql_no_cache a from t"), both);
    assert_eq!(error("select sql_no_cache sql_cache a from t"), both);
    assert_eq!(error("select a from (select sql_cache a from t) x"), misplaced("SQL_CACHE"));
    assert_eq!(error("select a from t where a in (select sql_no_cache a from t)"), misplaced("SQL_NO_CACHE"));
    assert_eq!(error("select a from t union select sql_cache a from t"), misplaced("SQL_CACHE"));
    assert_eq!(error("with x as (select sql_cache a from t) select * from x"), misplaced("SQL_CACHE"));
    assert_eq!(error("with x as (select a from t) select sql_cache * from x"), None);
    assert_eq!(error("(select sql_cache a from t) union select a from t"), None);
    assert_eq!(error("select distinct sql_cache a from t"), None);
    assert_eq!(error("insert into t select sql_cache a from u"), None);
    assert_eq!(error("update t set a = (select sql_cache 1)"), misplaced("SQL_CACHE"));
    assert_eq!(error("delete from t where a in (select sql_no_cache 1)"), misplaced("SQL_NO_CACHE"));
    assert_eq!(error("set @x = (select sql_cache 1)"), misplaced("SQL_CACHE"));
    assert_eq!(
        error("select sql_cache sql_cache a from t"),
        Some("1225 HY000 Option 'SQL_CACHE' used twice in statement".to_owned())
    );
}

#[test]
fn texts_of_one_form_begin_alike_up_to_the_first_value() {
    for (text, before) in [
        ("SELECT c FROM sbtest1 WHERE id=501", "SELECT c FROM sbtest1 WHERE id="),
        ("SELECT `a1`, t2.b FROM `t2` WHERE x IN ('a', 5)", "SELECT `a1`, t2.b FROM `t2` WHERE x IN ("),
        ("SELECT 1", "SELECT "),
        ("SELECT a FROM t", "SELECT a FROM t"),
        ("SELECT \u{e4}1 FROM t LIMIT 10", "SELECT \u{e4}1 FROM t LIMIT "),
        ("5", ""),
        ("", ""),
    ] {
        assert_eq!(before_first_value(text.as_bytes()), before.len(), "{text}");
    }
}
