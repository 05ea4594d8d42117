//! The cost of the second statement of a form, and what it shares with the first.

use freshet_cache::Freshness;
use freshet_catalog::rows::Watches;
use freshet_catalog::rows::Zone;
use freshet_catalog::rows::samples::{INT, column, table_of};
use freshet_catalog::{ColumnInfo, TableInfo, Told};
use freshet_sql::{Analysis, Flavor, Modes};

use super::*;
use crate::rows::{Behind, Depends, Named, Tables, deps_of_reading};
use crate::template::profile::ExecutionProfile;

const MODES: Modes = Modes::new(Flavor::MySql);

/// How many allocations the second of two statements of a form may make to be found, bound and planned.
const ALLOCATIONS_MAX: u64 = 8;

/// `s.t (id INT PRIMARY KEY, a INT, b INT)`.
fn table() -> Arc<TableInfo> {
    let id = ColumnInfo { nullable: false, unique: true, only_unique: true, ..column("id", INT) };
    Arc::new(table_of("t", vec![id, column("a", INT), column("b", INT)]))
}

fn template(text: &[u8]) -> Arc<Template> {
    let Analysis::Cacheable { tables: written, named, .. } = freshet_sql::analyse(text, MODES) else {
        panic!("it is cacheable")
    };
    let known = vec![Named::new(("s".to_owned(), "t".to_owned()), table())];
    Arc::new(Template {
        query: crate::created::NamedQuery::new(None, String::new()),
        tag: std::sync::atomic::AtomicU16::default(),
        told: Told::at(0),
        verdict: Cacheability::Cache,
        effects: freshet_sql::effects(text, MODES),
        reads_nothing: false,
        tables: Tables { written, known, below: Vec::new(), named, have_times: false, by_names: false },
        is_of_its_time: false,
        shows_rows_read: false,
        returns_what_it_finds: false,
        profile: ExecutionProfile::default(),
    })
}

fn compiled(template: Arc<Template>, tokens: &Tokens<'_>) -> CompiledSelect {
    CompiledSelect::new(template, tokens, SelectKind::from(&tokens.request()))
}

struct World {
    forms: Forms,
    freshness: Arc<Freshness>,
    watches: Watches,
}

impl World {
    fn new() -> Self {
        let freshness = Arc::new(Freshness::with_hash_seed(7));
        Self { forms: Forms::default(), watches: Watches::new(Arc::clone(&freshness)), freshness }
    }

    fn keep(&self, text: &str) {
        let ByForm::New(new) = self.find(text) else { panic!("{text} is new") };
        let New { tokens, form, .. } = *new;
        let compiled = Arc::new(compiled(template(text.as_bytes()), &tokens));
        self.forms.keep_select(form, &compiled);
    }

    fn find<'a>(&self, text: &'a str) -> ByForm<'a> {
        self.forms.bind(text.as_bytes(), MODES, Some("s"), |_| true)
    }

    fn depends(&self, text: &str) -> Option<Depends> {
        let statement = statement(text);
        let ByForm::Known(found) = self.find(text) else { return None };
        let Bound::Select(bound) = found else { panic!("{text} is a SELECT") };
        let behind = Behind {
            valid_from: self.freshness.valid_from(),
            freshness: &self.freshness,
            watches: &self.watches,
        };
        Some(deps_of_reading(statement, &bound.template().tables, bound.plan(statement), behind))
    }
}

fn statement(text: &str) -> StatementText<'_> {
    StatementText { text: text.as_bytes(), modes: MODES, schema: Some("s"), zone: Zone::Other, tokens: None }
}

#[test]
fn a_known_form_is_found_bound_and_planned_with_few_allocations() {
    for form in
        ["SELECT a FROM t WHERE id = %", "SELECT a, b FROM t WHERE id = % AND a > % ORDER BY b LIMIT 5"]
    {
        let world = World::new();
        world.keep(&form.replace('%', "0"));
        // The second statement makes the plan, and the watch.
        for value in 1..4 {
            assert!(world.depends(&form.replace('%', &value.to_string())).is_some());
        }
        let text = form.replace('%', "77");
        let info = allocation_counter::measure(|| drop(world.depends(&text)));
        assert!(info.count_total <= ALLOCATIONS_MAX, "{form}: {info:?}");
    }
}

#[test]
fn statements_of_a_form_depend_on_what_each_would_depend_on_by_itself() {
    let world = World::new();
    world.keep("SELECT a FROM t WHERE id = 0");
    for value in [1, 2, 1] {
        let text = format!("SELECT a FROM t WHERE id = {value}");
        let of_form = world.depends(&text).map(|depends| (depends.deps, depends.absent));
        let behind = Behind {
            valid_from: world.freshness.valid_from(),
            freshness: &world.freshness,
            watches: &world.watches,
        };
        let tables = &template(text.as_bytes()).tables;
        let alone = deps_of_reading(statement(&text), tables, None, behind);
        assert_eq!(of_form, Some((alone.deps, alone.absent)));
    }
}

#[test]
fn statements_of_a_form_have_the_plan_form_that_each_would_have_by_itself() {
    let world = World::new();
    let form =
        "SELECT a, COUNT(*) FROM t WHERE b = % AND a BETWEEN -% AND 9 GROUP BY a HAVING COUNT(*) > % LIMIT %";
    world.keep(&form.replace('%', "0"));
    for value in [1, 2, 1] {
        let text = form.replace('%', &value.to_string());
        let ByForm::Known(Bound::Select(bound)) = world.find(&text) else { panic!("its form is known") };
        let of_form = bound.plan_form(statement(&text)).unwrap();
        assert!(matches!(bound.compiled.plan_form.get(), Some(Some(_))), "it is shared");
        assert_eq!(Ok(of_form), statement(&text).plan_form(&bound.template().tables));
    }
}

#[test]
fn tokens_are_kept_for_the_statement_that_makes_the_plan() {
    let world = World::new();
    world.keep("SELECT a FROM t WHERE id = 1");
    let has_tokens = |text: &str| match world.find(text) {
        ByForm::Known(Bound::Select(bound)) => bound.tokens().is_some(),
        other => panic!("{text}: {other:?}"),
    };
    let spaced = ["SELECT a  FROM t WHERE id = 2", "SELECT a   FROM t WHERE id = 3"];
    assert!(has_tokens(spaced[0]));
    assert!(world.depends(spaced[1]).is_some());
    assert!(!has_tokens("SELECT a    FROM t WHERE id = 4"), "its form has a plan");
    assert!(!has_tokens(spaced[1]), "its skeleton is known");
}

#[test]
fn a_form_is_of_its_schema_and_modes() {
    let world = World::new();
    world.keep("SELECT a FROM t WHERE id = 0");
    let text = "SELECT a FROM t WHERE id = 5";
    assert!(matches!(world.find(text), ByForm::Known(_)));
    for (schema, modes) in [
        (Some("u"), MODES),
        (None, MODES),
        (Some("s"), Modes { ansi_quotes: true, ..MODES }),
        (Some("s"), Modes::new(Flavor::MariaDb)),
    ] {
        let found = world.forms.bind(text.as_bytes(), modes, schema, |_| true);
        assert!(matches!(found, ByForm::New(_)));
    }
}

#[test]
fn what_is_no_select_is_not_kept() {
    let world = World::new();
    let text = "UPDATE t SET a = 1";
    let ByForm::New(new) = world.find(text) else { panic!("it is new") };
    let New { tokens, form, .. } = *new;
    let template = template(b"SELECT a FROM t");
    world.forms.keep_select(form, &Arc::new(compiled(template, &tokens)));
    assert!(matches!(world.find(text), ByForm::New(_)));
}

#[test]
fn writes_of_a_form_touch_the_rows_that_each_would_touch_by_itself() {
    for (form, values) in [
        ("UPDATE t SET a = % WHERE id = %", &[["1", "2"], ["3", "-4"], ["5", "6"]]),
        ("INSERT INTO t (id, a) VALUES (%, %)", &[["1", "2"], ["3", "4"], ["-5", "6"]]),
        ("DELETE FROM t WHERE id IN (%, %)", &[["1", "2"], ["3", "3"], ["4", "5"]]),
        ("REPLACE t VALUES (%, %, 'x')", &[["1", "2"], ["3", "3"], ["4", "5"]]),
    ] {
        let world = World::new();
        let filled = |values: &[&str; 2]| form.replacen('%', values[0], 1).replacen('%', values[1], 1);
        let first = filled(&["8", "9"]);
        let ByForm::New(new) = world.find(&first) else { panic!("it is new") };
        world.forms.keep_write(new.form, &freshet_sql::effects(first.as_bytes(), MODES));
        for values in values {
            let text = filled(values);
            let ByForm::Known(Bound::Write(bound)) = world.find(&text) else { panic!("{text}") };
            assert_eq!(bound.effects(), &freshet_sql::effects(text.as_bytes(), MODES), "{text}");
            let own = freshet_sql::row_write(text.as_bytes(), MODES);
            assert!(own.is_some(), "{text}");
            assert_eq!(bound.rows(statement(&text)), own, "{text}");
            assert!(bound.compiled.rows.get().is_some_and(Option::is_some), "{text}: it is shared");
        }
    }
}

#[test]
fn the_third_statement_is_found_by_its_skeleton_as_long_as_its_template_is_current() {
    let world = World::new();
    world.keep("SELECT a FROM t WHERE id = 1");
    let found = |text: &'static str, current: Option<&Arc<CompiledSelect>>| {
        let is_current = |template: &Template| current.is_none_or(|it| std::ptr::eq(&*it.template, template));
        match world.forms.bind(text.as_bytes(), MODES, Some("s"), is_current) {
            ByForm::Known(Bound::Select(select)) => Some(select),
            _ => None,
        }
    };
    let second = found("SELECT a FROM t WHERE id = 2", None).unwrap();
    let third = found("SELECT a FROM t WHERE id = 3", None).unwrap();
    assert!(second.digest_memo().is_none() && third.digest_memo().is_some());
    assert!(!second.is_plain() && third.is_plain(), "only a known skeleton tells");
    assert!(Arc::ptr_eq(&second.compiled, &third.compiled));
    assert_eq!(third.read.values, [Datum::Int(3)]);
    // The same form, but not the same skeleton.
    assert!(found("SELECT a  FROM t WHERE id = 4", None).unwrap().digest_memo().is_none());
    let other = "SELECT a FROM t WHERE id = 5";
    let compiled =
        Arc::new(self::compiled(template(other.as_bytes()), &Tokens::cut(other.as_bytes(), MODES)));
    assert!(found(other, Some(&compiled)).is_none(), "a definition has changed");
    let mut slotted = Slotted::default();
    assert!(slotted.read(other.as_bytes(), MODES, Some("s")));
    world.forms.keep_select(Some(slotted.form().into()), &compiled);
    let anew = found("SELECT a FROM t WHERE id = 6", Some(&compiled)).unwrap();
    assert!(Arc::ptr_eq(&anew.compiled, &compiled) && anew.digest_memo().is_none());
    let next = found("SELECT a FROM t WHERE id = 7", Some(&compiled)).unwrap();
    assert!(Arc::ptr_eq(&next.compiled, &compiled) && next.digest_memo().is_some());
}
