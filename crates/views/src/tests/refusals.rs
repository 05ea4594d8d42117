//! What is not maintained, and the reason that is given.

use freshet_sql::Datum;

use super::{COMPUTING, plan};
use crate::compile::{Asker, Computing};
use crate::query::MaintainedQuery;

fn refusal(text: &str) -> String {
    let input = |input: &freshet_sql::Input| Some(("s".to_owned(), input.table.clone()?.name));
    match MaintainedQuery::compile(&plan(text), &Asker { name_of: &input, computing: COMPUTING, values: &[] })
    {
        Ok(_) => panic!("{text} is maintained"),
        Err(why) => why.to_string(),
    }
}

#[test]
fn what_is_not_reproduced_exactly_is_refused_by_name() {
    let refusals = [
        ("SELECT id FROM t WHERE a = '2'", "a value that is of another type than what it is compared with"),
        (
            "SELECT id FROM t WHERE d = '2024-02-30'",
            "a value that is of another type than what it is compared with",
        ),
        (
            "SELECT id FROM t WHERE d = '2024-2-3'",
            "a value that is of another type than what it is compared with",
        ),
        (
            "SELECT t.id FROM t JOIN u ON u.at = t.d",
            "a comparison of two types, or of texts that are not told apart here",
        ),
        ("SELECT t.id FROM t, u", "tables that no equality of columns joins"),
        ("SELECT t.id FROM t LEFT JOIN u ON u.tid > t.id", "tables that no equality of columns joins"),
        (
            "SELECT t.id FROM t LEFT JOIN (u JOIN u AS w ON w.x = u.x) ON u.tid = t.id",
            "LEFT JOIN of more than one table",
        ),
        ("SELECT a, COUNT(*) FROM t GROUP BY a HAVING AVG(b) > 1", "AVG() in HAVING"),
        (
            "SELECT a, COUNT(*) FROM t GROUP BY a HAVING COUNT(*) > a",
            "a value that is of another type than what it is compared with",
        ),
        ("SELECT MAX(e) FROM t", "MIN() and MAX() of an ENUM, which are those of its names"),
        ("SELECT id FROM t WHERE e < 'sent'", "an order of an ENUM's names"),
        (
            "SELECT id FROM t WHERE e = 'SENT'",
            "a value that is of another type than what it is compared with",
        ),
        ("SELECT id FROM t WHERE e BETWEEN 'new' AND 'sent'", "an order of an ENUM's names"),
        ("SELECT id FROM t WHERE y = 24", "a value that is of another type than what it is compared with"),
        (
            "SELECT t.id FROM t JOIN t AS z ON t.e = z.e",
            "a comparison of two types, or of texts that are not told apart here",
        ),
        (
            "SELECT id FROM u WHERE ts > '2024-01-01 00:00:00.5'",
            "a value that is of another type than what it is compared with",
        ),
        (
            "SELECT id FROM u WHERE ts > '2040-01-01 00:00:00'",
            "a value that is of another type than what it is compared with",
        ),
        ("SELECT AVG(d) FROM t", "AVG() of what is no exact number"),
        (
            "SELECT id FROM t WHERE m = '1.50'",
            "a value that is of another type than what it is compared with",
        ),
        ("SELECT id FROM t WHERE m = 1.505", "an equality with a literal of more digits than the column has"),
        (
            "SELECT id FROM t WHERE m IN (1, 1.505)",
            "an equality with a literal of more digits than the column has",
        ),
        ("SELECT id FROM t WHERE b <=> 1.5", "an equality with a literal of more digits than the column has"),
        (
            "SELECT t.id FROM t JOIN u ON u.z = t.m",
            "a comparison of two types, or of texts that are not told apart here",
        ),
        ("SELECT SUM(DISTINCT a) FROM t", "SUM(DISTINCT)"),
        ("SELECT a + 1 FROM t", "+()"),
        ("SELECT id FROM t WHERE a IN (1, 2) LIMIT ?", "such a LIMIT"),
        ("SELECT x.id FROM (SELECT id FROM t) AS x", "a view or a derived table"),
    ];
    for (text, why) in refusals {
        assert_eq!(refusal(text), why, "{text}");
    }
}

#[test]
fn a_literal_that_would_be_shown_with_more_digits_is_refused() {
    for text in [
        "SELECT COALESCE(SUM(a), 0.0) FROM t",
        "SELECT IFNULL(SUM(m), 1.500) FROM t",
        "SELECT COALESCE(SUM(a), b) FROM t",
    ] {
        assert_eq!(refusal(text), "COALESCE() with such a value", "{text}");
    }
}

#[test]
fn of_subqueries_what_is_not_reproduced_exactly_is_refused_by_name() {
    for (text, why) in [
        ("SELECT id FROM t WHERE a > (SELECT tid FROM u)", "a subquery"),
        ("SELECT id FROM t WHERE a IN (SELECT tid FROM u) OR b = 1", "a subquery"),
        ("SELECT id FROM t WHERE a NOT IN (SELECT tid FROM u)", "NOT IN of what may be NULL"),
        ("SELECT id FROM t WHERE id NOT IN (SELECT tid FROM u)", "NOT IN of what may be NULL"),
        (
            "SELECT t.id FROM t LEFT JOIN u ON u.tid = t.id WHERE u.id NOT IN (SELECT k.id FROM u AS k)",
            "NOT IN of what may be NULL",
        ),
        (
            "SELECT id FROM t WHERE a IN (SELECT MAX(tid) FROM u)",
            "a subquery of more than one table, or of groups",
        ),
        (
            "SELECT id FROM t WHERE EXISTS (SELECT * FROM u WHERE x = 1)",
            "tables that no equality of columns joins",
        ),
        ("SELECT id FROM t WHERE a IN (SELECT tid FROM u LIMIT 1)", "such a subquery"),
    ] {
        assert_eq!(refusal(text), why, "{text}");
    }
}

#[test]
fn of_unions_what_is_not_reproduced_exactly_is_refused_by_name() {
    let refusals = [
        ("SELECT a FROM t UNION ALL SELECT m FROM t", "UNION of columns of different types"),
        (
            "SELECT e FROM t UNION ALL SELECT e FROM t",
            "UNION of an ENUM, a SET, a BIT, a YEAR or a TIMESTAMP",
        ),
        ("SELECT id FROM t UNION ALL (SELECT id FROM u ORDER BY id LIMIT 2)", "LIMIT at the top"),
        ("SELECT id FROM t UNION SELECT id FROM u UNION ALL SELECT id FROM u", "UNION at the top"),
    ];
    for (text, why) in refusals {
        assert_eq!(refusal(text), why, "{text}");
    }
}

#[test]
fn of_texts_what_is_not_reproduced_exactly_is_refused_by_name() {
    let refusals = [
        ("SELECT id FROM t WHERE s = 'x '", "a value that is of another type than what it is compared with"),
        ("SELECT id FROM t WHERE s = 1", "a value that is of another type than what it is compared with"),
        ("SELECT id FROM t WHERE s > 'x'", "an order of texts in a condition"),
        ("SELECT id FROM t WHERE s LIKE 'x%'", "LIKE"),
        ("SELECT t.id FROM t JOIN t AS y ON t.a = y.a WHERE t.s < y.s", "an order of texts in a condition"),
        (
            "SELECT t.id FROM t JOIN t AS y ON t.s = y.e",
            "a comparison of two types, or of texts that are not told apart here",
        ),
        (
            "SELECT a, MAX(s) FROM t GROUP BY a HAVING MAX(s) = 'x'",
            "a value that is of another type than what it is compared with",
        ),
        (
            "SELECT s FROM t GROUP BY s HAVING s = 'x'",
            "a value that is of another type than what it is compared with",
        ),
    ];
    for (text, why) in refusals {
        assert_eq!(refusal(text), why, "{text}");
    }
}

#[test]
fn of_sets_and_bits_what_is_not_reproduced_exactly_is_refused_by_name() {
    let refusals = [
        ("SELECT MAX(st) FROM t", "MIN() and MAX() of a SET, which are those of its names"),
        ("SELECT id FROM t WHERE st < 'sent'", "an order of a SET's names"),
        (
            "SELECT id FROM t WHERE st = 'sent,new'",
            "a value that is of another type than what it is compared with",
        ),
        ("SELECT id FROM t WHERE st = 1", "a value that is of another type than what it is compared with"),
        ("SELECT MIN(bt) FROM t", "MIN() and MAX() of a BIT"),
        ("SELECT DISTINCT bt FROM t", "DISTINCT of a BIT"),
        ("SELECT bt, COUNT(*) FROM t GROUP BY bt", "GROUP BY a BIT"),
        ("SELECT COUNT(DISTINCT bt) FROM t", "COUNT(DISTINCT) of a BIT"),
        ("SELECT id FROM t ORDER BY bt", "ORDER BY a BIT"),
        (
            "SELECT t.bt FROM t JOIN u ON u.tid = t.id ORDER BY t.id",
            "a BIT in the rows of a join in an order",
        ),
        ("SELECT SUM(bt) FROM t", "SUM() of what is no exact number"),
        ("SELECT id FROM t WHERE bt = 128", "a value that is of another type than what it is compared with"),
        (
            "SELECT t.id FROM t JOIN t AS z ON t.bt = z.bt",
            "a comparison of two types, or of texts that are not told apart here",
        ),
    ];
    for (text, why) in refusals {
        assert_eq!(refusal(text), why, "{text}");
    }
}

#[test]
fn markers_are_taken_where_it_is_only_asked_whether_a_query_is_maintained() {
    let input = |input: &freshet_sql::Input| Some(("s".to_owned(), input.table.clone()?.name));
    let checked = |text: &str| {
        MaintainedQuery::check(&plan(text), &Asker { name_of: &input, computing: COMPUTING, values: &[] })
            .map(|query| query.tables().len())
    };
    assert_eq!(checked("SELECT t.id FROM t JOIN u ON u.tid = t.id WHERE t.a = ? AND u.x > ?"), Ok(2));
    assert_eq!(checked("SELECT id FROM t WHERE m > -? AND a IN (-?, ?)"), Ok(1), "a literal may have a sign");
    assert!(checked("SELECT id FROM t WHERE d = -?").is_err(), "dates have none");
    assert_eq!(checked("SELECT id FROM t WHERE s = ?"), Ok(1));
    assert!(
        MaintainedQuery::compile(
            &plan("SELECT id FROM t WHERE a = ?"),
            &Asker { name_of: &input, computing: COMPUTING, values: &[] }
        )
        .is_err()
    );
}

#[test]
fn what_is_given_for_a_marker_is_taken_where_it_is_of_the_column_s_type() {
    let input = |input: &freshet_sql::Input| Some(("s".to_owned(), input.table.clone()?.name));
    let key = |text: &str, value: Datum, offset_s: Option<i32>| {
        let asker =
            Asker { name_of: &input, computing: Computing { offset_s, ..COMPUTING }, values: &[value] };
        MaintainedQuery::compile(&plan(text), &asker).map(|compiled| compiled.key).ok()
    };
    let moment = |text: &str| Datum::Moment(text.as_bytes().to_vec());
    let text = |text: &str| Datum::Text(text.as_bytes().to_vec());
    let of_a = "SELECT id FROM t WHERE a = ?";
    assert_eq!(key(of_a, Datum::Int(-5), None), Some(vec![-5]));
    assert_eq!(key(of_a, Datum::Decimal("5.0".to_owned()), None), None);
    assert_eq!(key(of_a, Datum::Null, None), None);
    assert_eq!(key("SELECT id FROM t WHERE m = ?", Datum::Decimal("5.0".to_owned()), None), Some(vec![500]));
    assert_eq!(key("SELECT id FROM t WHERE e = ?", text("paid"), None), Some(vec![2]));
    assert_eq!(key("SELECT id FROM t WHERE st = ?", text("new,sent"), None), Some(vec![5]));
    assert_eq!(key("SELECT id FROM t WHERE bt = ?", Datum::Int(127), None), Some(vec![127]));
    assert_eq!(
        key("SELECT id FROM t WHERE s = ?", text("aB"), None),
        key("SELECT id FROM t WHERE s = 'Ab'", text(""), None)
    );
    assert_eq!(key("SELECT id FROM t WHERE s = ?", Datum::Int(1), None), None);
    let of_d = "SELECT id FROM t WHERE d = ?";
    assert_eq!(key(of_d, moment("2024-02-29"), None), Some(vec![20_240_229]));
    assert_eq!(key(of_d, moment("2024-02-29 00:00:00"), None), Some(vec![20_240_229]));
    assert_eq!(key(of_d, moment("2024-02-29 00:00:01"), None), None);
    let of_at = "SELECT id FROM u WHERE at = ?";
    assert_eq!(key(of_at, moment("2024-02-29"), None), key(of_at, text("2024-02-29 00:00:00"), None));
    let of_ts = "SELECT id FROM u WHERE ts = ?";
    assert_eq!(
        key(of_ts, moment("1970-01-03 00:00:00"), Some(3600)),
        Some(vec![(2 * 86_400 - 3600) * 1_000_000])
    );
    assert_eq!(key(of_ts, moment("1970-01-03 00:00:00"), None), None, "the zone is not known");
}
