use super::*;
use crate::modes::Flavor;

fn digest(text: &str) -> String {
    String::from_utf8_lossy(&shape(text.as_bytes(), Modes::new(Flavor::MySql)).text).into_owned()
}

#[test]
fn digests_as_proxysql_writes_them() {
    for (text, expected) in [
        ("SELECT c FROM sbtest1 WHERE id=42", "SELECT c FROM sbtest1 WHERE id=?"),
        (
            "SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 100",
            "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
        ),
        ("SELECT 1", "SELECT ?"),
        ("select @@version_comment limit 1", "select @@version_comment limit ?"),
        ("SELECT 1 FROM t WHERE a IN (1,2,3,4)", "SELECT ? FROM t WHERE a IN (?,?,?,?)"),
        ("SELECT 1 FROM t WHERE a IN (1, 2, 3, 4, 5)", "SELECT ? FROM t WHERE a IN (?,?,?,...)"),
        (
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (1, -2, 'x', NULL)",
            "INSERT INTO sbtest1 (id,k,c,pad) VALUES (?,?,?,NULL)",
        ),
        ("  SELECT\n\t* FROM t ; ", "SELECT * FROM t"),
        ("SELECT /* x */ a -- y\n FROM # z\n t", "SELECT a FROM t"),
        ("SELECT /*!40001 SQL_NO_CACHE */ * FROM t", "SELECT SQL_NO_CACHE * FROM t"),
        (
            "SELECT a + 1, b- -2, c * d, count( * ) FROM t WHERE id = -1",
            "SELECT a+?,b-?,c*d,count(*) FROM t WHERE id = ?",
        ),
        ("SELECT 'it''s', \"a\\\"b\", x'1F', N'x', 0b1, 1.5e3 FROM `a 1`", "SELECT ?,?,?,... FROM `a 1`"),
        ("SELECT a FROM t WHERE id=? AND b='x'", "SELECT a FROM t WHERE id=? AND b=?"),
        ("Select A From T Where Id = 1", "Select A From T Where Id = ?"),
        ("SELECT f (1)", "SELECT f (?)"),
        ("", ""),
    ] {
        assert_eq!(digest(text), expected, "{text}");
    }
    let many = |n: usize| vec!["(1,'a')"; n].join(", ");
    let cut = format!("INSERT INTO t VALUES {},...", ["(?,?)"; 10].join(","));
    assert_eq!(digest(&format!("INSERT INTO t VALUES {}", many(5000))), cut);
    assert_eq!(digest(&format!("INSERT INTO t VALUES {}", many(12))), cut);
    let whole = format!("INSERT INTO t VALUES {}", ["(?,?)"; 11].join(","));
    assert_eq!(digest(&format!("INSERT INTO t VALUES {}", many(11))), whole);
}

#[test]
fn what_analysis_can_tell_apart_stays_apart() {
    for text in [
        "SELECT 'open",
        "SELECT 1 /*! open",
        "SELECT /*+ SET_VAR(a=1) */ 1 FROM t",
        "SELECT 1 /*!999999 x */",
    ] {
        assert_eq!(digest(text), text);
    }
    assert_ne!(digest("SELECT count (a) FROM t"), digest("SELECT count(a) FROM t"));
    let modes = Modes::new(Flavor::MySql);
    assert_eq!(shape(b"SELECT 1", modes).hash, shape(b"SELECT 22", modes).hash);
    assert_ne!(shape(b"SELECT 1", modes).hash, shape(b"SELECT a", modes).hash);
}
