//! What is read of a statement with parameters in the places of its literals holds of every statement of that form.

use proptest::prelude::*;

use super::*;

/// Statements with places for literals.
const FORMS: &[&str] = &[
    "SELECT a FROM t WHERE id = %",
    "SELECT a, % FROM t WHERE % = id AND b IN (%, %,%) LIMIT %",
    "select * from t where a between % and % or b<=>% and c>% and c<=%",
    "SELECT t.a FROM t JOIN u ON u.tid = t.id AND u.x = % WHERE t.id = % AND u.y <> %",
    "SELECT t.a FROM t LEFT JOIN u ON u.tid = t.id AND u.x <=> % WHERE t.a = % ORDER BY 1",
    "SELECT d.q FROM (SELECT id AS q, a FROM t WHERE b = %) d WHERE d.q = % AND d.a < %",
    "SELECT d.x FROM (SELECT id AS 'x', a AS 'id' FROM t) d WHERE d.x = % AND d.id = %",
    "SELECT d.x FROM (SELECT id 'x', a FROM t) d WHERE d.x = %",
    "SELECT a FROM t WHERE id = % UNION ALL SELECT x FROM u WHERE tid = % AND x IN (%) LIMIT % OFFSET %",
    "WITH q AS (SELECT a, b FROM t WHERE id = %) SELECT a FROM q WHERE b = %",
    "SELECT a FROM t WHERE id = % OR a = % OR b = % AND c = %",
    "SELECT a FROM t WHERE (a = % AND b = % OR a = %) AND c = %",
    "SELECT a FROM t WHERE (a, b) = (%, %) AND c = %",
    "SELECT a FROM t WHERE (a, b) IN ((%, %), (%, %)) AND c = %",
    "SELECT a FROM t JOIN u USING (id) WHERE id = % OR x = %",
    "SELECT COUNT(*), MAX(a) FROM t WHERE NOT id = % AND (a = % AND b = %) GROUP BY b HAVING COUNT(*) > %",
    "SELECT a FROM t WHERE id IN (SELECT tid FROM u WHERE x = %) AND a = %",
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.tid = t.id AND u.x = %) AND b = %",
    "SELECT a FROM t WHERE COALESCE(a, %) = % AND b + % = % AND c = %",
    "SELECT a FROM t WHERE CASE WHEN a = % THEN b = % ELSE c = % END AND id = %",
    "SELECT CAST(a AS DECIMAL(%, 2)) FROM t WHERE %=% AND id=%",
    "SELECT a FROM t WHERE a = b AND b = % AND id = -% ",
    "SELECT a FROM t WHERE date > DATE % AND id = %",
    "SELECT a FROM t WHERE a LIKE % AND id = %",
    "SELECT a FROM t WHERE a LIKE BINARY % AND id = %",
    "SELECT a FROM t WHERE a > % AND b < % AND NOT c AND id = _binary %",
    "SELECT a FROM t WHERE a = % COLLATE utf8mb4_bin AND id = %",
    "SELECT a FROM t WHERE a = % % AND id = %",
    "SELECT d.x FROM (SELECT id AS %, a AS % FROM t) d WHERE d.x = %",
    "SELECT d.x FROM (SELECT id %, a % FROM t) d WHERE d.x = %",
];

const LITERALS: &[&str] = &[
    "1",
    "2",
    "007",
    "-3",
    "+4",
    "- 5",
    "18446744073709551616",
    "1.5",
    "-0.25",
    ".5",
    "1e5",
    "0x41",
    "b'1'",
    "'x'",
    "'1'",
    "''",
    "'a''b'",
    "'2024-01-01'",
    "N'x'",
    "'\u{fc}'",
    "\"x\"",
    "NULL",
    "TRUE",
];

/// The first of them are plain values.
const PLAIN: usize = 8;

fn literal() -> impl Strategy<Value = usize> {
    prop_oneof![9 => 0..PLAIN, 1 => 0..LITERALS.len()]
}

fn filled(form: &str, literals: &[usize]) -> String {
    let mut literals = literals.iter().map(|at| LITERALS[at % LITERALS.len()]);
    let mut text = String::new();
    for (number, piece) in form.split('%').enumerate() {
        if number > 0 {
            text += literals.next().unwrap();
        }
        text += piece;
    }
    text
}

fn read(text: &[u8], modes: Modes) -> Option<RowReads> {
    row_reads_of(text, modes, &["t", "u"].map(TableName::bare), &columns_of).or_else(|| {
        ["t", "u"].iter().find_map(|table| row_reads_of(text, modes, &[TableName::bare(*table)], &columns_of))
    })
}

/// Returns the form of a text whose literals are all parameters.
fn slotted(text: &[u8], modes: Modes) -> Option<Slotted> {
    let mut slotted = Slotted::default();
    (slotted.read(text, modes, None) && slotted.is_shared()).then_some(slotted)
}

/// Returns what is read of a statement by its form, if that says of it what it says itself.
fn by_form(text: &str, modes: Modes) -> Option<(Slotted, RowReads)> {
    let slotted = slotted(text.as_bytes(), modes)?;
    let reads = read(slotted.text(), modes)?;
    (Some(reads.clone().with_values(&slotted.values)) == read(text.as_bytes(), modes))
        .then_some((slotted, reads))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_holds_of_one_holds_of_all_of_its_form(
        form in 0..FORMS.len(), first in prop::collection::vec(literal(), 6),
        second in prop::collection::vec(literal(), 6), ansi_quotes in any::<bool>(), empty_is_null in any::<bool>(),
    ) {
        let modes = Modes { ansi_quotes, empty_string_is_null: empty_is_null, ..MARIADB };
        let (one, other) = (filled(FORMS[form], &first), filled(FORMS[form], &second));
        if let Some((of_one, reads)) = by_form(&one, modes)
            && let Some(of_other) = slotted(other.as_bytes(), modes)
            && of_one.form() == of_other.form()
        {
            let by_form = reads.with_values(&of_other.values);
            let itself = read(other.as_bytes(), modes);
            prop_assert!(itself.is_some(), "{one} tells of {other}, which cannot be read");
            let itself = itself.unwrap();
            prop_assert_eq!(&by_form.columns, &itself.columns, "{} {}", one, other);
            prop_assert_eq!(by_form.occurrences.len(), itself.occurrences.len());
            for (by_form, itself) in by_form.occurrences.iter().zip(&itself.occurrences) {
                prop_assert_eq!((&by_form.table, by_form.inside, by_form.expanded), (&itself.table, itself.inside, itself.expanded));
                for pins in &itself.alternatives {
                    let allows = |wider: &Vec<Pin>| wider.iter().all(|pin| pins.contains(pin));
                    let is_allowed = by_form.alternatives.iter().any(allows);
                    prop_assert!(is_allowed, "{}: {} is not among {}", other, show_pins(pins), show_alternatives(&by_form.alternatives));
                }
            }
        }
    }
}

/// Writes with places for literals.
const WRITES: &[&str] = &[
    "UPDATE t SET a = % WHERE id = %",
    "UPDATE t SET a = a + %, b = % WHERE id IN (%, %) AND c > % LIMIT %",
    "UPDATE t SET a = %, a = % WHERE b BETWEEN % AND % OR c = %",
    "UPDATE t SET a = COALESCE(b, %) WHERE (a, b) = (%, %)",
    "INSERT INTO t (id, a, b) VALUES (%, %, %), (%, %, %)",
    "INSERT INTO t VALUES (%, %, a + %, DEFAULT)",
    "INSERT INTO t SET id = %, a = %",
    "INSERT INTO t (id, a) VALUES (%, %) ON DUPLICATE KEY UPDATE a = %, b = b + %",
    "INSERT IGNORE INTO t (id, date) VALUES (%, DATE %)",
    "REPLACE INTO t (id, a) VALUES (%, %), (%, %)",
    "DELETE FROM t WHERE id = % AND a = %",
    "DELETE FROM t WHERE id <=> % OR a >= % LIMIT %",
    "DELETE FROM t WHERE a LIKE % AND id = %",
    "DELETE FROM t WHERE a = % COLLATE utf8mb4_bin AND id = %",
];

/// Returns the rows that a write touches, by its form, if that says of it what it says itself.
fn write_by_form(text: &str, modes: Modes) -> Option<(Slotted, RowWrite)> {
    let slotted = slotted(text.as_bytes(), modes)?;
    let write = row_write(slotted.text(), modes)?;
    (Some(write.clone().with_values(&slotted.values)) == row_write(text.as_bytes(), modes))
        .then_some((slotted, write))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 20_000, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_one_write_touches_the_others_of_its_form_touch_with_their_values(
        form in 0..WRITES.len(), first in prop::collection::vec(literal(), 6),
        second in prop::collection::vec(literal(), 6), ansi_quotes in any::<bool>(), empty_is_null in any::<bool>(),
    ) {
        let modes = Modes { ansi_quotes, empty_string_is_null: empty_is_null, ..MARIADB };
        let (one, other) = (filled(WRITES[form], &first), filled(WRITES[form], &second));
        if let Some((of_one, write)) = write_by_form(&one, modes)
            && let Some(of_other) = slotted(other.as_bytes(), modes)
            && of_one.form() == of_other.form()
        {
            let itself = row_write(other.as_bytes(), modes);
            prop_assert_eq!(Some(write.with_values(&of_other.values)), itself, "{} {}", &one, &other);
            let effects = |text: &str| crate::effects(text.as_bytes(), modes);
            prop_assert_eq!(effects(&one), effects(&other));
        }
    }
}

fn form(text: &str) -> String {
    let Some((slotted, _)) = by_form(text, MYSQL) else { return "-".to_owned() };
    let marks: Vec<u8> =
        slotted.form()[slotted.text().len() + 1..].iter().copied().take_while(|&byte| byte != 0xFF).collect();
    let [text, marks] = [slotted.text(), &marks].map(String::from_utf8_lossy);
    format!("{text} {marks} [{}]", show_data(&slotted.values))
}

#[test]
fn literals_that_are_values_become_parameters() {
    check(
        &[
            ("SELECT a FROM t WHERE id = 1", "SELECT a FROM t WHERE id = ? i [1]"),
            ("SELECT a FROM t  WHERE id=-1 /* x */ LIMIT 5", "SELECT a FROM t WHERE id=? LIMIT ? ii [-1,5]"),
            (
                "SELECT a FROM t WHERE a IN (1,'x', 2.5)",
                "SELECT a FROM t WHERE a IN (?,?, ?) itd [1,'x',2.5]",
            ),
            (
                "SELECT COUNT(*), MAX(a) FROM t WHERE id = 1",
                "SELECT COUNT(*), MAX(a) FROM t WHERE id = ? i [1]",
            ),
            ("SELECT a FROM t WHERE a BETWEEN 1 AND 2", "SELECT a FROM t WHERE a BETWEEN ? AND ? ii [1,2]"),
            (
                "SELECT a FROM t WHERE a = X'4aFf' OR a = 0x00",
                "SELECT a FROM t WHERE a = ? OR a = ? bb [X'4aff',X'00']",
            ),
            // What stands for more than a value, or for one that its text does not tell.
            ("SELECT a FROM t WHERE a LIKE 'x%'", "-"),
            ("SELECT a AS 'x' FROM t WHERE id = 1", "-"),
            ("SELECT a 'x' FROM t WHERE id = 1", "-"),
            ("SELECT a FROM t WHERE id = 1e5", "-"),
            ("SELECT a FROM t WHERE c = 'x' 'y'", "-"),
            ("SELECT a FROM t WHERE date = DATE '2024-01-01'", "-"),
            ("SELECT a FROM t WHERE a = @x AND id = 1", "-"),
        ],
        form,
    );
}

#[test]
fn other_types_and_other_numbers_of_values_are_other_forms() {
    let form = |text: &str| slotted(text.as_bytes(), MYSQL).unwrap().form().to_vec();
    let one = form("SELECT a FROM t WHERE a IN (1, 2) AND b IN (3)");
    assert_eq!(one, form("SELECT a FROM t WHERE a IN (7, -8) AND b IN (9)"));
    for other in [
        "SELECT a FROM t WHERE a IN (1) AND b IN (2, 3)",
        "SELECT a FROM t WHERE a IN (1, 2) AND b IN ('3')",
        "SELECT a FROM t WHERE a IN (1, 2.0) AND b IN (3)",
        "SELECT a FROM t WHERE a IN (1, 2) AND B IN (3)",
        "SELECT a FROM t WHERE a IN (1, 2) AND b IN(3)",
    ] {
        assert_ne!(one, form(other), "{other}");
    }
}
