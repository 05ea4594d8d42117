//! Texts in conditions, groups and orders: each collation compares and sorts as the server does, or is left to it.

use freshet_tests::cached::{Answer, answer, caught_up, connect, eventually, run};
use freshet_tests::{Flavor, Freshet};
use mysql::prelude::Queryable as _;
use mysql::{Conn, Row};

use super::{all_are_kept, from_memory, is_from_memory, is_kept, sorted, with_stages};

/// Collations of one server or of both.
const COMMON: [&str; 5] =
    ["utf8mb4_general_ci", "utf8mb4_bin", "utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci", "ascii_general_ci"];
const MARIADB: [&str; 3] = ["utf8mb4_general_nopad_ci", "utf8mb4_unicode_nopad_ci", "utf8mb4_nopad_bin"];
const MYSQL: [&str; 3] = ["utf8mb4_0900_ai_ci", "utf8mb4_0900_as_ci", "utf8mb4_0900_bin"];

fn collations(flavor: Flavor) -> Vec<&'static str> {
    let own = if flavor == Flavor::MariaDb { MARIADB } else { MYSQL };
    COMMON.into_iter().chain(own).collect()
}

const LONG: &str = "a text of more bytes than are kept of it";

/// What is kept while no two spellings that are equal meet.
const QUERIES: [&str; 25] = [
    "SELECT id, s, c FROM t WHERE s = 'Oslo'",
    "SELECT id FROM t WHERE c = 'x-1' AND n > 0",
    "SELECT id FROM t WHERE s <> 'lima' OR c IS NULL",
    "SELECT id FROM t WHERE s IN ('OSLO', 'x', 'Rio de Janeiro', '')",
    "SELECT id, s FROM t WHERE NOT s <=> 'Lima'",
    "SELECT COUNT(*), SUM(n) FROM t WHERE s = 'A Text of more bytes than are kept of it'",
    "SELECT id FROM t WHERE s = '' OR s = '_' OR s = 'a_b'",
    "SELECT id FROM t WHERE s IS NULL",
    "SELECT s, COUNT(*), SUM(n), MAX(c IS NULL) FROM t GROUP BY s ORDER BY s",
    "SELECT s, COUNT(*), SUM(n), COUNT(c) FROM t GROUP BY s ORDER BY s DESC",
    "SELECT s, c, COUNT(*) FROM t GROUP BY s, c",
    "SELECT s, COUNT(*) k FROM t GROUP BY s HAVING k > 1 AND NOT s IS NULL",
    "SELECT DISTINCT c FROM t ORDER BY c",
    "SELECT DISTINCT s, n FROM t",
    "SELECT id, s FROM t ORDER BY s, id",
    "SELECT id, c FROM t ORDER BY c DESC, id LIMIT 4",
    "SELECT COUNT(DISTINCT s), COUNT(DISTINCT c), COUNT(s) FROM t",
    "SELECT n, COUNT(DISTINCT s) FROM t GROUP BY n",
    "SELECT t.id, u.id, u.s FROM t JOIN u ON u.s = t.s",
    "SELECT t.id, u.id FROM t LEFT JOIN u ON u.c = t.c AND u.s <> 'lima'",
    "SELECT u.s, COUNT(t.id) FROM u LEFT JOIN t ON t.s = u.s GROUP BY u.s ORDER BY u.s LIMIT 2",
    "SELECT t.s FROM t JOIN u ON u.s = t.c WHERE t.s = 'oslo'",
    "SELECT MIN(s), MAX(s), MIN(c), MAX(c) FROM t",
    "SELECT n, MAX(s), MIN(c) FROM t GROUP BY n ORDER BY MAX(s), n",
    "SELECT u.s, MIN(t.c) FROM u LEFT JOIN t ON t.s = u.s GROUP BY u.s HAVING NOT MIN(t.c) IS NULL",
];
/// Of these, those that the engine does not know.
const REFUSED: [&str; 1] = [QUERIES[8]];

fn tables(collation: &str) -> Vec<String> {
    let charset = collation.split('_').next().unwrap_or_default();
    let of = format!("CHARACTER SET {charset} COLLATE {collation}");
    vec![
        "DROP TABLE IF EXISTS t, u".to_owned(),
        format!("CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(60) {of}, c CHAR(8) {of}, n INT NOT NULL, KEY (s))"),
        format!("CREATE TABLE u (id INT PRIMARY KEY, s VARCHAR(60) {of} NOT NULL, c CHAR(8) {of}, KEY (c))"),
        format!(
            "INSERT INTO t VALUES (1, 'Oslo', 'x-1', 1), (2, 'Lima', 'y', 2), (3, NULL, NULL, 3), (4, 'a_b', 'Oslo', 1), (5, '', '', 2), \
             (6, '{LONG}', 'x-1', 3), (7, '_', '~', 0), (8, 'Rio de Janeiro', 'Oslo', 5), (9, 'Oslo', 'y', 5), (10, 'a b', NULL, 5)"
        ),
        "INSERT INTO u VALUES (1, 'Oslo', 'y'), (2, 'Lima', 'x-1'), (3, '', ''), (4, 'a_b', NULL), (5, 'Oslo', 'y')"
            .to_owned(),
    ]
}

const WRITES: [&str; 6] = [
    "UPDATE t SET s = 'Lima' WHERE id = 1",
    "INSERT INTO t VALUES (11, 'Oslo', 'zz', 7), (12, '{', 'a-b', 7), (13, 'a.b', 'a_b', 7)",
    "UPDATE t SET c = 'Oslo', n = n + 1 WHERE n > 2",
    "UPDATE u SET s = 'Rio de Janeiro', c = 'Oslo' WHERE id > 3",
    "UPDATE t SET s = NULL WHERE id = 9",
    "DELETE FROM t WHERE s = 'Lima'",
];

/// Spellings that may be equal to others that are there.
const SPELLINGS: [&str; 4] = [
    "INSERT INTO t VALUES (20, 'OSLO', 'X-1', 1), (21, 'oslo ', 'lima', 2)",
    "INSERT INTO u VALUES (20, 'oSLO', 'Y'), (21, 'LIMA ', 'y')",
    "UPDATE t SET s = 'Rio de janeiro ' WHERE id = 8",
    "DELETE FROM t WHERE id < 8",
];

/// Every answer comes from memory after every write.
fn is_all_kept((reader, direct): (&mut Conn, &mut Conn), freshet: &Freshet, when: &str) {
    let kept: Vec<&str> = QUERIES.into_iter().filter(|query| !REFUSED.contains(query)).collect();
    all_are_kept((reader, direct, freshet), when, (&kept, &WRITES));
}

/// Every answer is the server's, but for which spelling is shown of a group: the server decides that anew each time.
fn is_the_servers((reader, direct): (&mut Conn, &mut Conn), when: &str) {
    let lower = |answer: Answer| format!("{:?}", sorted(answer)).to_lowercase().replace(' ', "");
    for query in QUERIES {
        let (given, due) = (answer(reader, query), answer(direct, query));
        if ["GROUP BY", "DISTINCT", "MIN("].iter().any(|word| query.contains(word)) {
            assert_eq!(lower(given), lower(due), "{when}: {query}");
        } else {
            assert_eq!(sorted(given), sorted(due), "{when}: {query}");
        }
    }
}

#[test]
fn each_collation_compares_and_sorts_as_the_server_does() {
    with_stages("maintained_texts", &[], |server, direct, freshet| {
        let mut reader = connect(freshet.target(), "maintained_texts");
        for collation in collations(server.flavor) {
            let when = format!("{:?} {collation}", server.flavor);
            run(&mut reader, &["DROP ALL CACHES"]);
            let tables = tables(collation);
            run(direct, &tables.iter().map(String::as_str).collect::<Vec<_>>());
            caught_up(freshet);
            is_all_kept((&mut reader, direct), freshet, &when);
            for write in SPELLINGS {
                run(direct, &[write]);
                caught_up(freshet);
                is_the_servers((&mut reader, direct), &format!("{when} after {write}"));
            }
        }
    });
}

#[test]
fn all_printable_characters_are_sorted_as_the_server_sorts_them() {
    with_stages("maintained_orders", &[], |server, direct, freshet| {
        let mut reader = connect(freshet.target(), "maintained_orders");
        for collation in collations(server.flavor) {
            run(&mut reader, &["DROP ALL CACHES"]);
            let charset = collation.split('_').next().unwrap_or_default();
            let create = format!(
                "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(20) CHARACTER SET {charset} COLLATE {collation})"
            );
            let characters: Vec<String> = (b' '..=b'~').map(|byte| char::from(byte).to_string()).collect();
            let texts = characters
                .iter()
                .flat_map(|one| [one.clone(), format!("a{one}"), format!("a{one}b"), format!("{one}{one}")]);
            let values: Vec<String> =
                texts.map(|text| format!("('{}')", text.replace('\\', "\\\\").replace('\'', "''"))).collect();
            run(
                direct,
                &[
                    "DROP TABLE IF EXISTS t",
                    &create,
                    &format!("INSERT INTO t (s) VALUES {}", values.join(",")),
                ],
            );
            caught_up(freshet);
            let query = "SELECT id, s FROM t ORDER BY s, id";
            run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
            answer(&mut reader, query).expect("it is answered");
            run(direct, &["UPDATE t SET s = CONCAT(s, 'x') WHERE id > 370"]);
            caught_up(freshet);
            let found = from_memory(&mut reader, |reader| answer(reader, query));
            assert_eq!(found, Some(answer(direct, query)), "{:?} {collation}", server.flavor);
        }
    });
}

#[test]
fn texts_whose_equals_are_not_known_are_left_to_the_server() {
    let schema = "maintained_untold";
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, \
         b VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, l VARCHAR(300) CHARACTER SET utf8mb4)",
        "INSERT INTO t VALUES (1, 'Zoe', 'Zoë', 'x'), (2, 'ab', 'ab\\n', 'y')",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        // In a binary collation every text is told.
        let binary = "SELECT id, b FROM t WHERE b <> 'ab'";
        let (ci, ordered) =
            ("SELECT id FROM t WHERE s = 'zoe' AND l <> 'z'", "SELECT id, s FROM t ORDER BY s, id");
        for query in [binary, ci, ordered] {
            run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {query}")]);
            answer(&mut reader, query).expect("it is answered");
        }
        run(direct, &["UPDATE t SET b = CONCAT(b, 'é') WHERE id = 1"]);
        caught_up(freshet);
        for query in [binary, ci, ordered] {
            is_kept(&mut reader, direct, query, &format!("{:?}", server.flavor));
        }
        // A combining accent counts for nothing in one collation and not in another; general_ci has one weight for all characters of four bytes.
        run(direct, &["INSERT INTO t VALUES (3, 'Zoe\u{308}', 'x', 'z'), (4, 'Zoe😀', 'x', 'z')"]);
        caught_up(freshet);
        for _ in 0..3 {
            for query in [binary, ci, ordered] {
                assert_eq!(answer(&mut reader, query), answer(direct, query), "{:?} {query}", server.flavor);
            }
        }
        for (odd, why) in [
            ("SELECT id FROM t ORDER BY l", "ORDER BY a text"),
            ("SELECT id FROM t WHERE s > 'a'", "an order of texts in a condition"),
            ("SELECT MIN(l) FROM t", "MIN() and MAX() of a text"),
            ("SELECT a.id FROM t a JOIN t z ON a.s = z.b", "a comparison of two types, or of texts"),
        ] {
            let error =
                reader.query_drop(format!("CREATE DEEP CACHE FROM {odd}")).expect_err(odd).to_string();
            assert!(error.contains(why), "{odd}: {error}");
        }
    });
}

#[test]
fn what_is_executed_is_given_its_text() {
    let schema = "maintained_given_texts";
    let tables = [
        "CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, n INT)",
        "INSERT INTO t VALUES (1, 'paid', 5), (2, 'new', 7), (3, 'paid', 9)",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &["CREATE DEEP CACHE FROM SELECT id, s FROM t WHERE s = ?"]);
        let ask = |conn: &mut Conn, text: &str| -> Vec<(i32, String)> {
            let rows: Vec<Row> =
                conn.exec("SELECT id, s FROM t WHERE s = ?", (text,)).expect("it is answered");
            rows.into_iter().map(mysql::from_row).collect()
        };
        for text in ["paid", "NEW", "none", "né"] {
            assert_eq!(ask(&mut reader, text), ask(direct, text), "{text}");
        }
        run(direct, &["UPDATE t SET s = 'Paid' WHERE id = 2"]);
        caught_up(freshet);
        for text in ["paid", "Paid", "new"] {
            let found = from_memory(&mut reader, |reader| ask(reader, text));
            assert_eq!(found, Some(ask(direct, text)), "{:?} {text}", server.flavor);
        }
        assert!(is_from_memory(&mut reader));
    });
}

/// Chunks of a table are bounded by texts, in the server's order, and rows are found by them.
#[test]
fn a_table_whose_key_is_a_text_is_kept() {
    with_stages("maintained_keys", &[], |server, direct, freshet| {
        let mut reader = connect(freshet.target(), "maintained_keys");
        for collation in collations(server.flavor).into_iter().step_by(3) {
            let charset = collation.split('_').next().unwrap_or_default();
            let when = format!("{:?} {collation}", server.flavor);
            let key = format!("k VARCHAR(40) CHARACTER SET {charset} COLLATE {collation}");
            run(&mut reader, &["DROP ALL CACHES"]);
            run(
                direct,
                &[
                    "DROP TABLE IF EXISTS t",
                    &format!("CREATE TABLE t ({key}, part INT, g INT NOT NULL, PRIMARY KEY (k, part))"),
                    // 45,000 rows, which are three chunks.
                    r"INSERT INTO t WITH RECURSIVE c AS (SELECT 1 n UNION ALL SELECT n + 1 FROM c WHERE n < 900)
                      SELECT CONCAT(ELT(1 + n % 5, 'a', 'B', '''', '\\', ' z'), HEX(n * 7919 % 65521)), 1, n % 7
                      FROM (SELECT a.n + 900 * b.n n FROM c a JOIN c b ON b.n <= 50) x",
                ],
            );
            caught_up(freshet);
            let queries = [
                "SELECT g, COUNT(*) FROM t GROUP BY g",
                "SELECT g, part FROM t WHERE k = 'B2A' ORDER BY part",
            ];
            let writes = [
                "UPDATE t SET g = g + 1 WHERE k < 'b'",
                "UPDATE t SET k = CONCAT(k, 'x'), part = 2 WHERE g = 3",
                "DELETE FROM t WHERE k LIKE 'a1%'",
                r"INSERT INTO t VALUES ('b2a', 5, 1), ('B2A', 6, 3), ('\\', 5, 1), ('', 0, 2)",
                "UPDATE t SET k = UPPER(k) WHERE k = 'b2a'",
            ];
            all_are_kept((&mut reader, direct, freshet), &when, (&queries, &writes));
        }
    });
}

/// Those that know letters beyond ASCII.
const LETTERS: [&str; 3] = ["utf8mb4_general_ci", "utf8mb4_unicode_ci", "utf8mb4_unicode_520_ci"];

#[test]
fn letters_beyond_ascii_are_kept() {
    let schema = "maintained_letters";
    let queries = [
        "SELECT id, s FROM t WHERE s = 'malaga'",
        "SELECT id, s FROM t WHERE s = 'MÁLAGA' AND n > 0",
        "SELECT id FROM t WHERE s IN ('zurich', 'łódź', 'Αθηνα', '東京') OR s = 'москва'",
        "SELECT id FROM t WHERE s <> 'Šafařík'",
        "SELECT s, COUNT(*), SUM(n) FROM t GROUP BY s ORDER BY s",
        "SELECT DISTINCT s FROM t ORDER BY s DESC",
        "SELECT id, s FROM t ORDER BY s, id LIMIT 5",
        "SELECT MIN(s), MAX(s), COUNT(DISTINCT s) FROM t",
        "SELECT t.id, u.id FROM t JOIN u ON u.s = t.s",
        "SELECT s FROM t UNION SELECT s FROM u ORDER BY s",
    ];
    let writes = [
        "UPDATE t SET s = 'Šibenik' WHERE id = 2",
        "INSERT INTO t VALUES (20, 'Ölüdeniz', 3), (21, 'Zürich', 4), (22, '京都', 5), (23, 'Đà Nẵng', 6)",
        "UPDATE u SET s = 'Málaga' WHERE id = 1",
        "DELETE FROM t WHERE s = 'łódź'",
    ];
    with_stages(schema, &[], |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let own =
            if server.flavor == Flavor::MariaDb { "utf8mb4_uca1400_ai_ci" } else { "utf8mb4_0900_ai_ci" };
        // Older servers do not have it.
        let has_own = format!("SHOW COLLATION LIKE '{own}'");
        let has_own = answer(direct, &has_own).is_ok_and(|rows| !rows.is_empty());
        for collation in LETTERS.into_iter().chain(has_own.then_some(own)) {
            let of = format!("VARCHAR(40) CHARACTER SET utf8mb4 COLLATE {collation}");
            run(&mut reader, &["DROP ALL CACHES"]);
            run(
                direct,
                &[
                    "SET NAMES utf8mb4",
                    "DROP TABLE IF EXISTS t, u",
                    // Which way MySQL takes for DISTINCT decides what it says of the column.
                    &format!(
                        "CREATE TABLE t (id INT PRIMARY KEY, s {of}, n INT, KEY (s)) STATS_AUTO_RECALC = 0"
                    ),
                    &format!("CREATE TABLE u (id INT PRIMARY KEY, s {of})"),
                    "INSERT INTO t VALUES (1, 'Málaga', 1), (2, 'Zürich', 2), (3, 'Łódź', 3), (4, 'Москва', 4), (5, 'Αθήνα', 5), (6, '東京', 6), \
                     (7, 'Šafařík', 7), (8, 'Oslo', 8), (9, NULL, 9), (10, 'Málaga', 10), (11, 'Orléans', 11)",
                    "INSERT INTO u VALUES (1, 'Łódź'), (2, 'Šafařík'), (3, '東京')",
                ],
            );
            caught_up(freshet);
            run(&mut reader, &["SET NAMES utf8mb4"]);
            let when = format!("{:?} {collation}", server.flavor);
            all_are_kept((&mut reader, direct, freshet), &when, (&queries, &writes));
        }
    });
}

/// The servers cut what they look for in an index to as many characters as the index has: whether `strasse` finds `straße` hangs on it.
#[test]
fn letters_that_are_several_are_left_to_the_server() {
    let schema = "maintained_several_letters";
    let tables = [
        "CREATE TABLE w (id INT PRIMARY KEY, c VARCHAR(6) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL, KEY (c))",
        "CREATE TABLE v (id INT PRIMARY KEY, c VARCHAR(12) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL, KEY (c(2)))",
        "CREATE TABLE z (id INT PRIMARY KEY, c VARCHAR(6) CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci NOT NULL, KEY (c))",
        "INSERT INTO w VALUES (1, 'straße'), (2, 'x'), (3, 'ß')",
        "INSERT INTO z VALUES (1, 'straße'), (2, 'ss'), (3, 'ü')",
        "INSERT INTO v VALUES (1, 'strasse'), (2, 'aß'), (3, 'ass'), (4, 'ß'), (5, 'ss')",
    ];
    let queries = [
        "SELECT id, c FROM w WHERE c = 'strasse'",
        "SELECT id, c FROM v WHERE c = 'ass'",
        "SELECT id FROM v WHERE c IN ('aß', 'x') OR c = 'ss'",
        "SELECT v.id, w.id FROM v LEFT JOIN w ON v.c = w.c",
        "SELECT id FROM v WHERE NOT EXISTS (SELECT 1 FROM w WHERE w.c = v.c)",
    ];
    with_stages(schema, &tables, |server, direct, freshet| {
        run(direct, &["SET NAMES utf8mb4"]);
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &["SET NAMES utf8mb4"]);
        for query in queries {
            run(&mut reader, &[&format!("CREATE CACHE FROM {query}")]);
        }
        // Which rows the server finds is its optimizer's choice, which nothing else makes.
        eventually("none of them is maintained", || {
            for query in queries {
                answer(&mut reader, query).expect("it is answered");
            }
            let caches = answer(&mut reader, "SHOW CACHES").expect("they are listed");
            let are_refreshed =
                caches.len() == queries.len() && caches.iter().all(|cache| cache[3].starts_with("shallow"));
            are_refreshed.then_some(())
        });
        // What is shown, grouped and sorted is looked for in no index.
        let sorted_by = "SELECT c, COUNT(*) FROM z WHERE id <> 9 GROUP BY c ORDER BY c";
        run(&mut reader, &[&format!("CREATE DEEP CACHE FROM {sorted_by}")]);
        run(direct, &["INSERT INTO z VALUES (4, 'ß-'), (5, 'straße')"]);
        caught_up(freshet);
        is_kept(&mut reader, direct, sorted_by, &format!("{:?}", server.flavor));
    });
}
