//! Keys against real servers: whatever a server finds equal, within a range, or beginning with something, has to be so for
//! the keys too, those of the literals and those of the rows as the binlog has them. Needs FRESHET_TEST_MARIADB and
//! FRESHET_TEST_MYSQL; see `common`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../upstream/tests/common/mod.rs"]
mod common;

use std::collections::HashMap;
use std::fmt::Write;
use std::ops::RangeInclusive;
use std::sync::Arc;

use common::{MARIADB, MYSQL, connect, one, run, with_server};
use freshet_cache::{Freshness, Position};
use freshet_catalog::rows::{
    Key, KeyType, Values, Zone, key_of_assigned, key_of_datum, key_of_field, prefix, range,
};
use freshet_catalog::{Catalog, ColumnInfo, ForeignKeys, ReadKeys};
use freshet_protocol::binlog::{BinlogFlavor, Decoder, EventBody, TableMap, binlog_dump};
use freshet_sql::{Condition, Datum};
use freshet_upstream::control::quote;
use freshet_upstream::{Connection, ServerInfo, UpstreamConfig};

const SCHEMA: &str = "freshet_keys";

/// Questions that are asked in one statement.
const BATCH: usize = 40;

/// Numbers as they may be written.
const NUMBERS: &[&str] = &[
    "0",
    "1",
    "-1",
    "5",
    "05",
    "10",
    "127",
    "128",
    "-128",
    "-129",
    "200",
    "255",
    "256",
    "-0",
    "0.0",
    "-0.0",
    "5.0",
    "5.5",
    "5.50",
    "-5.5",
    "5.49",
    "4.999",
    "5.001",
    "5.005",
    ".5",
    "5.",
    "0.10",
    "0.1",
    "0.01",
    "1.005",
    "99999",
    "32767",
    "32768",
    "65535",
    "65536",
    "8388607",
    "16777215",
    "16777216",
    "2147483647",
    "2147483648",
    "-2147483648",
    "4294967295",
    "4294967296",
    "9007199254740991",
    "9007199254740992",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678",
    "123456789012.345678",
    "999999999999999.9",
    "123456789012345.678",
    "99999999.99",
    "99999999.995",
    "100000000",
    "12345678901234567890.1234567890",
    "12345678901234567890.1234567891",
    "0.1000000000000000001",
    "100000000000000000000000000000000000000000",
    "20240229",
    "20240301",
    "20240229123456",
    "2024",
    "99",
];

/// Texts as they may be written or stored.
const TEXTS: &[&str] = &[
    "",
    " ",
    "  ",
    "a",
    "A",
    "a ",
    "A  ",
    " a",
    "a b",
    "a  b",
    "ab",
    "AB",
    "Ab",
    "abc",
    "aB c",
    "ab d",
    "b",
    "ss",
    "SS",
    "ae",
    "oe",
    "ij",
    "i",
    "I",
    "k",
    "K",
    "s",
    "S",
    "a-b",
    "ab-",
    "a.b",
    "a_b",
    "a%b",
    "co-op",
    "coop",
    "o'neil",
    "z",
    "Z",
    "[",
    "]",
    "{",
    "}",
    "|",
    "~",
    "^",
    "`",
    "@",
    "_",
    "-",
    "+",
    "05",
    " 5",
    "5 ",
    "+5",
    "5e0",
    "5.0e0",
    "1e1",
    "0x5",
    "5a",
    "5 a",
    "a5",
    "true",
    "NULL",
    "abcdefghijklmnopqrst",
    "abcdefghijklmnopq",
    "abcdefghijklmnop",
    "abcdefghijklmno ",
    "ABCDEFGHIJKLMNOP",
    "abcdefghijklmnopqrstuvwxyzabcdefghij",
];

/// Dates as they may be written or stored.
const DATES: &[&str] = &[
    "2024-02-29",
    "2024-03-01",
    "2024-2-29",
    "24-02-29",
    "20240229",
    "2024/02/29",
    "2024-02-29 ",
    " 2024-02-29",
    "2023-02-29",
    "2024-02-29 00:00:00",
    "2024-02-29 12:34:56",
    "2024-02-29 12:34:56.0",
    "2024-02-29 12:34:56.5",
    "2024-02-29 12:34:56.500",
    "2024-02-29 12:34:56.500000",
    "2024-02-29 12:34:56.123456",
    "2024-02-29 12:34:56.1234567",
    "2024-02-29 12:34:57",
    "2024-02-29 23:59:59",
    "2024-02-29 23:59:59.999999",
    "2024-02-29 23:59:59.5",
    "2024-02-29T12:34:56",
    "2024-02-29 12:34",
    "2024-02-29 24:00:00",
    "2024-02-29 1:2:3",
    "0000-00-00",
    "0000-00-00 00:00:00",
    "2024-00-00",
    "2024-02-00",
    "0001-01-01",
    "0999-12-31",
    "1000-01-01",
    "9999-12-31",
    "9999-12-31 23:59:59",
    "9999-12-31 23:59:59.999999",
    "10000-01-01",
    "1970-01-01",
    "1970-01-01 00:00:00",
    "1970-01-01 00:00:01",
    "1970-01-01 05:30:01",
    "1970-01-01 12:00:00",
    "1970-01-02 12:00:00",
    "1970-01-03",
    "1970-01-04 00:00:00",
    "2038-01-17 03:14:07",
    "2038-01-18 03:14:07",
    "2038-01-18 17:00:00",
    "2038-01-19 03:14:07",
    "2038-01-19 03:14:07.999999",
    "2038-01-19 03:14:08",
    "2038-01-19 08:44:07",
    "2038-01-19 08:44:08",
    "2038-01-20",
    "2106-02-07 06:28:15",
    "2106-02-07 06:28:16",
    "2024-02-29 07:04:56",
    "2024-02-29 12:34:55",
    "2024-02-29 12:34:56+05:30",
    "2024-02-29 12:34:56-02:00",
    "2024-03-31 02:30:00",
    "2024-10-27 02:30:00",
    "2024-02-29 12:34:56+00:00",
    "2024-02-29 12:34:56 ",
    "2024-12-31",
    "2025-01-01",
    "1900-02-28",
    "1900-02-29",
    "1900-03-01",
    "12:34:56",
    "2024-02-29 12:34:56.",
    "2024-02-29 00:00:00.000000",
    "2024-02-29 00:00:01",
    "-12:34:56",
    "00:00:00",
    "-00:00:00",
    "00:00:00.5",
    "12:34:56.5",
    "12:34:56.500",
    "12:34:56.1234567",
    "123:00:00",
    "838:59:59",
    "838:59:59.5",
    "839:00:00",
    "1:2:3",
    "12:34",
    "12:60:00",
    "123456",
    "2 12:34:56",
    "1901",
    "2155",
    "2156",
    "1900",
    "0000",
    "a,b",
    "b,a",
    "a,a",
    "A,b,AB",
    "a,5",
    "co-op ",
    "00112233-4455-1677-8899-aabbccddeeff",
    "00112233-4455-1677-8899-AABBCCDDEEFF",
    "001122334455167788 99aabbccddeeff",
    "00112233445516778899aabbccddeeff",
    "{00112233-4455-1677-8899-aabbccddeeff}",
    "00112233-4455-4677-8899-aabbccddeeff",
    "00112233-4455-7677-8899-aabbccddeeff",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
    "00112233-4455-7677-8899-aabbccddee00",
    "10.0.0.1",
    "10.0.0.0",
    "0.0.0.0",
    "010.0.0.1",
    "255.255.255.255",
    "::1",
    "::",
    "0:0:0:0:0:0:0:1",
    "::ffff:10.0.0.1",
    "::10.0.0.1",
    "fe80::1",
    "FE80::0001",
    "fe80::",
];

/// Beyond printable ASCII. Those that a statement's string is understood with are asked about, too.
const STORED: &[&str] = &[
    "á",
    "Á",
    "ä",
    "ß",
    "æ",
    "ﬁ",
    "fi",
    "İ",
    "ı",
    "K",
    "Å",
    "Å",
    "a\u{301}",
    "ａ",
    "a\u{ad}b",
    "a\u{200b}",
    "a\u{0}",
    "a\t",
    "a\n",
    "\t5",
    "5\n",
    "\u{1}a",
    "\u{7f}a",
    "a\u{a0}",
    "\u{feff}a",
    "你",
    "a你",
    "a\\b",
    "€",
    "ſ",
    "é",
    "É ",
    "ö",
    "Ø",
    "œ",
    "Œ",
    "oe",
    "Łódź",
    "lodz",
    "я",
    "Я",
    "й",
    "и",
    "Ё",
    "е",
    "λ",
    "Σ",
    "ς",
    "漢字",
    "漢子",
    "한글",
    "ハ",
    "は",
    "ぱ",
    "\u{1F600}",
    "\u{1F601}",
    "þ",
    "ð",
];

/// Strings of bytes as they may be written, and the words for two numbers.
const OTHERS: &[(&str, Bytes)] = &[
    ("X'61'", Bytes::Are(b"a")),
    ("x'6162'", Bytes::Are(b"ab")),
    ("0x6120", Bytes::Are(b"a ")),
    ("X'6100'", Bytes::Are(b"a\0")),
    ("0x00", Bytes::Are(b"\0")),
    ("X'05'", Bytes::Are(b"\x05")),
    ("X'fe0061ff'", Bytes::Are(b"\xfe\0a\xff")),
    ("_binary'ab'", Bytes::Are(b"ab")),
    ("_binary'\\0a'", Bytes::Are(b"\0a")),
    ("_binary X'4142'", Bytes::Are(b"AB")),
    ("TRUE", Bytes::Number(1)),
    ("FALSE", Bytes::Number(0)),
];

/// What is written so.
enum Bytes {
    Are(&'static [u8]),
    Number(i128),
}

/// One written value.
struct Literal {
    sql: String,
    datum: Datum,
}

/// One table with one type.
struct Case {
    column_type: String,
    /// The session's time zone.
    zone: &'static str,
    key: KeyType,
    rows: HashMap<u32, Option<Key>>,
}

impl Case {
    fn zone(&self) -> Zone {
        Zone::of_name(self.zone)
    }

    fn values(&self) -> Values<'static> {
        Values { zone: self.zone(), ..Values::default() }
    }
}

#[derive(Debug, Default)]
struct Counted {
    cases: usize,
    questions: usize,
    found: usize,
    found_with_keys: usize,
    wrong: usize,
}

fn literals() -> Vec<Literal> {
    let numbers = NUMBERS.iter().map(|text| {
        let datum = if text.contains('.') {
            Datum::Decimal((*text).to_owned())
        } else {
            text.parse().map_or(Datum::Other, Datum::Int)
        };
        Literal { sql: (*text).to_owned(), datum }
    });
    let single = (b' '..=b'~').filter(|byte| *byte != b'\\').map(|byte| char::from(byte).to_string());
    let texts = [NUMBERS, TEXTS, DATES].concat().into_iter().map(str::to_owned).chain(single);
    let texts = texts.map(|text| Literal { sql: quote(&text), datum: Datum::Text(text.into_bytes()) });
    let is_understood = |text: &&&str| {
        let mut chars = text.chars();
        chars.all(|char| !char.is_control() && char != '\\' && char.len_utf8() < 4)
    };
    let beyond = STORED.iter().filter(is_understood).map(|text| (*text).to_owned());
    let beyond = beyond.map(|text| Literal { sql: quote(&text), datum: Datum::Text(text.into_bytes()) });
    let others = OTHERS.iter().map(|(sql, what)| {
        let datum = match what {
            Bytes::Are(bytes) => Datum::Bytes(bytes.to_vec()),
            Bytes::Number(number) => Datum::Int(*number),
        };
        Literal { sql: (*sql).to_owned(), datum }
    });
    numbers.chain(texts).chain(beyond).chain(others).collect()
}

fn stored() -> Vec<String> {
    let mut all: Vec<String> = literals().into_iter().map(|literal| literal.sql).collect();
    all.extend(STORED.iter().map(|text| quote(text)));
    all.push("NULL".to_owned());
    all
}

const OTHER_TYPES: &[&str] = &[
    "TINYINT",
    "TINYINT UNSIGNED",
    "SMALLINT",
    "SMALLINT UNSIGNED",
    "MEDIUMINT",
    "MEDIUMINT UNSIGNED",
    "INT",
    "INT UNSIGNED",
    "BIGINT",
    "BIGINT UNSIGNED",
    "INT(5) ZEROFILL",
    "DECIMAL(5,0)",
    "DECIMAL(10,2)",
    "DECIMAL(10,2) UNSIGNED",
    "DECIMAL(15,3)",
    "DECIMAL(16,4)",
    "DECIMAL(18,6)",
    "DECIMAL(18,18)",
    "DECIMAL(30,10)",
    "DECIMAL(65,30)",
    "BINARY(5)",
    "VARBINARY(20)",
    "BLOB",
    "TINYBLOB",
    "DATE",
    "DATETIME",
    "DATETIME(3)",
    "DATETIME(6)",
    "CHAR(30) CHARACTER SET utf8mb4",
    "TEXT CHARACTER SET utf8mb4",
    "TINYTEXT CHARACTER SET latin1",
    "VARCHAR(3) CHARACTER SET utf8mb4",
    "CHAR(3) CHARACTER SET latin1",
    "VARCHAR(300) CHARACTER SET ascii",
    "TIME",
    "TIME(3)",
    "TIME(6)",
    "YEAR",
    "BIT(1)",
    "BIT(5)",
    "BIT(64)",
    "ENUM('a','b','ab','a b','1','5','abc') CHARACTER SET utf8mb4",
    "ENUM('z','A','co-op','','null','true') CHARACTER SET latin1 COLLATE latin1_bin",
    "ENUM('a','A','b') CHARACTER SET utf8mb4 COLLATE utf8mb4_bin",
    "SET('a','b','ab','5','S') CHARACTER SET utf8mb4",
];

/// Time zones in which TIMESTAMP is tried.
const ZONES: [&str; 4] = ["+00:00", "+05:30", "-11:45", "+13:00"];

/// Every collation in which texts have keys is tried.
async fn types(connection: &mut Connection, is_mariadb: bool) -> Vec<String> {
    let mut types: Vec<String> = OTHER_TYPES.iter().map(|text| (*text).to_owned()).collect();
    if is_mariadb {
        types.push("VARCHAR(200) COMPRESSED CHARACTER SET utf8mb4".to_owned());
        types.push("BLOB COMPRESSED".to_owned());
        types.push("JSON".to_owned());
        types.push("UUID".to_owned());
        types.push("INET4".to_owned());
        types.push("INET6".to_owned());
    }
    let source = if is_mariadb {
        "SELECT FULL_COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY"
    } else {
        "SELECT COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATION_CHARACTER_SET_APPLICABILITY"
    };
    let rows = connection.query(source).await.or(connection
        .query("SELECT COLLATION_NAME, CHARACTER_SET_NAME FROM information_schema.COLLATIONS")
        .await);
    for row in rows.unwrap().texts() {
        let known = ["utf8mb4", "utf8mb3", "utf8", "latin1", "ascii"].contains(&row[1]);
        if known {
            types.push(format!("VARCHAR(40) CHARACTER SET {} COLLATE {}", row[1], row[0]));
        }
    }
    types
}

async fn columns(connection: &mut Connection, server: &ServerInfo, name: &str) -> Arc<[ColumnInfo]> {
    let freshness = Arc::new(Freshness::new());
    freshness.publish_applied(Position::new(10));
    freshness.publish_visible(Position::new(10));
    let catalog = Catalog::new(freshness);
    catalog.begin(server);
    let (ticket, _) = catalog.foreign_keys_wanted().unwrap();
    catalog.accept_foreign_keys(ticket, ReadKeys::All(ForeignKeys::default()), Position::new(10));
    let name = (SCHEMA.to_owned(), name.to_owned());
    let info = catalog.load(connection, server, name, None).await.unwrap();
    Arc::clone(&info.columns)
}

/// Makes a table with everything that can be stored in it; `None` if it would have no keys.
async fn table(
    connection: &mut Connection,
    server: &ServerInfo,
    index: usize,
    (column_type, zone): (&str, &'static str),
) -> Option<Case> {
    let name = format!("k{index}");
    run(connection, &[&format!("SET time_zone = '{zone}'")]).await;
    let is_long =
        column_type.contains("TEXT") || column_type.contains("BLOB") || column_type.contains("JSON");
    let index = if is_long { "(20)" } else { "" };
    let index =
        if column_type.contains("COMPRESSED") { String::new() } else { format!(", INDEX (d{index})") };
    let sql = format!(
        "CREATE TABLE {name} (id INT PRIMARY KEY, c {column_type} NULL, d {column_type} NULL{index})"
    );
    connection.query(&sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    let columns = columns(connection, server, &name).await;
    assert_eq!(columns.len(), 3, "{column_type}");
    if columns[1].key == KeyType::None {
        connection.query(&format!("DROP TABLE {name}")).await.unwrap();
        return None;
    }
    for (id, value) in stored().iter().enumerate() {
        // What it cannot hold at all is left out.
        drop(connection.query(&format!("INSERT IGNORE INTO {name} VALUES ({id}, {value}, {value})")).await);
    }
    Some(Case {
        column_type: column_type.to_owned(),
        zone,
        key: columns[1].key.clone(),
        rows: HashMap::new(),
    })
}

/// Reads the rows from the binlog, from a position to its present end.
async fn read_rows(
    config: &UpstreamConfig,
    is_mariadb: bool,
    from: (String, u32),
    cases: &mut HashMap<String, Case>,
) {
    const NON_BLOCKING: u16 = 1;
    let mut stream = connect(config).await;
    run(&mut stream, &["SET @master_binlog_checksum = @@GLOBAL.binlog_checksum, @source_binlog_checksum = @@GLOBAL.binlog_checksum"])
        .await;
    if is_mariadb {
        run(&mut stream, &["SET @mariadb_slave_capability = 4"]).await;
    }
    stream.send_command(&binlog_dump(from.0.as_bytes(), from.1, 4_321, NON_BLOCKING)).await.unwrap();
    let mut decoder = Decoder::new(if is_mariadb { BinlogFlavor::MariaDb } else { BinlogFlavor::MySql });
    let mut maps: HashMap<u64, TableMap> = HashMap::new();
    loop {
        let packet = stream.read_packet(1 << 30).await.unwrap().payload;
        if packet[0] != 0 {
            assert_eq!(packet[0], 0xFE, "{}", String::from_utf8_lossy(&packet));
            return;
        }
        match decoder.event(&packet[1..]).unwrap().body {
            EventBody::TableMap(map) => drop(maps.insert(map.id, map)),
            EventBody::Rows(rows) => {
                let map = &maps[&rows.table_id];
                let table = String::from_utf8(map.table.clone()).unwrap();
                let Some(case) = cases.get_mut(&table) else { continue };
                for change in rows.rows(map).unwrap() {
                    let after = change.unwrap().after.unwrap();
                    let integer = KeyType::Integer { unsigned: true, bytes: 4 };
                    let Some(Key::Ordered(id)) = key_of_field(&integer, after.field(0).unwrap()) else {
                        panic!()
                    };
                    let key = key_of_field(&case.key, after.field(1).unwrap());
                    assert_eq!(key, key_of_field(&case.key, after.field(2).unwrap()));
                    case.rows.insert(id as u32, key);
                }
            }
            _ => {}
        }
    }
}

/// A question: what it asks and what every row that is found has to satisfy.
struct Question {
    condition: String,
    says: Says,
}

enum Says {
    Undecided,
    Point(Key),
    Range(RangeInclusive<u64>),
    Prefix(Vec<u8>),
}

impl Says {
    fn allows(&self, key: &Key) -> bool {
        match (self, key) {
            (Self::Undecided, _) => true,
            (Self::Point(point), key) => point == key,
            (Self::Range(range), Key::Ordered(key)) => range.contains(key),
            (Self::Prefix(prefix), Key::Text(text)) => text.starts_with(prefix),
            _ => false,
        }
    }
}

/// Those that are worth asking about a type: for one more collation, texts will do.
fn literals_for(case: &Case) -> Vec<Literal> {
    let mut literals = literals();
    if case.column_type.starts_with("VARCHAR(40)") {
        let is_number = |text: &[u8]| text.first().is_some_and(u8::is_ascii_digit) && text.len() > 1;
        literals.retain(|literal| matches!(&literal.datum, Datum::Text(text) if !is_number(text)));
    }
    literals
}

/// What a literal is where rows are compared with several, and another of its kind.
fn in_row(datum: &Datum) -> Option<(Datum, &'static str)> {
    match datum {
        Datum::Int(value) => {
            Some((Datum::InRow(i64::try_from(*value).ok().filter(|value| *value >= 0)?), "77"))
        }
        Datum::Decimal(digits) if digits.starts_with('-') || digits.len() > 18 => None,
        Datum::Decimal(_) => Some((datum.clone(), "77.25")),
        Datum::Text(text) => (text.first() != Some(&b'-')).then(|| (datum.clone(), "'zz'")),
        _ => None,
    }
}

/// Patterns that begin with a text, and how they are asked for.
fn patterns(datum: &Datum) -> Vec<(&'static str, String)> {
    let Datum::Text(text) = datum else { return Vec::new() };
    let text = String::from_utf8(text.clone()).unwrap();
    vec![("LIKE", format!("{text}%")), ("LIKE", format!("{text}_%b")), ("LIKE BINARY", format!("{text}%"))]
}

fn questions(case: &Case) -> Vec<Question> {
    let literals = literals_for(case);
    let mut questions = Vec::new();
    for column in ["c", "d"] {
        for condition in [format!("NOT {column}"), format!("{column} IS FALSE")] {
            let zero = key_of_datum(&case.key, &Datum::Int(0), case.zone());
            questions.push(Question { condition, says: zero.map_or(Says::Undecided, Says::Point) });
        }
        for literal in &literals {
            let (sql, datum) = (&literal.sql, &literal.datum);
            let mut ask = |condition: String, says| questions.push(Question { condition, says });
            let point = || key_of_datum(&case.key, datum, case.zone()).map_or(Says::Undecided, Says::Point);
            ask(format!("{column} = {sql}"), point());
            if column == "d" {
                ask(format!("{column} <=> {sql}"), point());
                ask(format!("{column} IN ({sql})"), point());
                ask(format!("({column}, 1) = ({sql}, 1)"), point());
                if let Some((datum, other)) = in_row(datum) {
                    let says =
                        key_of_datum(&case.key, &datum, case.zone()).map_or(Says::Undecided, Says::Point);
                    ask(format!("(1, {column}) IN ((1, {sql}), (2, {other}))"), says);
                }
            }
            let between = |low: Option<(Datum, bool)>, high: Option<(Datum, bool)>| {
                range(&case.key, &Condition::Between { low, high }, case.values())
                    .map_or(Says::Undecided, Says::Range)
            };
            let end = |is_included| Some((datum.clone(), is_included));
            ask(format!("{column} >= {sql}"), between(end(true), None));
            ask(format!("{column} > {sql}"), between(end(false), None));
            ask(format!("{column} <= {sql}"), between(None, end(true)));
            ask(format!("{column} < {sql}"), between(None, end(false)));
            ask(format!("{column} BETWEEN {sql} AND {sql}"), between(end(true), end(true)));
            // An index may be read for the first of them.
            let is_indexed = column == "d";
            for (operator, pattern) in
                patterns(datum).into_iter().filter(|(operator, _)| (*operator == "LIKE") == is_indexed)
            {
                let condition = Condition::Like(Datum::Text(pattern.clone().into_bytes()));
                let says = prefix(&case.key, &condition, Values::default());
                let says = says.map_or(Says::Undecided, Says::Prefix);
                ask(format!("{column} {operator} {}", quote(&pattern)), says);
            }
        }
    }
    // What is not decided has nothing to be wrong about.
    questions.retain(|question| !matches!(question.says, Says::Undecided));
    questions
}

async fn ask_all(connection: &mut Connection, name: &str, case: &Case, counted: &mut Counted) {
    let questions = questions(case);
    counted.questions += questions.len();
    for batch in questions.chunks(BATCH) {
        let mut sql = String::new();
        for (index, question) in batch.iter().enumerate() {
            let union = if index == 0 { "" } else { " UNION ALL " };
            write!(sql, "{union}SELECT {index}, id FROM {name} WHERE {}", question.condition).unwrap();
        }
        match connection.query(&sql).await {
            Ok(rows) => {
                for row in rows.texts() {
                    let index: usize = row[0].parse().unwrap();
                    check(case, &batch[index], row[1].parse().unwrap(), counted);
                }
            }
            // One of them is refused: one by one then.
            Err(_) => {
                for question in batch {
                    let sql = format!("SELECT id FROM {name} WHERE {}", question.condition);
                    let Ok(rows) = connection.query(&sql).await else { continue };
                    for row in rows.texts() {
                        check(case, question, row[0].parse().unwrap(), counted);
                    }
                }
            }
        }
    }
    ask_with_parameters(connection, name, case, counted).await;
    // What equality carries from one column to another.
    let join = format!("SELECT a.id, b.id FROM {name} a JOIN {name} b ON a.c = b.c");
    for row in connection.query(&join).await.unwrap().texts() {
        let key = |id: &str| case.rows[&id.parse::<u32>().unwrap()].clone();
        counted.found += 1;
        if let (Some(one), Some(other)) = (key(row[0]), key(row[1]))
            && one != other
        {
            counted.wrong += 1;
            println!("{}: rows {} and {} are equal: {one:?} {other:?}", case.column_type, row[0], row[1]);
        }
    }
}

/// The same literals as values of parameters.
async fn ask_with_parameters(connection: &mut Connection, name: &str, case: &Case, counted: &mut Counted) {
    for column in ["d"] {
        run(connection, &[&format!("PREPARE p FROM 'SELECT id FROM {name} WHERE {column} = ?'")]).await;
        for literal in literals_for(case) {
            let Some(key) = key_of_datum(&case.key, &literal.datum, case.zone()) else { continue };
            run(connection, &[&format!("SET @p = {}", literal.sql)]).await;
            let condition = format!("{column} = ?, which is {}", literal.sql);
            let question = Question { condition, says: Says::Point(key) };
            counted.questions += 1;
            let Ok(rows) = connection.query("EXECUTE p USING @p").await else { continue };
            for row in rows.texts() {
                check(case, &question, row[0].parse().unwrap(), counted);
            }
        }
    }
}

fn check(case: &Case, question: &Question, id: u32, counted: &mut Counted) {
    counted.found += 1;
    let Some(key) = case.rows.get(&id).expect("every row is in the binlog") else { return };
    counted.found_with_keys += 1;
    if !question.says.allows(key) {
        counted.wrong += 1;
        println!("{}: {} finds {} = {key:?}", case.column_type, question.condition, stored()[id as usize]);
    }
}

/// What is assigned has the key that was foretold, if one was.
fn check_assigned(case: &Case, counted: &mut Counted) {
    for (id, literal) in literals().iter().enumerate() {
        let Some(foretold) = key_of_assigned(&case.key, &literal.datum, case.zone()) else { continue };
        // Without a row it was refused.
        let Some(key) = case.rows.get(&u32::try_from(id).unwrap()) else { continue };
        counted.questions += 1;
        if key.as_ref() != Some(&foretold) {
            counted.wrong += 1;
            println!("{}: {} is stored as {key:?} and not {foretold:?}", case.column_type, literal.sql);
        }
    }
}

async fn keys(config: UpstreamConfig) {
    let mut connection = connect(&config).await;
    let server = ServerInfo::read(&mut connection).await.unwrap();
    let is_mariadb = server.is_mariadb();
    run(
        &mut connection,
        &[
            &format!("DROP DATABASE IF EXISTS {SCHEMA}"),
            &format!("CREATE DATABASE {SCHEMA} CHARACTER SET utf8mb4"),
            &format!("USE {SCHEMA}"),
            "SET sql_mode = 'ALLOW_INVALID_DATES'",
            "FLUSH BINARY LOGS",
        ],
    )
    .await;
    let has_new_words = one(&mut connection, "SELECT VERSION()").await.starts_with('9');
    let end = if has_new_words { "SHOW BINARY LOG STATUS" } else { "SHOW MASTER STATUS" };
    let end = connection.query(end).await.unwrap();
    let from = (end.first("File").unwrap().to_owned(), end.first("Position").unwrap().parse().unwrap());
    let mut cases = HashMap::new();
    let types = types(&mut connection, is_mariadb).await;
    let types = types.iter().map(|column_type| (column_type.as_str(), "+00:00"));
    let of_moments = ["TIMESTAMP", "TIMESTAMP(3)", "TIMESTAMP(6)"];
    let moments = ZONES.iter().flat_map(|zone| of_moments.map(|column_type| (column_type, *zone)));
    for (index, column) in types.chain(moments).enumerate() {
        if let Some(case) = table(&mut connection, &server, index, column).await {
            cases.insert(format!("k{index}"), case);
        }
    }
    read_rows(&config, is_mariadb, from, &mut cases).await;
    let mut counted = Counted::default();
    for (name, case) in &cases {
        assert!(!case.rows.is_empty(), "{}", case.column_type);
        counted.cases += 1;
        run(&mut connection, &[&format!("SET time_zone = '{}'", case.zone)]).await;
        ask_all(&mut connection, name, case, &mut counted).await;
        check_assigned(case, &mut counted);
    }
    println!("{counted:?}");
    assert_eq!(counted.wrong, 0);
    // That the test is not empty.
    assert!(counted.cases > 50 && counted.found_with_keys > 100_000, "{counted:?}");
    run(&mut connection, &[&format!("DROP DATABASE {SCHEMA}")]).await;
}

#[test]
fn mariadb_keys() {
    with_server(MARIADB, keys);
}

#[test]
fn mysql_keys() {
    with_server(MYSQL, keys);
}
