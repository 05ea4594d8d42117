//! An isolation level for one transaction alone, however it is said, lets nobody else see what was never committed.

use freshet_tests::cached::{Counted, answer, connect, eventually, fresh_schema, run};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};

use crate::freshness::steps::{Execute, Ping, Prepare, Run, Say, Step, walk};

const SETUP: &[&str] = &[
    "CREATE TABLE w (id INT PRIMARY KEY, v VARCHAR(20))",
    "INSERT INTO w VALUES (1, 'clean'), (2, 'clean')",
    "CREATE PROCEDURE dirty() SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED",
    "CREATE PROCEDURE dirty_rows() BEGIN SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; SELECT 1; END",
    "CREATE PROCEDURE dirty_fails() BEGIN SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; SIGNAL SQLSTATE '45000'; END",
];

const PLAIN: &str = "SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED";
const FORMS: &[&[Step<'static>]] = &[
    &[Say(PLAIN)],
    &[Say("/* by a comment */ SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")],
    &[Say("-- by a line\nSET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")],
    &[Say("# by another\n  SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")],
    &[Say("SET/**/TRANSACTION/**/ISOLATION/**/LEVEL/**/READ/**/UNCOMMITTED")],
    &[Say("/*!50000 SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED */")],
    &[Say("SET /*!50000 TRANSACTION */ ISOLATION LEVEL READ UNCOMMITTED")],
    &[Say("SET TRANSACTION READ ONLY, ISOLATION LEVEL READ UNCOMMITTED")],
    &[Say("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED, READ WRITE")],
    &[Say("SELECT 1; SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")],
    &[Say("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; SELECT 1")],
    &[Say("SET @a = 1; SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; SET @b = 2")],
    &[Say("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; selec")],
    &[Execute(PLAIN)],
    &[Execute("/* x */ SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED")],
    &[Prepare(PLAIN), Say("SELECT 1"), Run],
    &[Say("PREPARE s FROM 'SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED'"), Say("EXECUTE s")],
    &[
        Say("SET @t = 'SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED'"),
        Say("PREPARE s FROM @t"),
        Say("EXECUTE s"),
        Say("DEALLOCATE PREPARE s"),
    ],
    &[Say("CALL dirty()")],
    &[Say("CALL dirty_rows()")],
    &[Say("CALL dirty_fails()")],
    &[Execute("CALL dirty()")],
    &[Say("SET NAMES utf8mb4"), Say(PLAIN)],
    &[Say("SET query_cache_type = 1"), Say(PLAIN)],
];

/// By the variable, `#` in whose place is the name that the server has for it.
const BY_VARIABLE: &[&str] = &[
    "SET @@# = 'READ-UNCOMMITTED'",
    "SET @@`#` = 'read-uncommitted'",
    "SET @@# = 0",
    "/* x */ SET @@# := 'READ-UNCOMMITTED'",
    "SET @a = 1, @@# = 'READ-UNCOMMITTED'",
    "SET SESSION div_precision_increment = 4, @@# = 'READ-UNCOMMITTED'",
    "SET query_cache_type = 1, @@# = 'READ-UNCOMMITTED'",
    "SELECT 1; SET @@# = 'READ-UNCOMMITTED'",
];

const ON_MARIADB: &[&[Step<'static>]] = &[
    &[Say("EXECUTE IMMEDIATE 'SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED'")],
    &[Say("BEGIN NOT ATOMIC SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED; END")],
    &[Say("/*M! SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED */")],
];

/// What may come between the level and the read, some of which uses the level up and most of which does not.
const BETWEEN: &[&[Step<'static>]] = &[
    &[],
    &[Say("SELECT 1")],
    &[Say("DO 1")],
    &[Ping],
    &[Say("SHOW TABLES")],
    &[Say("SET @x = 1")],
    &[Say("SET NAMES utf8mb4")],
    &[Say("SAVEPOINT a")],
    &[Say("selec")],
    &[Say("SELECT nothing FROM w")],
    &[Prepare("SELECT v FROM w")],
    &[Say("PREPARE s FROM 'SELECT 1'"), Say("EXECUTE s")],
    &[Say("COMMIT")],
    &[Say("BEGIN")],
    &[Say("START TRANSACTION READ ONLY")],
    &[Say("USE fresh_isolation_between")],
    &[Say("EXPLAIN SELECT v FROM w")],
    &[Say("SELECT v FROM w WHERE id = 2")],
    &[Execute("SELECT v FROM w WHERE id = 2")],
];

fn read(case: &str) -> String {
    format!("SELECT id, v FROM w WHERE id = 1 /* {case} */")
}

struct Stage<'a> {
    server: &'a Server,
    freshet: &'a Freshet,
    schema: &'static str,
}

impl<'a> Stage<'a> {
    fn new(server: &'a Server, freshet: &'a Freshet, schema: &'static str) -> Stage<'a> {
        run(&mut fresh_schema(server, schema), SETUP);
        Stage { server, freshet, schema }
    }

    /// What a client sees that reads while another has a change open; the change is undone.
    fn seen_of_an_open_change(&self, target: &Target, steps: &[Step<'_>], case: &str) -> Vec<String> {
        let mut writer = connect(&self.server.target, self.schema);
        let mut client = connect(target, self.schema);
        run(&mut writer, &["BEGIN", "UPDATE w SET v = 'dirty' WHERE id = 1"]);
        let mut seen: Vec<String> =
            walk(&mut client, steps).iter().map(|answer| format!("{answer:?}")).collect();
        seen.extend((0..3).map(|_| format!("{:?}", answer(&mut client, &read(case)))));
        run(&mut writer, &["ROLLBACK"]);
        seen
    }

    /// Whether anything dirty was read, by the client that asked for it.
    fn try_case(&self, steps: &[Step<'_>], case: &str) -> Result<bool, String> {
        let wanted = self.seen_of_an_open_change(&self.server.target, steps, case);
        let mut counted = Counted::of(self.freshet);
        let mut other = connect(self.freshet.target(), self.schema);
        // Nothing that came before hinders the cache.
        let _ = counted.prime(&mut other, &format!("SELECT v FROM w WHERE id = 2 /* {case} */"));
        let got = self.seen_of_an_open_change(self.freshet.target(), steps, case);
        // The server itself may not know our variables.
        if got != wanted && !format!("{steps:?}").contains("query_cache") {
            return Err(format!("{steps:?}: {got:?} instead of {wanted:?}"));
        }
        for time in 0..3 {
            let got = answer(&mut other, &read(case));
            if got != Ok(vec![vec!["1".into(), "clean".into()]]) {
                return Err(format!("{steps:?}: another client is told {got:?} (time {time})"));
            }
        }
        Ok(got.iter().any(|answer| answer.contains("dirty")))
    }

    /// How many of the cases read anything dirty.
    fn run(&self, cases: &[Vec<Step<'_>>]) -> usize {
        let numbered = cases.iter().enumerate();
        let tried: Vec<_> =
            numbered.map(|(number, steps)| self.try_case(steps, &number.to_string())).collect();
        let wrong: Vec<_> = tried.iter().filter_map(|tried| tried.as_ref().err()).collect();
        assert!(wrong.is_empty(), "{:?}: {wrong:#?}", self.server.flavor);
        tried.into_iter().filter(|tried| *tried == Ok(true)).count()
    }
}

fn variable(flavor: Flavor) -> &'static str {
    match flavor {
        Flavor::MariaDb => "tx_isolation",
        Flavor::MySql => "transaction_isolation",
    }
}

#[test]
fn what_was_never_committed_is_kept_from_others() {
    with_each(|server, freshet| {
        let stage = Stage::new(server, freshet, "fresh_isolation");
        let variables: Vec<String> =
            BY_VARIABLE.iter().map(|text| text.replace('#', variable(server.flavor))).collect();
        let own: &[&[Step<'_>]] = if server.flavor == Flavor::MariaDb { ON_MARIADB } else { &[] };
        let mut cases: Vec<Vec<Step<'_>>> = FORMS.iter().chain(own).map(|steps| steps.to_vec()).collect();
        cases.extend(variables.iter().flat_map(|text| [vec![Say(text)], vec![Execute(text)]]));
        // Not every server prepares every statement; but nearly all of these read what is not committed.
        let dirty = stage.run(&cases);
        assert!(dirty * 10 >= cases.len() * 8, "only {dirty} of {} read anything dirty", cases.len());
    });
}

#[test]
fn a_level_stays_until_a_transaction_has_used_it() {
    with_each(|server, freshet| {
        let stage = Stage::new(server, freshet, "fresh_isolation_between");
        let variable = format!("SET @@{} = 'READ-UNCOMMITTED'", variable(server.flavor));
        let forms = [Say(PLAIN), Execute(PLAIN), Say(&variable), Say("CALL dirty()")];
        let cases: Vec<Vec<Step<'_>>> = forms
            .iter()
            .flat_map(|form| BETWEEN.iter().map(move |between| [&[*form][..], *between].concat()))
            .collect();
        let dirty = stage.run(&cases);
        assert!(dirty * 2 >= cases.len(), "only {dirty} of {} read anything dirty", cases.len());
    });
}

#[test]
fn the_levels_session_is_served_as_directly() {
    const SCRIPTS: &[&[Step<'static>]] = &[
        &[Say("SET TRANSACTION READ ONLY"), Say("BEGIN"), Say("UPDATE w SET v = v"), Say("COMMIT")],
        &[Say("/* x */ SET TRANSACTION READ ONLY"), Say("UPDATE w SET v = v"), Say("UPDATE w SET v = v")],
        &[Execute("SET TRANSACTION READ ONLY"), Say("SELECT 1"), Say("UPDATE w SET v = v")],
        &[Say("BEGIN"), Say("SET TRANSACTION ISOLATION LEVEL READ UNCOMMITTED"), Say("COMMIT")],
    ];
    with_each(|server, freshet| {
        run(&mut fresh_schema(server, "fresh_isolation_own"), SETUP);
        for steps in SCRIPTS {
            let [wanted, got] = [&server.target, freshet.target()]
                .map(|target| walk(&mut connect(target, "fresh_isolation_own"), steps));
            assert_eq!(got, wanted, "{:?}: {steps:?}", server.flavor);
        }
    });
}

#[test]
fn a_serializable_read_locks_what_is_remembered() {
    const READ: &str = "SELECT v FROM w WHERE id = 1";
    const FORMS: &[Step<'static>] = &[
        Say("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
        Say("/* x */ SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
        Execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
    ];
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "fresh_isolation_lock");
        run(&mut direct, SETUP);
        run(&mut direct, &["SET innodb_lock_wait_timeout = 1"]);
        let mut counted = Counted::of(freshet);
        for form in FORMS {
            let _ = counted.prime(&mut connect(freshet.target(), "fresh_isolation_lock"), READ);
            let mut client = connect(freshet.target(), "fresh_isolation_lock");
            // It knows its environment, and would be answered from memory.
            let _ = counted.prime(&mut client, READ);
            walk(&mut client, &[*form, Say("SELECT 1"), Say("BEGIN"), Say(READ)]);
            assert_eq!(answer(&mut direct, "UPDATE w SET v = 'x' WHERE id = 1"), Err(1205), "{form:?}");
            run(&mut client, &["COMMIT"]);
        }
    });
}

/// A read outside of transactions shows what is committed then, at either level.
#[test]
fn what_is_read_at_read_committed_answers_at_repeatable_read_and_the_other_way_round() {
    const LEVELS: [&str; 2] = ["READ COMMITTED", "REPEATABLE READ"];
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        run(&mut fresh_schema(server, "fresh_isolation_shared"), SETUP);
        let mut counted = Counted::of(freshet);
        let mut text = 0;
        for [first, second] in [LEVELS, [LEVELS[1], LEVELS[0]]] {
            let mut clients = [first, second].map(|level| {
                let mut client = connect(freshet.target(), "fresh_isolation_shared");
                run(&mut client, &[&format!("SET SESSION TRANSACTION ISOLATION LEVEL {level}")]);
                let _ = counted.prime(&mut client, "SELECT COUNT(*) FROM w");
                client
            });
            // A text that nobody has asked before, lest the second one finds its own answer.
            eventually(&format!("{:?}: an answer read at {first}, at {second}", server.flavor), || {
                text += 1;
                let read = format!("SELECT v FROM w WHERE id = 1 AND {text} = {text}");
                let _ = counted.prime(&mut clients[0], &read);
                (counted.hits_of(&mut clients[1], &read, 1) == 1).then_some(())
            });
        }
    });
}
