//! What holds of every statement, however mangled.

use proptest::prelude::*;

use super::*;

const STATEMENTS: &[&str] = &[
    "SELECT * FROM t LEFT JOIN u ON u.tid = t.id AND u.x IN (1, 2) WHERE t.a BETWEEN 1 AND 5 AND NOT u.y = 'x'",
    "WITH c AS (SELECT a FROM t WHERE id = ?) SELECT (SELECT MAX(x) FROM u WHERE u.tid = c.a) FROM c, w WHERE w.z = 1",
    "SELECT COUNT(*) FROM (t JOIN u USING (id)) NATURAL RIGHT JOIN w WHERE CASE WHEN a = 1 THEN 2 END AND EXISTS (SELECT 1)",
    "(SELECT a FROM t WHERE id = 1 LIMIT 1) UNION SELECT x FROM u, ((SELECT 1) UNION (SELECT 2)) d WHERE x LIKE 'a%' ORDER BY 1",
    "INSERT INTO t (a, b) VALUES (1, 'x'), (?, -2.5) RETURNING a",
    "UPDATE t AS q SET q.a = 1, b = b + 1 WHERE q.id = 5 AND (a = 1 OR b = 2) ORDER BY a LIMIT 3",
    "DELETE FROM s.t WHERE id IN (1, 2) AND a IS NULL LIMIT 1",
];

/// Every table of them.
fn tables() -> Vec<TableName> {
    ["t", "u", "w"].map(TableName::bare).to_vec()
}

fn modes() -> impl Strategy<Value = Modes> {
    (any::<bool>(), any::<bool>(), any::<bool>()).prop_map(|(mariadb, ansi_quotes, no_backslash_escapes)| {
        let flavor = if mariadb { Flavor::MariaDb } else { Flavor::MySql };
        Modes { ansi_quotes, no_backslash_escapes, ..Modes::new(flavor) }
    })
}

fn bear(text: &[u8], modes: Modes) {
    let _ = row_reads(text, modes, &columns_of);
    let _ = row_reads_of(text, modes, &tables(), &columns_of);
    let _ = row_write(text, modes);
}

/// Conditions on `t`, of all kinds.
fn conjunct() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a = 1",
        "b IN (1, 2)",
        "c BETWEEN 1 AND 2",
        "a > 3",
        "b IS NULL",
        "c LIKE 'x%'",
        "a = b",
        "NOT a = 1",
        "a = 1 IS TRUE",
        "(a = 1 OR b = 2)",
        "CASE WHEN a = 1 AND b = 2 THEN 1 END",
        "EXISTS (SELECT 1 FROM t WHERE a = 1 OR b = 2)",
        "c NOT BETWEEN 1 AND 2 + 3",
        "(b = 4)",
        "a + 1 = 2",
    ])
}

fn pins_where(condition: &str) -> Vec<Vec<Pin>> {
    let text = format!("SELECT a FROM t WHERE {condition}");
    let reads = row_reads(text.as_bytes(), MYSQL, &columns_of).unwrap();
    reads.occurrences.into_iter().next().unwrap().alternatives
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn bears_cut_and_shuffled_tokens(
        at in 0..STATEMENTS.len(), swaps in prop::collection::vec((any::<usize>(), any::<usize>()), 0..6),
        drops in prop::collection::vec(any::<usize>(), 0..4), modes in modes(),
    ) {
        let text = STATEMENTS[at];
        let mut tokens: Vec<&str> =
            crate::lex::Lexer::new(text.as_bytes(), MYSQL).map(|token| &text[token.start..token.end]).collect();
        for (a, b) in swaps {
            let len = tokens.len();
            tokens.swap(a % len, b % len);
        }
        for drop in drops {
            tokens.remove(drop % tokens.len());
        }
        bear(tokens.join(" ").as_bytes(), modes);
    }

    #[test]
    fn bears_changed_bytes(
        at in 0..STATEMENTS.len(), changes in prop::collection::vec((any::<usize>(), any::<u8>()), 0..6),
        end in any::<usize>(), modes in modes(),
    ) {
        let mut text = STATEMENTS[at].as_bytes().to_vec();
        for (at, byte) in changes {
            let len = text.len();
            text[at % len] = byte;
        }
        bear(&text[..1 + end % text.len()], modes);
    }

    #[test]
    fn another_conjunct_takes_no_pin_away(a in conjunct(), b in conjunct(), order in any::<bool>()) {
        // Bounds of one column are joined, so only the columns are compared, of what every alternative says.
        let columns = |condition: &str| {
            let alternatives = pins_where(condition);
            let in_all = |pin: &Pin| alternatives.iter().all(|pins| pins.iter().any(|other| other.column == pin.column));
            alternatives[0].iter().filter(|pin| in_all(pin)).map(|pin| pin.column.clone()).collect::<Vec<_>>()
        };
        let both = if order { format!("{a} AND {b}") } else { format!("{b} && {a}") };
        let found = columns(&both);
        for column in columns(a).into_iter().chain(columns(b)) {
            prop_assert!(found.contains(&column), "{both}");
        }
    }

    #[test]
    fn an_or_allows_what_its_operands_allow(a in conjunct(), b in conjunct()) {
        let nothing = vec![vec![]];
        let (either, of_a, of_b) = (pins_where(&format!("{a} OR {b}")), pins_where(a), pins_where(b));
        if of_a == nothing || of_b == nothing {
            prop_assert_eq!(either, nothing.clone());
        } else {
            // Each operand allows at most what one of the alternatives does; values of one column are put together.
            let columns = |pins: &[Pin]| pins.iter().map(|pin| pin.column.clone()).collect::<Vec<_>>();
            let is_in = |one: &Vec<Pin>| either.iter().any(|known| columns(known).iter().all(|column| columns(one).contains(column)));
            prop_assert!(of_a.iter().chain(&of_b).all(is_in), "{:?}", either);
        }
        prop_assert_eq!(pins_where(&format!("NOT ({a} OR {b})")), nothing.clone());
        prop_assert_eq!(pins_where(&format!("NOT ({a} AND {b})")), nothing.clone());
        prop_assert_eq!(pins_where(&format!("{a} XOR {b}")), nothing.clone());
        prop_assert_eq!(pins_where(&format!("({a} AND {b}) IS NULL")), nothing.clone());
    }

    #[test]
    fn parentheses_change_nothing(a in conjunct(), b in conjunct(), c in conjunct()) {
        let plain = pins_where(&format!("{a} AND {b} AND {c}"));
        for text in [
            format!("({a} AND {b} AND {c})"),
            format!("({a}) AND ({b} AND ({c}))"),
            format!("(({a} AND {b})) AND {c}"),
        ] {
            prop_assert_eq!(pins_where(&text), plain.clone(), "{}", text);
        }
    }
}
