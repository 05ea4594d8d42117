//! What the catalog says of real tables on real servers.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout)]

#[path = "../../upstream/tests/common/mod.rs"]
mod common;

use std::sync::Arc;

use common::{MARIADB, MYSQL, account, connect, run, with_server};
use freshet_cache::{Freshness, Position};
use freshet_catalog::{
    Catalog, CatalogError, Changed, Code, ForeignKeys, Name, ReadKeys, Routine, TableInfo, TableKind,
    WantedKeys,
};
use freshet_sql::{RoutineKind, TableName};
use freshet_upstream::{Connection, ServerInfo, UpstreamConfig};

struct Bench {
    freshness: Arc<Freshness>,
    catalog: Catalog,
    connection: Connection,
    server: ServerInfo,
}

impl Bench {
    async fn new(config: &UpstreamConfig) -> Self {
        let mut connection = connect(config).await;
        let server = ServerInfo::read(&mut connection).await.unwrap();
        let freshness = Arc::new(Freshness::new());
        freshness.publish_applied(Position::new(10));
        freshness.publish_visible(Position::new(10));
        let catalog = Catalog::new(freshness.clone());
        catalog.begin(&server);
        let mut bench = Self { freshness, catalog, connection, server };
        bench.read_foreign_keys().await;
        bench
    }

    async fn read_foreign_keys(&mut self) {
        let (ticket, wanted) = self.catalog.foreign_keys_wanted().unwrap();
        let keys = ForeignKeys::read_wanted(&mut self.connection, &self.server, wanted).await.unwrap();
        self.catalog.accept_foreign_keys(ticket, keys, self.freshness.applied());
    }

    /// Returns what foreign keys lead to from a table.
    fn reached(&self, name: &str) -> Vec<Name> {
        self.catalog.descendants("up_cat", name).unwrap().all.clone()
    }

    async fn load(&mut self, schema: &str, name: &str) -> Result<Arc<TableInfo>, CatalogError> {
        let name = (schema.to_owned(), name.to_owned());
        self.catalog.load(&mut self.connection, &self.server, name, None).await
    }

    async fn table(&mut self, name: &str) -> Arc<TableInfo> {
        self.load("up_cat", name).await.unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    async fn load_routine(&mut self, kind: RoutineKind, name: &str) -> Result<Arc<Routine>, CatalogError> {
        let (schema, name) = name.split_once('.').unwrap();
        let name = (schema.to_owned(), name.to_owned());
        self.catalog.load_routine(&mut self.connection, &self.server, kind, &name).await
    }

    /// Returns what it does, if that is known.
    async fn routine(&mut self, kind: RoutineKind, name: &str) -> Option<Code> {
        let routine = self.load_routine(kind, name).await;
        routine.unwrap_or_else(|error| panic!("{name}: {error}")).code.clone()
    }

    async fn refusal(&mut self, name: &str) -> String {
        self.table(name).await.cacheable.clone().expect_err(name)
    }
}

const SETUP: &[&str] = &[
    "DROP DATABASE IF EXISTS up_cat2",
    "DROP DATABASE IF EXISTS up_cat",
    "CREATE DATABASE up_cat",
    "CREATE DATABASE up_cat2",
    "CREATE TABLE up_cat.p (id INT PRIMARY KEY, b VARCHAR(10))",
    "CREATE TABLE up_cat.m (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES up_cat.p (id) ON DELETE CASCADE)",
    "CREATE TABLE up_cat2.`c-\u{e9}` (id INT PRIMARY KEY, mid INT, FOREIGN KEY (mid) REFERENCES up_cat.m (id) ON UPDATE SET NULL)",
    "CREATE TABLE up_cat.r (id INT PRIMARY KEY, pid INT, FOREIGN KEY (pid) REFERENCES up_cat.p (id))",
    "CREATE VIEW up_cat.v AS SELECT p.id, m.pid FROM up_cat.p JOIN up_cat.m ON m.pid = p.id WHERE p.b = 'it''s \"x\"'",
    "CREATE VIEW up_cat.v2 AS SELECT * FROM up_cat.v WHERE id < 5",
    "CREATE VIEW up_cat.v_now AS SELECT id, NOW() AS t FROM up_cat.p",
    "CREATE VIEW up_cat.v_v_now AS SELECT id FROM up_cat.v_now",
    "CREATE TABLE up_cat.mem (id INT) ENGINE = MEMORY",
    "CREATE TABLE up_cat.isam (id INT) ENGINE = MyISAM",
    "CREATE TABLE up_cat.g (id INT PRIMARY KEY, b VARCHAR(9), s VARCHAR(20) AS (CONCAT(b, 'a''b\\\\')) VIRTUAL, t VARCHAR(9) AS (UPPER(b)) STORED)",
    "CREATE TABLE up_cat.trig (id INT)",
    "CREATE TRIGGER up_cat.tr BEFORE INSERT ON up_cat.trig FOR EACH ROW SET NEW.id = 1",
    "CREATE TABLE up_cat.trig_log (id INT)",
    "CREATE TABLE up_cat.trig_audit (id INT)",
    "CREATE TABLE up_cat.trig_temp (id INT)",
    "CREATE TABLE up_cat.trig_chain (id INT)",
    "CREATE TRIGGER up_cat.au AFTER INSERT ON up_cat.trig_audit FOR EACH ROW INSERT INTO trig_log VALUES (NEW.id)",
    "CREATE TRIGGER up_cat.lo AFTER INSERT ON up_cat.trig_log FOR EACH ROW BEGIN SET @l = NEW.id; \
     UPDATE p SET b = 'x' WHERE id = NEW.id; DELETE FROM up_cat.trig_audit WHERE id = -1; END",
    "CREATE TRIGGER up_cat.te AFTER INSERT ON up_cat.trig_temp FOR EACH ROW CREATE TEMPORARY TABLE x SELECT 1 AS a",
    "CREATE TRIGGER up_cat.ch AFTER INSERT ON up_cat.trig_chain FOR EACH ROW INSERT INTO trig_temp VALUES (1)",
    "CREATE TABLE up_cat.`odd'na``me` (id INT)",
];

fn name(schema: &str, name: &str) -> Name {
    (schema.into(), name.into())
}

async fn tables_and_views(config: UpstreamConfig) {
    let mut admin = connect(&config).await;
    run(&mut admin, SETUP).await;
    let mut bench = Bench::new(&config).await;

    let p = bench.table("p").await;
    assert_eq!((&p.kind, p.engine.as_str(), &p.cacheable), (&TableKind::Base, "InnoDB", &Ok(())));
    assert_eq!(p.base_tables, [name("up_cat", "p")]);
    assert_eq!(bench.reached("p"), [name("up_cat", "m"), name("up_cat2", "c-\u{e9}")]);
    triggers(&mut bench, &p).await;
    assert!(Arc::ptr_eq(&p, &bench.catalog.known("up_cat", "p").unwrap()));
    assert!(bench.reached("r").is_empty());

    let v2 = bench.table("v2").await;
    let TableKind::View { names, text: Some(text) } = &v2.kind else { panic!("{:?}", v2.kind) };
    assert_eq!(*names, [name("up_cat", "v")]);
    assert_eq!(text.tables(), [TableName::of("up_cat", "v")]);
    assert_eq!(v2.cacheable, Ok(()));
    let mut below = v2.base_tables.clone();
    below.sort();
    assert_eq!(below, ["m", "p", "v", "v2"].map(|table| name("up_cat", table)));
    assert_eq!(v2.base_tables[0], name("up_cat", "v2"));

    assert!(bench.refusal("v_now").await.starts_with("up_cat.v_now: "));
    assert!(bench.refusal("v_v_now").await.starts_with("up_cat.v_now: "));
    assert!(bench.refusal("mem").await.contains("MEMORY"));
    assert!(bench.refusal("nothing").await.contains("cannot see it"));
    for fine in ["isam", "g", "odd'na`me", "trig"] {
        assert_eq!(bench.table(fine).await.cacheable, Ok(()), "{fine}");
    }
    for system in ["mysql", "information_schema", "performance_schema", "sys"] {
        let table = if system == "mysql" { "user" } else { "tables" };
        assert!(bench.load(system, table).await.unwrap().cacheable.is_err(), "{system}");
    }
}

/// What triggers write, however far that leads; and which of them are not understood.
async fn triggers(bench: &mut Bench, p: &TableInfo) {
    assert!(!p.has_triggers && p.triggers == Some(Code::default()));
    let harmless = bench.table("trig").await;
    assert!(!harmless.has_triggers && harmless.triggers == Some(Code { any: true, ..Code::default() }));
    let writes = bench.table("trig_audit").await.triggers.clone().unwrap();
    // The log, its own trigger's table, and what that writes, which leads back.
    let expected = [("up_cat", "p"), ("up_cat", "trig_audit"), ("up_cat", "trig_log")]
        .map(|(schema, table)| name(schema, table));
    for table in &expected {
        assert!(writes.writes.contains(table), "{table:?}: {writes:?}");
    }
    assert!(!writes.writes.contains(&name("up_cat", "trig")) && writes.session);
    for unknown in ["trig_temp", "trig_chain"] {
        assert!(bench.table(unknown).await.has_triggers, "{unknown}");
    }
}

#[test]
fn mariadb_tables_and_views() {
    with_server(MARIADB, async |config| {
        tables_and_views(config.clone()).await;
        let mut bench = Bench::new(&config).await;
        run(
            &mut bench.connection,
            &[
                "CREATE TABLE up_cat.sv (id INT) WITH SYSTEM VERSIONING",
                "CREATE SEQUENCE up_cat.seq",
                "CREATE TABLE up_cat.aria (id INT) ENGINE = Aria",
                "CREATE TABLE up_cat.merged (id INT) ENGINE = MERGE UNION = (up_cat.isam)",
                "CREATE TABLE up_cat.of_none (id INT) ENGINE = MERGE",
                "CREATE TABLE up_cat.vol (id INT, t DATETIME AS (NOW()) VIRTUAL)",
            ],
        )
        .await;
        assert!(bench.refusal("sv").await.contains("system-versioned"));
        assert!(bench.refusal("seq").await.contains("sequence"));
        let merged = bench.table("merged").await;
        assert_eq!(
            (&merged.cacheable, merged.writes_elsewhere, merged.may_be_merged),
            (&Ok(()), false, true)
        );
        let names: Vec<&str> = merged.base_tables.iter().map(|name| name.1.as_str()).collect();
        assert_eq!(names, ["merged", "isam"]);
        assert!(bench.refusal("of_none").await.contains("MRG_MyISAM"));
        assert!(bench.table("of_none").await.writes_elsewhere);
        assert!(bench.refusal("vol").await.contains("virtual column t"));
        assert_eq!(bench.table("aria").await.cacheable, Ok(()));
        definitions_that_change(config).await;
    });
}

#[test]
fn mysql_tables_and_views() {
    with_server(MYSQL, async |config| {
        tables_and_views(config.clone()).await;
        definitions_that_change(config).await;
    });
}

async fn definitions_that_change(config: UpstreamConfig) {
    let mut bench = Bench::new(&config).await;
    let at = |position| Position::new(position);
    let p = bench.freshness.table("up_cat", "p");

    // A change that was stamped but is not known visible: the reading may be from before it.
    bench.freshness.stamp(p.definition, at(11));
    bench.freshness.publish_applied(at(11));
    assert!(matches!(bench.load("up_cat", "p").await, Err(CatalogError::Unsettled)));
    assert!(bench.catalog.known("up_cat", "p").is_none());
    // A view over it is as unsettled.
    assert!(matches!(bench.load("up_cat", "v2").await, Err(CatalogError::Unsettled)));
    bench.freshness.publish_visible(at(11));
    assert!(bench.load("up_cat", "p").await.is_ok() && bench.load("up_cat", "v2").await.is_ok());

    // A change of rows does not matter.
    bench.freshness.stamp(p.rows, at(12));
    assert!(bench.load("up_cat", "p").await.is_ok());

    // Nor does a write that is under way: its fence keeps entries from being served, and says nothing of a definition.
    let fence = bench.freshness.fence(vec![p.definition]);
    assert!(bench.load("up_cat", "p").await.is_ok());
    drop(fence);
    // A definition that changes: what rests on it is not known any more, and the rest is.
    let (version, r) = (bench.catalog.version(), bench.table("r").await);
    bench.catalog.changed(Changed::Tables(&[name("up_cat", "p")]));
    assert!(bench.catalog.version() > version && bench.catalog.known("up_cat", "p").is_none());
    assert!(bench.catalog.known("up_cat", "v2").is_none(), "a view over it");
    assert!(Arc::ptr_eq(&r, &bench.catalog.known("up_cat", "r").unwrap()));
    bench.catalog.changed(Changed::Schema("up_cat2"));
    assert!(bench.catalog.known("up_cat", "r").is_some());
    bench.catalog.changed(Changed::Schema("up_cat"));
    assert!(bench.catalog.known("up_cat", "r").is_none());
    // Until its foreign keys are read again, the changed table may be anyone's child.
    assert_eq!(bench.reached("r"), [name("up_cat", "m"), name("up_cat", "p"), name("up_cat2", "c-\u{e9}")]);
    bench.read_foreign_keys().await;
    assert!(bench.reached("r").is_empty());
    bench.catalog.changed(Changed::Everything);
    assert!(matches!(bench.load("up_cat", "r").await, Err(CatalogError::Unsettled)));
    bench.read_foreign_keys().await;
    assert!(bench.table("r").await.cacheable.is_ok() && bench.reached("r").is_empty());
}

/// A change, what it names, and what a delete and an update of the parent's column lead to then.
type KeyChange<'a> = (&'a str, &'a [&'a str], &'a [&'a str], &'a [&'a str]);

/// After the first time, the keys are read of the tables that changed, and of those that refer to them.
async fn keys_of_changed_tables(config: UpstreamConfig) {
    let mut admin = connect(&config).await;
    let setup = [
        "DROP DATABASE IF EXISTS up_keys",
        "CREATE DATABASE up_keys",
        "CREATE TABLE up_keys.p (id INT PRIMARY KEY, n INT NOT NULL UNIQUE)",
        "CREATE TABLE up_keys.c (id INT PRIMARY KEY, p INT, n INT, CONSTRAINT by_id FOREIGN KEY (p) REFERENCES up_keys.p (id) ON DELETE CASCADE)",
    ];
    run(&mut admin, &setup).await;
    let mut bench = Bench::new(&config).await;
    let changes: &[KeyChange<'_>] = &[
        (
            "CREATE TABLE g (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES c (id) ON DELETE SET NULL)",
            &["g"],
            &["c", "g"],
            &[],
        ),
        (
            "ALTER TABLE c ADD CONSTRAINT by_n FOREIGN KEY (n) REFERENCES p (n) ON UPDATE CASCADE",
            &["c"],
            &["c", "g"],
            &["c", "g"],
        ),
        ("ALTER TABLE c DROP FOREIGN KEY by_id", &["c"], &[], &["c", "g"]),
        ("RENAME TABLE p TO q", &["p", "q"], &[], &[]),
        ("RENAME TABLE q TO p", &["p", "q"], &[], &["c", "g"]),
        (
            "CREATE TABLE other (id INT PRIMARY KEY, FOREIGN KEY (id) REFERENCES p (id))",
            &["other"],
            &[],
            &["c", "g"],
        ),
        ("DROP TABLE other", &["other"], &[], &["c", "g"]),
        ("DROP TABLE g", &["g"], &[], &["c"]),
        ("DROP TABLE c", &["c"], &[], &[]),
    ];
    run(&mut admin, &["USE up_keys"]).await;
    for (change, names, on_delete, on_update) in changes {
        run(&mut admin, &[change]).await;
        let names: Vec<Name> = names.iter().map(|it| name("up_keys", it)).collect();
        bench.catalog.changed(Changed::Tables(&names));
        let (ticket, wanted) = bench.catalog.foreign_keys_wanted().unwrap();
        assert!(
            matches!(&wanted, WantedKeys::Of(of) if names.iter().all(|name| of.contains(name))),
            "{change}"
        );
        let keys = ForeignKeys::read_wanted(&mut bench.connection, &bench.server, wanted).await.unwrap();
        assert!(matches!(keys, ReadKeys::Of(..)), "{change}");
        bench.catalog.accept_foreign_keys(ticket, keys, bench.freshness.applied());
        let reached = bench.catalog.descendants("up_keys", "p").unwrap();
        let named = |names: &[&str]| names.iter().map(|it| name("up_keys", it)).collect::<Vec<_>>();
        assert_eq!(reached.on_delete, named(on_delete), "{change}");
        let updated: Vec<Name> = reached.on_update_of(|column| column == "n").cloned().collect();
        assert_eq!(updated, named(on_update), "{change}");
        assert_eq!(reached.on_update_of(|column| column == "id").count(), 0, "{change}");
        // A reading of all says the same.
        bench.catalog.changed(Changed::Everything);
        bench.read_foreign_keys().await;
        assert_eq!(*bench.catalog.descendants("up_keys", "p").unwrap(), *reached, "{change}");
    }
}

#[test]
fn mariadb_keys_of_changed_tables() {
    with_server(MARIADB, keys_of_changed_tables);
}

#[test]
fn mysql_keys_of_changed_tables() {
    with_server(MYSQL, keys_of_changed_tables);
}

/// A table that is locked for a change is not described by halves. LOCK TABLES does not go as far as
/// a change does, so the change is held up by a transaction that reads the table.
async fn while_it_changes(config: UpstreamConfig) {
    let mut admin = connect(&config).await;
    let (mut reader, mut changer) = (connect(&config).await, connect(&config).await);
    run(
        &mut admin,
        &[
            "DROP DATABASE IF EXISTS up_lock",
            "CREATE DATABASE up_lock",
            "CREATE TABLE up_lock.t (id INT, v DATETIME AS (NULL) VIRTUAL)",
        ],
    )
    .await;
    let mut bench = Bench::new(&config).await;
    run(&mut reader, &["BEGIN", "SELECT * FROM up_lock.t"]).await;
    run(&mut changer, &["SET SESSION lock_wait_timeout = 2"]).await;
    let changing = async { changer.query("ALTER TABLE up_lock.t ADD COLUMN c INT").await };
    let loading = async {
        tokio::time::sleep(std::time::Duration::from_millis(300)).await;
        let begun = std::time::Instant::now();
        let loaded = bench.load("up_lock", "t").await;
        assert!(begun.elapsed().as_millis() < 1500, "nobody may be kept waiting");
        match loaded {
            Ok(table) => assert_eq!((table.engine.as_str(), &table.cacheable), ("InnoDB", &Ok(()))),
            Err(error) => assert!(matches!(error, CatalogError::Unsettled), "{error}"),
        }
    };
    let (changed, ()) = tokio::join!(changing, loading);
    println!("the change: {:?}", changed.map(|_| ()).map_err(|error| error.to_string()));
}

#[test]
fn mariadb_while_it_changes() {
    with_server(MARIADB, while_it_changes);
}

#[test]
fn mysql_while_it_changes() {
    with_server(MYSQL, while_it_changes);
}

const ROUTINES: &[&str] = &[
    "DROP DATABASE IF EXISTS up_run",
    "DROP DATABASE IF EXISTS up_run2",
    "CREATE DATABASE up_run",
    "CREATE DATABASE up_run2",
    "SET GLOBAL log_bin_trust_function_creators = 1",
    "USE up_run",
    "CREATE TABLE a (id INT PRIMARY KEY)",
    "CREATE TABLE b (id INT PRIMARY KEY)",
    "CREATE TABLE c (id INT, FOREIGN KEY (id) REFERENCES b (id) ON DELETE CASCADE)",
    "CREATE TABLE up_run2.a (id INT)",
    "CREATE TRIGGER ta AFTER INSERT ON a FOR EACH ROW CALL up_run.deletes('it''s', 'x')",
    "CREATE PROCEDURE deletes(x VARCHAR(9), y VARCHAR(9)) BEGIN START TRANSACTION; DELETE FROM b; COMMIT; END",
    "CREATE PROCEDURE chain() BEGIN IF f(1) THEN INSERT INTO up_run.a VALUES (1); END IF; SET @x = 1; END",
    "CREATE FUNCTION f(x INT) RETURNS INT READS SQL DATA RETURN (SELECT MAX(id) + x FROM a)",
    "CREATE FUNCTION g() RETURNS INT BEGIN INSERT INTO b VALUES (1); RETURN 1; END",
    "CREATE PROCEDURE up_run2.f() INSERT INTO a VALUES (1)",
    "CREATE PROCEDURE round(n INT) IF n > 0 THEN CALL around(n); END IF",
    "CREATE PROCEDURE around(n INT) CALL ROUND(n - 1)",
    "CREATE PROCEDURE hides() CREATE TEMPORARY TABLE a SELECT 1 AS id",
    "CREATE PROCEDURE leads() BEGIN SELECT 'a''b'; CALL Hides(); SELECT 'c''d'; END",
    "CREATE PROCEDURE lost() CALL up_run.nowhere()",
    "CREATE VIEW v AS SELECT g() AS x",
    "CREATE VIEW w AS SELECT RAND() AS r, x FROM v",
    "CREATE PROCEDURE looks() SELECT x FROM w",
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "CREATE PROCEDURE moded() SELECT 1",
    "SET sql_mode = DEFAULT",
];

/// What routines write, followed from one to the next; and which of them are not understood.
async fn routines(config: UpstreamConfig) {
    use RoutineKind::{Function, Procedure};
    let mut admin = connect(&config).await;
    run(&mut admin, ROUTINES).await;
    let mut bench = Bench::new(&config).await;
    let understood: &[(RoutineKind, &str, &[&str], bool, bool)] = &[
        (Procedure, "up_run.deletes", &["up_run.b"], false, true),
        (Procedure, "up_run.CHAIN", &["up_run.a", "up_run.b"], true, true),
        (Function, "up_run.f", &[], false, false),
        (Procedure, "up_run2.f", &["up_run2.a"], false, false),
        (Procedure, "up_run.around", &[], false, false),
        (Procedure, "up_run.looks", &["up_run.b"], false, false),
    ];
    for (kind, routine, writes, session, commits) in understood {
        let code = bench.routine(*kind, routine).await.unwrap_or_else(|| panic!("{routine}"));
        let all = code.writes.iter().chain(code.rows.iter().map(|(name, _)| name));
        let mut found: Vec<String> = all.map(|(schema, name)| format!("{schema}.{name}")).collect();
        found.sort_unstable();
        assert_eq!(found, *writes, "{routine}");
        assert_eq!((code.session, code.commits), (*session, *commits), "{routine}");
    }
    for routine in ["hides", "leads", "moded"] {
        assert_eq!(bench.routine(Procedure, &format!("up_run.{routine}")).await, None, "{routine}");
    }
    // Our account sees all that there are; `g` is a function.
    for routine in ["lost", "nowhere", "g"] {
        let code = bench.routine(Procedure, &format!("up_run.{routine}")).await.expect("it is not there");
        assert!(code.writes.is_empty() && !code.session && !code.commits, "{routine}");
    }
    let w = bench.load("up_run", "w").await.unwrap();
    assert!(!w.runs_unknown_code && w.runs_any_code() && w.cacheable.is_err());
    assert_eq!(w.reading.clone().unwrap().writes, [name("up_run", "b")]);

    // It is kept until any routine changes, and refused if one may have changed while it was read.
    assert!(bench.catalog.known_routine(Procedure, "up_run", "DELETES").is_some());
    let changed = bench.freshness.table("up_run", "deletes()").definition;
    bench.freshness.stamp(changed, Position::new(11));
    bench.catalog.changed(Changed::Routine);
    assert!(bench.catalog.known_routine(Procedure, "up_run", "deletes").is_none());
    for routine in ["deletes", "chain"] {
        let refused = bench.load_routine(Procedure, &format!("up_run.{routine}")).await;
        assert!(matches!(refused, Err(CatalogError::Unsettled)), "{routine}");
    }
    assert!(bench.load_routine(Procedure, "up_run2.f").await.is_ok());
    bench.freshness.publish_applied(Position::new(11));
    bench.freshness.publish_visible(Position::new(11));
    assert!(bench.routine(Procedure, "up_run.chain").await.is_some());

    routines_unseen(&config, &mut admin).await;
}

/// By an account that may run them but not see them.
async fn routines_unseen(config: &UpstreamConfig, admin: &mut Connection) {
    run(
        admin,
        &[
            "DROP USER IF EXISTS up_run",
            "CREATE USER up_run IDENTIFIED BY 'pw'",
            "GRANT SELECT, TRIGGER, SHOW VIEW, EXECUTE ON up_run.* TO up_run",
            "GRANT REPLICATION CLIENT, REPLICATION SLAVE, PROCESS ON *.* TO up_run",
        ],
    )
    .await;
    let mut blind = Bench::new(&account(config, "up_run", "pw")).await;
    for routine in ["up_run.deletes", "up_run.nowhere"] {
        assert_eq!(blind.routine(RoutineKind::Procedure, routine).await, None, "{routine}");
    }
    assert!(blind.load("up_run", "w").await.unwrap().runs_unknown_code);
    run(admin, &["GRANT SELECT, SHOW VIEW ON *.* TO up_run"]).await;
    let mut seeing = Bench::new(&account(config, "up_run", "pw")).await;
    assert!(seeing.routine(RoutineKind::Procedure, "up_run.deletes").await.is_some());
    assert!(!seeing.load("up_run", "w").await.unwrap().runs_unknown_code);
    run(admin, &["DROP USER up_run"]).await;
}

#[test]
fn mariadb_routines() {
    with_server(MARIADB, routines);
}

#[test]
fn mysql_routines() {
    with_server(MYSQL, routines);
}

/// An account that sees little: what it cannot see is not cached.
async fn few_privileges(config: UpstreamConfig) {
    let mut admin = connect(&config).await;
    let replication = "REPLICATION CLIENT, REPLICATION SLAVE";
    run(
        &mut admin,
        &[
            "DROP DATABASE IF EXISTS up_few",
            "DROP DATABASE IF EXISTS up_hidden",
            "CREATE DATABASE up_few",
            "CREATE DATABASE up_hidden",
            "CREATE TABLE up_hidden.top (id INT PRIMARY KEY)",
            "CREATE TABLE up_few.below (id INT, FOREIGN KEY (id) REFERENCES up_hidden.top (id) ON DELETE CASCADE)",
            "CREATE TABLE up_few.free (id INT, c INT)",
            "CREATE VIEW up_few.v AS SELECT id FROM up_few.free",
            "CREATE TABLE up_hidden.col (id INT, c INT)",
            "CREATE TABLE up_hidden.tab (id INT, c INT)",
            "DROP USER IF EXISTS up_few",
            "CREATE USER up_few IDENTIFIED BY 'pw'",
            "GRANT SELECT ON up_few.* TO up_few",
            "GRANT SELECT (id) ON up_hidden.col TO up_few",
            "GRANT SELECT ON up_hidden.tab TO up_few",
            &format!("GRANT {replication} ON *.* TO up_few"),
        ],
    )
    .await;
    let mut bench = Bench::new(&account(&config, "up_few", "pw")).await;
    let mut refusal =
        async |schema: &str, name: &str| bench.load(schema, name).await.unwrap().cacheable.clone();
    assert_eq!(refusal("up_few", "free").await, Ok(()));
    assert_eq!(refusal("up_hidden", "tab").await, Ok(()));
    assert!(refusal("up_few", "below").await.unwrap_err().contains("up_hidden.top"));
    assert!(refusal("up_few", "v").await.unwrap_err().contains("SHOW VIEW"));
    assert!(refusal("up_hidden", "top").await.unwrap_err().contains("cannot see it"));
    assert!(refusal("up_hidden", "col").await.unwrap_err().contains("all its columns"));
    // Without TRIGGER it cannot be seen that there are none.
    assert!(bench.load("up_few", "free").await.unwrap().has_triggers);

    run(&mut admin, &["GRANT PROCESS ON *.* TO up_few"]).await;
    let mut bench = Bench::new(&account(&config, "up_few", "pw")).await;
    assert_eq!(bench.load("up_few", "below").await.unwrap().cacheable, Ok(()));
    let reached = bench.catalog.descendants("up_hidden", "top").unwrap();
    assert_eq!(reached.all, [name("up_few", "below")]);
}

#[test]
fn mariadb_with_few_privileges() {
    with_server(MARIADB, few_privileges);
}

#[test]
fn mysql_with_few_privileges() {
    with_server(MYSQL, few_privileges);
}
