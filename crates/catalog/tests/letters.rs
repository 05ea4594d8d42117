//! Letters beyond ASCII against real servers: texts that a collation finds equal have the same key. Needs FRESHET_TEST_MARIADB and
//! FRESHET_TEST_MYSQL; see `common`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../upstream/tests/common/mod.rs"]
mod common;

use common::{MARIADB, MYSQL, connect, one, run, with_server};
use freshet_catalog::rows::{Key, KeyType, Labels, key_of_field};
use freshet_protocol::binlog::{Field, Value};
use freshet_upstream::{Connection, ServerInfo, UpstreamConfig};

const SCHEMA: &str = "freshet_letters";

/// Rows of one INSERT.
const BATCH: usize = 4_000;

/// Characters of which every pair is tried: what has weights of several characters may be equal to such a pair.
fn paired() -> Vec<char> {
    let ranges =
        [(' ', '@'), ('[', '~'), ('\u{DF}', '\u{FF}'), ('\u{386}', '\u{390}'), ('α', 'ώ'), ('а', 'џ')];
    let some = "ĀāćđęħĩıĳĶłńŋőŒœřŝſšţŧůŵŷŽЁЙҐ一丁七丈漢字가각갂나날닐は\u{3070}ぱパょヨンー".chars();
    ranges.into_iter().flat_map(|(first, last)| first..=last).chain(some).collect()
}

/// Every character of the first plane, every such pair, and both orders of three.
fn texts() -> Vec<String> {
    let singles = (0x20..=0xFFFFu32).filter_map(char::from_u32).map(String::from);
    let paired = paired();
    let pairs = paired.iter().flat_map(|one| paired.iter().map(move |other| [*one, *other].iter().collect()));
    let triples = ["fﬁ", "sßs", "aeæ", "æa", "oœe", "ijĳ", "nŋg"].map(str::to_owned);
    singles.chain(pairs).chain(triples).collect()
}

fn key(collation: &str, text: &str) -> Option<Vec<u8>> {
    let key_type = KeyType::Text { collation: collation.into(), chars: 10 };
    match key_of_field(&key_type, Field::Value(Value::Bytes(text.as_bytes())))? {
        Key::Text(key) => Some(key),
        _ => None,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Returns the collations in which letters beyond ASCII have keys that are coarser than bytes, with their character sets.
async fn collations(connection: &mut Connection, is_mariadb: bool) -> Vec<(String, String)> {
    let name = if is_mariadb { "FULL_COLLATION_NAME" } else { "COLLATION_NAME" };
    let sql = format!(
        "SELECT {name}, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY"
    );
    let rows = connection.query(&sql).await.unwrap();
    let all = rows.texts().map(|row| (row[0].to_owned(), row[1].to_owned()));
    let is_plain = |name: &str| Labels::parse("enum('a')", name).is_some();
    all.filter(|(name, _)| is_plain(name) && !name.ends_with("_bin") && key(name, "é").is_some()).collect()
}

async fn letters(config: UpstreamConfig) {
    let mut connection = connect(&config).await;
    let server = ServerInfo::read(&mut connection).await.unwrap();
    run(
        &mut connection,
        &[
            &format!("DROP DATABASE IF EXISTS {SCHEMA}"),
            &format!("CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4"),
            &format!("USE {SCHEMA}"),
            "CREATE TABLE texts (s VARCHAR(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin, k VARBINARY(40))",
        ],
    )
    .await;
    let collations = collations(&mut connection, server.is_mariadb()).await;
    let (coarse, _) = &collations[0];
    let known: Vec<(String, Vec<u8>)> =
        texts().into_iter().filter_map(|text| key(coarse, &text).map(|key| (text, key))).collect();
    for batch in known.chunks(BATCH) {
        let rows: Vec<String> = batch
            .iter()
            .map(|(text, key)| format!("(x'{}',x'{}')", hex(text.as_bytes()), hex(key)))
            .collect();
        run(&mut connection, &[&format!("INSERT INTO texts VALUES {}", rows.join(","))]).await;
    }
    let mut groups_least = usize::MAX;
    for (collation, charset) in &collations {
        let group = format!("FROM texts GROUP BY CONVERT(s USING {charset}) COLLATE {collation}");
        let sql = format!(
            "SELECT MIN(s), MAX(s), HEX(MIN(k)), HEX(MAX(k)) {group} HAVING MIN(k) <> MAX(k) LIMIT 40"
        );
        let wrong = connection.query(&sql).await.unwrap();
        let wrong: Vec<String> = wrong.texts().map(|row| row.join(" ")).collect();
        assert!(wrong.is_empty(), "{collation}: {}", wrong.join("\n"));
        let count = one(&mut connection, &format!("SELECT COUNT(*) FROM (SELECT 1 {group}) g")).await;
        groups_least = groups_least.min(count.parse().unwrap());
    }
    println!("{} texts in {} collations, {groups_least} classes at least", known.len(), collations.len());
    // That the test is not empty.
    assert!(known.len() > 60_000 && collations.len() >= 6, "{} {collations:?}", known.len());
    run(&mut connection, &[&format!("DROP DATABASE {SCHEMA}")]).await;
}

#[test]
fn mariadb_letters() {
    with_server(MARIADB, letters);
}

#[test]
fn mysql_letters() {
    with_server(MYSQL, letters);
}
