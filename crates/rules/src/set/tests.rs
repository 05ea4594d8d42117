use super::*;

fn rule(rule_id: i64) -> Rule {
    Rule { rule_id, re_modifiers: Some("CASELESS".to_owned()), ..Rule::default() }
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn set(rules: Vec<Rule>) -> RuleSet {
    RuleSet::compile(rules, Defaults::default()).unwrap()
}

fn facts(text: &str) -> Facts<'_> {
    Facts { user: b"app", schema: "shop", class: 0, flag_in: 0, text: text.as_bytes() }
}

fn met(set: &RuleSet, facts: Facts<'_>) -> Vec<i64> {
    let decision = set.decide(facts);
    decision.outcome.rules.iter().map(|at| set.rules[*at as usize].rule_id).collect()
}

fn rewritten(set: &RuleSet, statement: &str) -> Option<String> {
    set.decide(facts(statement)).rewritten.map(|it| String::from_utf8(it).unwrap())
}

#[test]
fn all_criteria_have_to_be_met() {
    let rules = vec![
        Rule { username: text("app"), schemaname: text("shop"), ..rule(1) },
        Rule { username: text("other"), ..rule(2) },
        Rule { schemaname: text("Shop"), ..rule(3) },
        Rule { digest: text("0xBF001A0C13781C1D"), ..rule(4) },
        Rule { match_digest: text("^select c FROM sbtest1 WHERE id=\\?$"), ..rule(5) },
        Rule { match_digest: text("^select c"), re_modifiers: None, ..rule(6) },
        Rule { match_pattern: text("id=7$"), ..rule(7) },
        Rule { match_pattern: text("id=7$"), negate_match_pattern: true, ..rule(8) },
        Rule { digest: text("BF001A0C13781C1D"), match_pattern: text("id=8"), ..rule(9) },
    ];
    let set = set(rules);
    for _ in 0..2 {
        assert_eq!(met(&set, facts("SELECT c FROM sbtest1 WHERE id=7")), [1, 4, 5, 7]);
        assert_eq!(met(&set, facts("SELECT c FROM sbtest1 WHERE id=8")), [1, 4, 5, 8, 9]);
        assert_eq!(met(&set, Facts { user: b"other", ..facts("SELECT 1") }), [2, 8]);
        assert_eq!(met(&set, Facts { schema: "Shop", ..facts("SELECT 1") }), [3, 8]);
    }
}

#[test]
fn flags_lead_downward_and_the_first_that_applies_ends_the_chain() {
    let rules = vec![
        Rule { flag_in: 5, ..rule(1) },
        Rule { match_digest: text("^SELECT"), flag_out: Some(5), cache_ttl: Some(1000), ..rule(2) },
        Rule { ..rule(3) },
        Rule { flag_in: 5, delay: Some(7), cache_ttl: Some(2000), ..rule(4) },
        Rule { flag_in: 5, match_digest: text("t2"), apply: true, ..rule(5) },
        Rule { flag_in: 5, timeout: Some(9), ..rule(6) },
    ];
    let set = set(rules);
    assert_eq!(met(&set, facts("SELECT a FROM t1")), [2, 4, 6]);
    assert_eq!(met(&set, facts("SELECT a FROM t2")), [2, 4, 5]);
    assert_eq!(met(&set, facts("UPDATE t2 SET a=1")), [3]);
    assert_eq!(met(&set, Facts { flag_in: 5, ..facts("UPDATE t1 SET a=1") }), [1, 4, 6]);
    let settings = set.decide(facts("SELECT a FROM t1")).settings;
    // What a later rule says counts; what it does not say stays.
    assert_eq!(
        (settings.cache_ttl_ms, settings.delay_ms, settings.timeout_ms),
        (Some(2000), Some(7), Some(9))
    );
}

#[test]
fn rules_are_in_the_order_of_their_numbers() {
    let set = set(vec![Rule { cache_ttl: Some(2), ..rule(20) }, Rule { cache_ttl: Some(1), ..rule(3) }]);
    assert_eq!(met(&set, facts("SELECT 1")), [3, 20]);
    assert_eq!(set.decide(facts("SELECT 1")).settings.cache_ttl_ms, Some(2));
}

#[test]
fn texts_are_rewritten_with_groups_and_later_rules_see_what_became_of_them() {
    let rules = vec![
        Rule {
            match_pattern: text("from (\\w+)_old where (.*)$"),
            replace_pattern: text("FROM \\1_new WHERE \\2 AND '\\\\' <> '\\0'"),
            ..rule(1)
        },
        Rule { match_pattern: text("users_new"), replace_pattern: text("people"), ..rule(2) },
        Rule {
            match_pattern: text("x"),
            replace_pattern: text("yx"),
            re_modifiers: text("CASELESS,GLOBAL"),
            ..rule(3)
        },
    ];
    let set = set(rules);
    assert_eq!(
        rewritten(&set, "SELECT 1 FROM users_old WHERE a = 1").as_deref(),
        Some("SELECT 1 FROM people WHERE a = 1 AND '\\' <> 'FROM users_old WHERE a = 1'")
    );
    assert_eq!(rewritten(&set, "SELECT x, X").as_deref(), Some("SELECT yx, yx"));
    assert_eq!(rewritten(&set, "SELECT 2"), None);
}

#[test]
fn addresses_make_classes() {
    let rules = vec![
        Rule { client_addr: text("10.1.%"), ..rule(1) },
        Rule { client_addr: text("10.1.2.3"), ..rule(2) },
        Rule { proxy_addr: text("127.0.0.1"), proxy_port: Some(6033), ..rule(3) },
        rule(4),
    ];
    let set = set(rules);
    let client = |addr: &str, port| Client {
        addr: addr.to_owned(),
        proxy_addr: "127.0.0.1".to_owned(),
        proxy_port: port,
    };
    let met =
        |addr: &str, port| met(&set, Facts { class: set.class_of(&client(addr, port)), ..facts("SELECT 1") });
    assert_eq!(met("10.1.2.3", 3306), [1, 2, 4]);
    assert_eq!(met("10.1.9.9", 6033), [1, 3, 4]);
    assert_eq!(met("10.10.2.3", 3306), [4]);
    assert_eq!(set.class_of(&client("10.1.7.7", 1)), set.class_of(&client("10.1.8.8", 1)));
}

#[test]
fn what_is_cached_is_said_by_rules_hints_and_the_default() {
    let rules = || {
        vec![
            Rule {
                match_digest: text("t1"),
                cache_ttl: Some(5000),
                cache_empty_result: Some(false),
                ..rule(1)
            },
            Rule { match_digest: text("t2"), next_query_flag_in: Some(3), ..rule(2) },
        ]
    };
    let all = set(rules());
    let only = RuleSet::compile(rules(), Defaults { rules_only: true, ..Defaults::default() }).unwrap();
    let is_cached = |set: &RuleSet, text: &str| set.decide(facts(text)).is_cached;
    assert!(is_cached(&all, "SELECT * FROM t1") && is_cached(&only, "SELECT * FROM t1"));
    assert!(is_cached(&all, "SELECT * FROM t3") && !is_cached(&only, "SELECT * FROM t3"));
    assert!(!is_cached(&all, "SELECT * FROM t2"));
    assert!(is_cached(&only, "/* cache_ttl=9 */ SELECT * FROM t3"));
    assert!(!is_cached(&all, "/* hostgroup=1; cache_ttl=0 */ SELECT * FROM t1"));
    assert!(
        !all.decide(facts("SELECT * FROM t1")).stores_empty && all.decide(facts("SELECT 3")).stores_empty
    );
    let hinted =
        all.decide(facts("/* delay=4 ; timeout=5;cache_ttl=6;unknown=7 */SELECT * FROM t1")).settings;
    assert_eq!((hinted.delay_ms, hinted.timeout_ms, hinted.cache_ttl_ms), (Some(4), Some(5), Some(6)));
    let named = all
        .decide(facts("/* query_delay=4; query_timeout=5; query_retries=2000 */ SELECT * FROM t1"))
        .settings;
    assert_eq!((named.delay_ms, named.timeout_ms, named.retries), (Some(4), Some(5), Some(1000)));
    assert!(hint::has_hint(b" /*cache_ttl=1*/ SELECT 1") && !hint::has_hint(b"/* SELECT */ SELECT 1"));
    assert!(
        !hint::has_hint(b"/*! cache_ttl=1 */ SELECT 1") && !hint::has_hint(b"SELECT /* cache_ttl=1 */ 1")
    );
}

#[test]
fn what_cannot_be_carried_out_is_refused_by_the_rules_name() {
    let refused = |rule: Rule| {
        RuleSet::compile(vec![self::rule(1), rule], Defaults::default()).unwrap_err().to_string()
    };
    assert!(refused(Rule { match_digest: text("(a"), ..rule(7) }).starts_with("rule 7: match_digest: "));
    assert!(
        refused(Rule { match_pattern: text("a(?=b)"), ..rule(7) }).starts_with("rule 7: match_pattern: ")
    );
    assert_eq!(
        refused(Rule { match_pattern: text("a(b)"), replace_pattern: text("\\2"), ..rule(7) }),
        "rule 7: replace_pattern names \\2, which match_pattern does not have"
    );
    assert_eq!(
        refused(Rule { digest: text("0x1G"), ..rule(7) }),
        "rule 7: digest '0x1G' is no hexadecimal number"
    );
    assert_eq!(
        refused(Rule { mirror_hostgroup: Some(1), ..rule(7) }),
        "rule 7: Freshet does not carry out mirror_hostgroup"
    );
    assert!(
        refused(Rule { re_modifiers: text("EXTENDED"), ..rule(7) }).contains("neither CASELESS nor GLOBAL")
    );
}

#[test]
fn hits_are_counted_by_rule() {
    let set = set(vec![rule(1), Rule { match_digest: text("t1"), ..rule(2) }]);
    let (both, first) =
        (set.decide(facts("SELECT a FROM t1")).outcome, set.decide(facts("SELECT 1")).outcome);
    both.count(1);
    first.count(2);
    let elsewhere = [(both.id, 10), (u64::MAX, 5)].into_iter().collect();
    assert_eq!(set.hits(&elsewhere), [(1, 13), (2, 11)]);
    assert_eq!(set.outcomes_of(2), [both.id]);
    assert_ne!(both.id, first.id);
}

#[test]
fn what_asks_for_a_hostgroup_is_counted_under_it() {
    let set = set(vec![Rule { match_digest: text("t1"), destination_hostgroup: Some(5), ..rule(1) }]);
    let outcome = |text: &str| set.decide(facts(text)).outcome;
    let of_rule = outcome("SELECT a FROM t1");
    let asked = outcome("/* hostgroup=7 */ SELECT a FROM t1");
    assert_eq!((of_rule.hostgroup(), asked.hostgroup()), (Some(5), Some(7)));
    assert_eq!(outcome("/* hostgroup=7 */ SELECT a, b FROM t1").id, asked.id);
    assert_eq!(outcome("/* hostgroup=5 */ SELECT a FROM t1").id, of_rule.id);
    asked.count(3);
    of_rule.count(1);
    assert_eq!(set.hits(&HashMap::default()), [(1, 4)]);
    assert_eq!(set.outcomes_of(1).len(), 2);
    let (unruled, met_nothing) = (outcome("/* hostgroup=7 */ SELECT 1"), outcome("SELECT 1"));
    assert!(!unruled.is_nothing() && met_nothing.is_nothing());
    assert_eq!((unruled.hostgroup(), unruled.ids()), (Some(7), &[][..]));
    // Whoever asks for all there are brings nobody else's statements into trouble.
    for hostgroup in 0..2 * i64::try_from(super::ASKED_MAX).unwrap() {
        assert!(set.decide(facts(&format!("/* hostgroup={hostgroup} */ SELECT a FROM t1"))).is_cached);
    }
    assert_eq!(outcome("/* hostgroup=-1 */ SELECT a FROM t1").id, of_rule.id);
    assert_eq!(outcome("/* hostgroup=1000000 */ SELECT a FROM t1").id, of_rule.id);
}

#[test]
fn a_row_is_read_by_its_columns() {
    let mut row: Vec<Option<String>> = vec![None; Rule::COLUMNS.len()];
    row[0] = text("4");
    row[3] = text("2");
    row[15] = text("5000");
    row[26] = text("thanks");
    row[31] = text("1");
    let read = Rule::read(&row).unwrap();
    let expected = Rule {
        rule_id: 4,
        flag_in: 2,
        cache_ttl: Some(5000),
        ok_msg: text("thanks"),
        apply: true,
        ..Rule::default()
    };
    assert_eq!(read, expected);
    row[15] = text("much");
    assert_eq!(Rule::read(&row).unwrap_err().to_string(), "rule 4: cache_ttl cannot be 'much'");
}

#[test]
fn a_bargain_needs_a_time_to_live_and_a_later_rule_takes_it_back() {
    let rule = |rule_id, attributes: &str, cache_ttl, pattern: &str| Rule {
        rule_id,
        attributes: attributes.to_owned(),
        cache_ttl,
        match_pattern: Some(pattern.to_owned()),
        ..Rule::default()
    };
    let ttl = r#"{"freshness":"ttl"}"#;
    let rules = vec![
        rule(1, ttl, None, "."),
        rule(2, "", Some(1000), "b"),
        rule(3, r#"{"freshness":"proven"}"#, None, "z"),
    ];
    let set = RuleSet::compile(rules, Defaults { soft_ttl_pct: 70, ..Defaults::default() }).unwrap();
    let decided = |text: &str| {
        let decision = set.decide(facts(text));
        (decision.is_bargain, decision.soft_ttl_ms)
    };
    assert_eq!(decided("SELECT a"), (false, None), "nothing says for how long");
    assert_eq!(decided("SELECT b"), (true, Some(700)));
    assert_eq!(decided("SELECT bz"), (false, Some(700)));
    assert_eq!(decided("/* cache_ttl=100 */ SELECT a"), (true, Some(70)), "a hint says it as well");
    assert_eq!(decided("/* cache_ttl=0 */ SELECT b"), (false, Some(0)));
}

#[test]
fn digests_are_those_of_the_options() {
    let rules = vec![Rule { digest: text("0xBF001A0C13781C1D"), ..rule(1) }];
    let digests = Options { lowercase: true, ..Options::default() };
    let lower = RuleSet::compile(rules.clone(), Defaults { digests, ..Defaults::default() }).unwrap();
    let statement = facts("SELECT c FROM sbtest1 WHERE id=7");
    assert_eq!(met(&set(rules.clone()), statement), [1]);
    assert!(met(&lower, statement).is_empty());
    assert!(!lower.is_of(&rules, Defaults::default()), "other options are another set");
}

#[test]
fn what_does_nothing_is_named() {
    let idle = Rule { retries: Some(3), sticky_conn: Some(true), reconnect: Some(false), ..rule(4) };
    assert_eq!(idle.without_effect().as_deref(), Some("rule 4: reconnect, sticky_conn"));
    let active = Rule { retries: Some(0), multiplex: Some(0), cache_timeout: Some(1), ..rule(5) };
    assert_eq!(active.without_effect(), None);
    assert_eq!(active.rule_id, set(vec![active.clone()]).rules()[0].rule_id);
    let decision = set(vec![active]).decide(facts("SELECT 1"));
    assert_eq!((decision.settings.multiplex, decision.settings.cache_timeout_ms), (Some(0), Some(1)));
}

#[test]
fn what_is_logged_and_sent_again_is_said_by_rules_and_the_default() {
    let rules = || {
        vec![
            Rule { match_digest: text("FROM t"), log: Some(true), retries: Some(3), ..rule(1) },
            Rule { match_digest: text("t2"), log: Some(false), retries: Some(0), ..rule(2) },
        ]
    };
    let said = |set: &RuleSet, text: &str| {
        let decision = set.decide(facts(text));
        (decision.is_logged, decision.retries)
    };
    let plain = set(rules());
    assert_eq!(said(&plain, "SELECT * FROM t"), (true, 3));
    assert_eq!(said(&plain, "SELECT * FROM t2"), (false, 0));
    assert_eq!(said(&plain, "SELECT 1"), (false, 0));
    let defaults = Defaults { logs: true, retries: 1, ..Defaults::default() };
    let all = RuleSet::compile(rules(), defaults).unwrap();
    assert_eq!(said(&all, "SELECT * FROM t2"), (false, 0));
    assert_eq!(said(&all, "SELECT 1"), (true, 1));
    let idle = |defaults: Defaults| RuleSet::compile(Vec::new(), defaults).unwrap().is_idle();
    assert!(idle(Defaults::default()));
    assert!(!idle(Defaults { logs: true, ..Defaults::default() }));
    assert!(!idle(Defaults { retries: 1, ..Defaults::default() }));
}
