//! Views, read as derived tables of their texts.
use std::sync::LazyLock;

use super::*;

/// As information_schema shows them, with the names of their columns.
const TEXTS: &[(&str, &str, &str)] = &[
    ("v_plain", "id z b", "select `s`.`t`.`id` AS `id`,`s`.`t`.`a` AS `z`,`s`.`t`.`b` AS `b` from `s`.`t`"),
    (
        "v_own",
        "id a",
        "select `s`.`t`.`id` AS `id`,`s`.`t`.`a` AS `a` from `s`.`t` where ((`s`.`t`.`b` = 7) and (`s`.`t`.`c` like 'x%'))",
    ),
    (
        "v_join",
        "id x",
        "select `t`.`id` AS `id`,`u`.`x` AS `x` from (`s`.`t` join `s`.`u` on((`s`.`u`.`tid` = `t`.`id`)))",
    ),
    ("v_group", "a n", "select `s`.`t`.`a` AS `a`,count(0) AS `n` from `s`.`t` group by `s`.`t`.`a`"),
    (
        "v_union",
        "id",
        "select `s`.`t`.`id` AS `id` from `s`.`t` union select `s`.`u`.`tid` AS `tid` from `s`.`u`",
    ),
    (
        "v_over",
        "i a",
        "select `v_own`.`id` AS `i`,`v_own`.`a` AS `a` from `s`.`v_own` where (`v_own`.`a` = 2)",
    ),
    ("v_limit", "id", "select `s`.`t`.`id` AS `id` from `s`.`t` limit 5"),
    ("v_nothing", "one", "select 1 AS `one`"),
    ("v_lost", "id", "select `s`.`t`.`id` AS `id` from `s`.`t` join `s`.`gone`"),
    ("v_round", "id", "select `v_round`.`id` AS `id` from `s`.`v_round`"),
    ("v_odd", "id", "select `s`.`t`.`id` AS `id` from `s`.`t` where match(`s`.`t`.`c`) against ('x')"),
    // MySQL shows a view with a list of columns as if it had none, and puts schemas before aliases.
    ("v_list", "b a", "select `s`.`p`.`a` AS `a`,`s`.`p`.`b` AS `b` from (`s`.`t` `p` join `s`.`u` `q`)"),
    ("v_unseen", "a", "select `s`.`t`.`a` AS `a`,`s`.`t`.`b` AS `b` from `s`.`t`"),
];

pub(super) fn definition(name: &str) -> Option<TableDefinition<'static>> {
    static VIEWS: LazyLock<Vec<(&str, View)>> = LazyLock::new(|| {
        let read = |columns: &str, text: &str| {
            View::read(text, "s", &columns.split(' ').collect::<Vec<_>>(), MYSQL).unwrap()
        };
        TEXTS.iter().map(|(name, columns, text)| (*name, read(columns, text))).collect()
    });
    VIEWS.iter().find(|(known, _)| *known == name).map(|(_, view)| TableDefinition::View(view))
}

const VIEWS: &[(&str, &str)] = &[
    ("SELECT * FROM v_plain WHERE id = 5", "v_plain: t[id=5]"),
    ("SELECT * FROM v_plain p WHERE p.z = 5 AND a = 1", "v_plain: t[a=5]"),
    ("SELECT z FROM s.v_plain WHERE s.v_plain.id = 5", "v_plain: t[id=5]"),
    (
        "SELECT * FROM v_plain, v_plain q WHERE q.id = 1 AND v_plain.id = 2",
        "v_plain: t[id=2] v_plain: t[id=1]",
    ),
    ("SELECT * FROM v_own WHERE id = 5", "v_own: t[b=7 & c~'x%' & id=5]"),
    ("SELECT * FROM v_join WHERE id = 5", "v_join: t[id=5] u[tid=5<1.id]"),
    ("SELECT * FROM v_join WHERE x = 5", "v_join: t[] u[x=5]"),
    (
        "SELECT * FROM w JOIN v_join j ON j.id = w.uid WHERE w.id = 3 AND uid = 4",
        "w[id=3 & uid=4] v_join: t[id=4<0.uid] u[tid=4<0.uid<2.id]",
    ),
    ("SELECT * FROM v_group WHERE a = 5 AND n = 2", "v_group: t[a=5]"),
    ("SELECT * FROM v_group WHERE n = 2", "v_group: t[]"),
    ("SELECT * FROM v_union WHERE id = 5", "v_union: t[id=5<2.tid] u[tid=5<1.id]"),
    ("SELECT * FROM v_over WHERE i = 5", "v_over: v_own: t[b=7 & c~'x%' & a=2 & id=5]"),
    ("SELECT * FROM v_limit WHERE id = 5", "v_limit: t[]"),
    ("SELECT * FROM v_nothing, t WHERE id = 5", "v_nothing: t[id=5]"),
    ("SELECT * FROM v_lost WHERE id = 5", "v_lost: t[id=5] gone[]"),
    (
        "SELECT * FROM t WHERE id = 1 AND EXISTS (SELECT 1 FROM v_plain p WHERE p.id = t.id)",
        "t[id=1] v_plain: t[id=1<0.id]",
    ),
    ("SELECT * FROM v_list WHERE a = 5", "v_list: t[b=5] u[]"),
    ("SELECT * FROM v_list WHERE b = 5", "v_list: t[a=5] u[]"),
    ("SELECT * FROM v_unseen WHERE a = 5", "v_unseen[]"),
    // Neither the end of a circle nor a text that is not understood costs more than the view itself.
    ("SELECT * FROM t, v_odd WHERE t.id = 5", "t[id=5] v_odd[]"),
    // The statement's own names are its own.
    ("WITH t AS (SELECT uid FROM w) SELECT * FROM v_plain, t WHERE v_plain.id = 5", "w[] v_plain: t[id=5]"),
];

#[test]
fn views() {
    check(VIEWS, reads);
}

#[test]
fn a_circle_of_views_ends() {
    let reads = row_reads(b"SELECT * FROM v_round WHERE id = 1", MYSQL, &columns_of).unwrap();
    assert!(reads.occurrences.iter().any(|occurrence| !occurrence.expanded));
    assert_eq!(reads.named(), 1);
}

#[test]
fn columns() {
    for (text, expected) in [
        ("SELECT z FROM v_plain WHERE id = 1", "a id s t v_plain z"),
        ("SELECT a FROM v_list", "a b p q s t u v_list"),
        ("SELECT B FROM v_plain p", "b p s t v_plain"),
        ("SELECT i FROM v_over", "a b c i id like s t v_over v_own"),
        ("SELECT COUNT(*) FROM v_group", "a count n s t v_group"),
        ("SELECT * FROM v_plain WHERE id = 1", "a b id s t v_plain z"),
        ("SELECT * FROM v_plain, t", "all"),
        ("SELECT * FROM v_plain NATURAL JOIN v_own", "a b c id like natural s t v_own v_plain z"),
        ("SELECT * FROM v_odd", "all"),
    ] {
        let shown = match row_reads(text.as_bytes(), MYSQL, &columns_of).map(|reads| reads.columns) {
            Some(ColumnsRead::All) => "all".to_owned(),
            Some(ColumnsRead::Named(named)) => named.join(" "),
            None => "-".to_owned(),
        };
        assert_eq!(shown, expected, "{text}");
    }
}
