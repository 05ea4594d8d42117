//! What is said of texts beyond ASCII against what real servers say: which are equal, and in which order they come.

use std::collections::HashSet;

use freshet_sql::Collation;
use freshet_tests::cached::{fresh_schema, run};
use freshet_tests::server;
use mysql::Conn;
use mysql::prelude::Queryable as _;

const SCHEMA: &str = "collations";

const CHARSETS: [&str; 2] = ["utf8mb4", "utf8mb3"];
/// Collations in which texts beyond ASCII are known.
const RULES: [&str; 9] = [
    "general_ci",
    "general_nopad_ci",
    "unicode_ci",
    "unicode_nopad_ci",
    "unicode_520_ci",
    "unicode_520_nopad_ci",
    "0900_ai_ci",
    "uca1400_ai_ci",
    "uca1400_nopad_ai_ci",
];
/// So many collations of these each server has at least.
const COLLATIONS_MIN: usize = 7;

/// Every character of three bytes or less, known or not.
const ALL: std::ops::RangeInclusive<char> = '\0'..='\u{FFFF}';
/// From here on, characters are known by a rule. There are too many for pairs of each.
const MANY: char = '\u{4E00}';
/// So many characters are known at least, below these and among them.
const FEW_MIN: usize = 1_400;
const MANY_MIN: usize = 32_000;

const RANDOM_TEXTS: usize = 600;
const SEED: u64 = 20_140_521;
/// Rows of one INSERT.
const BATCH: usize = 4_000;

/// Marsaglia's xorshift: the same numbers in every run.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(bound).unwrap()).unwrap()
    }
}

fn equal(collation: Collation, text: &str) -> Option<Vec<u8>> {
    collation.equal(text.as_bytes()).map(std::borrow::Cow::into_owned)
}

/// All characters that are known; pairs, and random texts of one to six of them, and of each what stands for its equals.
fn texts(collation: Collation) -> Vec<String> {
    let is_known = |char: &char| equal(collation, char.encode_utf8(&mut [0; 4])).is_some();
    let known: Vec<char> = ALL.filter(is_known).collect();
    let few: Vec<char> = known.iter().copied().filter(|char| *char < MANY).collect();
    assert!(few.len() >= FEW_MIN && known.len() - few.len() >= MANY_MIN, "{} {}", few.len(), known.len());
    let mut texts: Vec<String> = known.iter().copied().map(String::from).collect();
    let beside =
        |char: &char| [format!("{char}a"), format!("a{char}"), format!("l{char}"), format!("{char} ")];
    texts.extend(few.iter().flat_map(beside));
    let mut random = Random(SEED);
    for _ in 0..RANDOM_TEXTS {
        let of = if random.below(2) == 0 { &few } else { &known };
        let len = 1 + random.below(6);
        let text: String = (0..len).map(|_| of[random.below(of.len())]).collect();
        texts.push(text.clone() + &" ".repeat(random.below(3)));
        texts.push(text.to_uppercase());
    }
    let equals: Vec<Vec<u8>> = texts.iter().filter_map(|text| equal(collation, text)).collect();
    texts.extend(equals.into_iter().map(|equal| String::from_utf8(equal).unwrap()));
    // The capitals of what is known need not be known.
    texts.retain(|text| equal(collation, text).is_some());
    let distinct: HashSet<String> = texts.into_iter().collect();
    distinct.into_iter().collect()
}

fn insert(conn: &mut Conn, name: &str, texts: &[String]) {
    let charset = name.split('_').next().unwrap_or_default();
    let create = format!(
        "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, t VARCHAR(60) CHARACTER SET {charset} COLLATE {name})"
    );
    run(conn, &["DROP TABLE IF EXISTS t", &create]);
    let hex = |text: &String| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    for batch in texts.chunks(BATCH) {
        let rows: Vec<String> = batch.iter().map(|text| format!("(x'{}')", hex(text))).collect();
        run(conn, &[&format!("INSERT INTO t (t) VALUES {}", rows.join(","))]);
    }
}

/// All texts in the server's order, each with whether it is equal to the one before.
const IN_ORDER: &str = "SELECT t, COALESCE(t = LAG(t) OVER (ORDER BY t, id), 0) FROM t ORDER BY t, id";

/// The server's order is the one that is said of each text, and so are the texts that are equal.
fn is_as_said(conn: &mut Conn, collation: Collation, when: &str) {
    let rows: Vec<(String, bool)> = conn.query(IN_ORDER).unwrap();
    let mut equals = HashSet::new();
    let mut last: Option<(&str, Vec<u8>)> = None;
    // The last text of which the order is known, and how many groups of equal texts there were then.
    let mut last_sorted: Option<(&str, Vec<u8>, usize)> = None;
    let mut groups = 0;
    for (text, is_equal_there) in &rows {
        let this = equal(collation, text).unwrap();
        let is_equal_here = last.as_ref().is_some_and(|(_, last)| *last == this);
        assert_eq!(
            is_equal_here,
            *is_equal_there,
            "{when}: {text:?} behind {:?}",
            last.map(|(last, _)| last)
        );
        groups += usize::from(!is_equal_here);
        equals.insert(this.clone());
        last = Some((text, this));
        let Some(sorted) = collation.sorted(text.as_bytes()) else { continue };
        if let Some((before, last, group)) = last_sorted {
            let due = if group == groups { *last == *sorted } else { *last < *sorted };
            assert!(due, "{when}: {text:?} is sorted behind {before:?}");
        }
        last_sorted = Some((text, sorted.into_owned(), groups));
    }
    assert_eq!(equals.len(), groups, "{when}: texts that are equal come one behind the other");
    println!("{when}: {} texts in {groups} groups", rows.len());
}

#[test]
fn letters_are_compared_and_sorted_as_the_server_does() {
    for server in server::all() {
        let mut conn = fresh_schema(&server, SCHEMA);
        let mut tried = 0;
        for name in CHARSETS.iter().flat_map(|charset| RULES.map(|rules| format!("{charset}_{rules}"))) {
            let charset = name.split('_').next().unwrap_or_default();
            let look = format!("SELECT CONVERT('a' USING {charset}) COLLATE {name}");
            let collation = Collation::of_name(&name).unwrap();
            // One that the server does not have.
            if conn.query_drop(look).is_err() {
                continue;
            }
            insert(&mut conn, &name, &texts(collation));
            is_as_said(&mut conn, collation, &format!("{:?} {name}", server.flavor));
            tried += 1;
        }
        assert!(tried >= COLLATIONS_MIN, "{:?}: {tried}", server.flavor);
        run(&mut conn, &[&format!("DROP DATABASE {SCHEMA}")]);
    }
}
