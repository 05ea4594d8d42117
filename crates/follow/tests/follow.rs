//! Following real servers. Needs FRESHET_TEST_MARIADB and FRESHET_TEST_MYSQL, URLs of servers with an account that may do
//! everything; a server that is not given is skipped, unless FRESHET_TEST_SERVERS is `required`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "a test")]

use std::future::Future;
use std::sync::Arc;
use std::time::{Duration, Instant};

use freshet_cache::{Dep, Freshness, Position};
use freshet_follow::{FollowState, FollowStatus, Upstream, WriteOutcome};
use freshet_protocol::binlog::{Gtid, GtidSet};
use freshet_upstream::control::connect;
use freshet_upstream::{Connection, Secret, UpstreamConfig, now_ms};

/// The tests of one server run one after another: some of them cut streams and change global variables.
const SCHEMA: &str = "freshet_follow";

const PATIENCE: Duration = Duration::from_secs(20);
/// InnoDB makes its list of transactions anew only where nobody has read it for a tenth of a second.
const TRANSACTIONS_PAUSE: Duration = Duration::from_millis(150);
/// So long is looked whether anything happens that should not.
const QUIET: Duration = Duration::from_millis(500);

struct Bench {
    config: UpstreamConfig,
    upstream: Upstream,
    freshness: Arc<Freshness>,
    writer: Connection,
}

impl Bench {
    async fn new(config: &UpstreamConfig) -> Self {
        let freshness = Arc::new(Freshness::new());
        let upstream = Upstream::start(config.clone(), Arc::clone(&freshness)).unwrap();
        let mut writer = connect(config).await.unwrap();
        for sql in [
            format!("DROP DATABASE IF EXISTS {SCHEMA}"),
            format!("CREATE DATABASE {SCHEMA}"),
            format!("USE {SCHEMA}"),
            "CREATE TABLE t (id INT PRIMARY KEY, v INT)".to_owned(),
        ] {
            writer.query(&sql).await.unwrap();
        }
        let bench = Self { config: config.clone(), upstream, freshness, writer };
        bench.until("live", |status| status.live).await;
        // Until the foreign keys are known every change is one of everything.
        bench.settled().await;
        bench
    }

    async fn write(&mut self, sql: &str) {
        self.writer.query(sql).await.unwrap_or_else(|error| panic!("{sql}: {error}"));
    }

    async fn value(&mut self, sql: &str) -> String {
        self.writer.query(sql).await.unwrap().text(0, 0).unwrap_or_default().to_owned()
    }

    fn rows(&self, table: &str) -> Position {
        self.freshness.stamp_of(self.freshness.table(SCHEMA, table).rows)
    }

    fn everything(&self) -> Position {
        self.freshness.stamp_of(Dep::EVERYTHING)
    }

    async fn until(&self, what: &str, reached: impl Fn(&FollowStatus) -> bool) {
        wait(what, || reached(&self.upstream.follow_status())).await;
    }

    /// Until what no binlog tells of was asked for once more.
    async fn looked_around(&self) {
        let now = now_ms();
        wait("a look around", || {
            self.upstream.ask_current();
            self.upstream.current_to_ms() > now
        })
        .await;
    }

    /// Until changes of a row no longer count as changes of everything.
    async fn settled(&self) {
        let mut writer = connect(&self.config).await.unwrap();
        writer.query(&format!("CREATE TABLE IF NOT EXISTS {SCHEMA}.settled (a INT)")).await.unwrap();
        let began = Instant::now();
        loop {
            let (everything, rows) = (self.everything(), self.rows("settled"));
            writer.query(&format!("INSERT INTO {SCHEMA}.settled VALUES (1)")).await.unwrap();
            wait("an insert", || self.rows("settled") > rows).await;
            if self.everything() == everything {
                return;
            }
            assert!(began.elapsed() < PATIENCE, "the foreign keys are never known");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    async fn last_gtid(&mut self) -> WriteOutcome {
        if self.upstream.server().unwrap().is_mariadb() {
            let text = self.value("SELECT @@last_gtid").await;
            return WriteOutcome::Committed(vec![Gtid::parse_mariadb(text.as_bytes()).unwrap()]);
        }
        let executed = GtidSet::parse(self.value("SELECT @@GLOBAL.gtid_executed").await.as_bytes()).unwrap();
        // With GTIDs off the set is empty, and the position decides.
        executed
            .iter()
            .last()
            .map_or(WriteOutcome::CommittedSomewhere, |gtid| WriteOutcome::Committed(vec![gtid]))
    }
}

async fn wait(what: &str, mut reached: impl FnMut() -> bool) {
    let began = Instant::now();
    while !reached() {
        assert!(began.elapsed() < PATIENCE, "waited too long for: {what}");
        tokio::time::sleep(Duration::from_micros(200)).await;
    }
}

async fn writes_are_stamped_and_become_visible(mut bench: Bench) {
    let mut lags = Vec::new();
    for id in 0..200 {
        let before = bench.rows("t");
        bench.write(&format!("INSERT INTO t VALUES ({id}, 1)")).await;
        let committed = Instant::now();
        while bench.rows("t") == before {
            tokio::task::yield_now().await;
        }
        lags.push(committed.elapsed());
        let stamp = bench.rows("t");
        bench.upstream.ask_probe();
        if id % 50 == 0 {
            wait("visibility", || bench.freshness.valid_from() >= stamp).await;
        }
    }
    lags.sort();
    println!("from OK to stamp: median {:?}, 99th of 100 {:?}", lags[100], lags[198]);
    // `applied` is published when the whole transaction was read, `visible` when the server says so.
    let stamp = bench.rows("t");
    bench.until("applied and visible", |status| status.applied >= stamp && status.visible >= stamp).await;
}

/// The rule itself: a snapshot that is opened after `valid_from` was read has every change that is stamped at or below it. The
/// other writers make the server commit in groups, where the binlog's events run ahead of what is visible.
async fn nothing_counts_as_visible_before_it_is(mut bench: Bench) {
    bench.write("CREATE TABLE noise (id INT PRIMARY KEY, v INT)").await;
    bench.write("INSERT INTO noise VALUES (0, 0), (1, 0), (2, 0), (3, 0)").await;
    bench.write("REPLACE INTO t VALUES (1, 0)").await;
    bench.settled().await;
    let until = Instant::now() + Duration::from_secs(3);
    let config = bench.config.clone();
    let noise = async |id: u32| {
        let mut writer = connect(&config).await.unwrap();
        while Instant::now() < until {
            writer.query(&format!("UPDATE {SCHEMA}.noise SET v = v + 1 WHERE id = {id}")).await.unwrap();
        }
    };
    let (freshness, upstream) = (Arc::clone(&bench.freshness), bench.upstream.clone());
    let rows = freshness.table(SCHEMA, "t").rows;
    let writing = async {
        let mut stamps = Vec::new();
        for n in 1.. {
            if Instant::now() > until {
                break;
            }
            let before = freshness.stamp_of(rows);
            bench.writer.query(&format!("UPDATE t SET v = {n} WHERE id = 1")).await.unwrap();
            wait("the stamp", || freshness.stamp_of(rows) > before).await;
            stamps.push((n, freshness.stamp_of(rows)));
        }
        stamps
    };
    let reading = async {
        let mut reader = connect(&config).await.unwrap();
        let mut seen = Vec::new();
        while Instant::now() < until {
            upstream.ask_probe();
            let valid_from = freshness.valid_from();
            let answer = reader.query(&format!("SELECT v FROM {SCHEMA}.t WHERE id = 1")).await.unwrap();
            seen.push((valid_from, answer.text(0, 0).unwrap().parse::<u64>().unwrap()));
        }
        seen
    };
    let (stamps, seen, ..) = tokio::join!(writing, reading, noise(0), noise(1), noise(2), noise(3));
    let mut tight = 0;
    for (valid_from, value) in &seen {
        let due = stamps.iter().take_while(|(_, stamp)| stamp <= valid_from).last().map_or(0, |(n, _)| *n);
        assert!(*value >= due, "{value} was read where {due} was promised");
        tight += u32::from(*value == due);
    }
    let status = bench.upstream.follow_status();
    println!("{} writes, {} reads, {tight} of them of the last value promised", stamps.len(), seen.len());
    println!("{} transactions, {} probes", status.transactions, status.probes);
}

async fn an_idle_server_is_not_probed(bench: Bench) {
    bench.until("visible", |status| status.visible >= status.applied).await;
    // Others may use the server: one quiet time is enough.
    let began = Instant::now();
    loop {
        let before = bench.upstream.follow_status();
        let until = Instant::now() + QUIET;
        while Instant::now() < until {
            bench.looked_around().await;
        }
        let after = bench.upstream.follow_status();
        if after.probes == before.probes {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{before:?} {after:?}");
    }
    assert!(bench.upstream.follow_status().live);
}

async fn fences_are_lifted_by_gtid_position_and_process_list(mut bench: Bench) {
    let deps = bench.freshness.table(SCHEMA, "t");
    for round in 0..20 {
        let before = bench.rows("t");
        let fence = bench.freshness.fence(vec![deps.rows]);
        bench.write(&format!("REPLACE INTO t VALUES (1, {round})")).await;
        let outcome = if round % 2 == 0 { bench.last_gtid().await } else { WriteOutcome::CommittedSomewhere };
        bench.upstream.settle(fence, outcome);
        wait("the fence", || !bench.freshness.is_fenced(deps.rows)).await;
        assert!(bench.rows("t") > before, "a fence is lifted after the stamp is set");
    }
    // A write whose connection breaks while it waits for a lock takes effect later or not at all.
    bench.write("BEGIN").await;
    bench.write("UPDATE t SET v = 99 WHERE id = 1").await;
    let mut doomed = connect(&bench.config).await.unwrap();
    let fence = bench.freshness.fence(vec![deps.rows]);
    let thread_id = doomed.thread_id();
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = {thread_id} AND trx_state = 'LOCK WAIT'"
    );
    let sql = format!("\u{3}UPDATE {SCHEMA}.t SET v = 100 WHERE id = 1");
    doomed.send_command(sql.as_bytes()).await.unwrap();
    let began = Instant::now();
    while bench.value(&waits).await != "1" {
        assert!(began.elapsed() < PATIENCE, "it does not wait for the lock");
        tokio::time::sleep(TRANSACTIONS_PAUSE).await;
    }
    drop(doomed);
    bench.upstream.settle(fence, WriteOutcome::Unknown { thread_id, opened_ms: now_ms() });
    bench.looked_around().await;
    assert!(bench.freshness.is_fenced(deps.rows), "it may still take effect");
    bench.write("COMMIT").await;
    wait("the fence of the unknown", || !bench.freshness.is_fenced(deps.rows)).await;
    assert_eq!(bench.upstream.follow_status().unsettled, 0);
}

async fn a_gtid_that_never_comes_is_settled_by_position(mut bench: Bench) {
    let deps = bench.freshness.table(SCHEMA, "t");
    let fence = bench.freshness.fence(vec![deps.rows]);
    bench.write("REPLACE INTO t VALUES (1, 1)").await;
    let gtid = match bench.last_gtid().await {
        WriteOutcome::Committed(gtids) => match gtids[0].clone() {
            Gtid::MariaDb { domain, server, seq } => Gtid::MariaDb { domain, server, seq: seq + 1_000_000 },
            Gtid::MySql { uuid, tag, gno } => Gtid::MySql { uuid, tag, gno: gno + 1_000_000 },
        },
        _ => return,
    };
    bench.upstream.settle(fence, WriteOutcome::Committed(vec![gtid]));
    wait("the fence", || !bench.freshness.is_fenced(deps.rows)).await;
}

async fn a_cut_stream_drops_everything_and_goes_on(mut bench: Bench) {
    for _ in 0..3 {
        let before = (bench.everything(), bench.upstream.follow_status().generations);
        let deps = bench.freshness.table(SCHEMA, "t");
        let fence = bench.freshness.fence(vec![deps.rows]);
        for id in dump_threads(&mut bench).await {
            bench.write(&format!("KILL {id}")).await;
        }
        bench.until("a new generation", |status| status.generations > before.1 && status.live).await;
        assert!(bench.everything() > before.0, "what was stored is dropped");
        assert!(bench.freshness.valid_from() <= bench.freshness.applied());
        bench.write("REPLACE INTO t VALUES (1, 1)").await;
        let outcome = bench.last_gtid().await;
        bench.upstream.settle(fence, outcome);
        wait("the fence", || !bench.freshness.is_fenced(deps.rows)).await;
        let stamp = bench.rows("t");
        wait("visibility", || bench.freshness.valid_from() >= stamp).await;
    }
}

async fn dump_threads(bench: &mut Bench) -> Vec<String> {
    let rows = bench.writer.query("SHOW PROCESSLIST").await.unwrap();
    let is_dump = |row: &Vec<&str>| row[4].starts_with("Binlog Dump");
    rows.texts().filter(is_dump).map(|row| row[0].to_owned()).collect()
}

async fn descendants_and_truncate_and_definitions_are_stamped(mut bench: Bench) {
    bench.write("CREATE TABLE parent (id INT PRIMARY KEY)").await;
    bench
        .write(
            "CREATE TABLE child (id INT PRIMARY KEY, p INT, \
             FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
        )
        .await;
    bench.write("INSERT INTO parent VALUES (1)").await;
    bench.write("INSERT INTO child VALUES (1, 1)").await;
    bench.settled().await;
    wait("the foreign keys", || bench.upstream.descendants(SCHEMA, "parent").is_some()).await;
    let (child, everything) = (bench.rows("child"), bench.everything());
    bench.write("DELETE FROM parent").await;
    wait("the child", || bench.rows("child") > child).await;
    assert_eq!(bench.everything(), everything, "the child was stamped by its own name");

    let rows = bench.rows("t");
    bench.write("TRUNCATE TABLE t").await;
    wait("truncate", || bench.rows("t") > rows).await;

    let version = bench.upstream.catalog_version();
    let definition = bench.freshness.table(SCHEMA, "t").definition;
    let stamp = bench.freshness.stamp_of(definition);
    bench.write("ALTER TABLE t ADD COLUMN w INT").await;
    wait("alter", || bench.freshness.stamp_of(definition) > stamp).await;
    // It is stamped first.
    wait("the catalog", || bench.upstream.catalog_version() > version).await;

    let dep = bench.freshness.schema("freshet_follow_2");
    bench.write("CREATE DATABASE freshet_follow_2").await;
    bench.write("DROP DATABASE freshet_follow_2").await;
    wait("the schema", || bench.freshness.stamp_of(dep) > Position::ZERO).await;
}

async fn accounts_and_globals_are_noticed(mut bench: Bench) {
    let accounts = bench.upstream.accounts_epoch();
    bench.write("DROP USER IF EXISTS freshet_follow").await;
    bench.write("CREATE USER freshet_follow").await;
    wait("the account", || bench.upstream.accounts_epoch() > accounts).await;
    bench.write("DROP USER freshet_follow").await;
    bench.looked_around().await;
    let (globals, everything) = (bench.upstream.globals_epoch(), bench.everything());
    let before = bench.value("SELECT @@GLOBAL.div_precision_increment").await;
    bench.write("SET GLOBAL div_precision_increment = 7").await;
    wait("the variable", || bench.upstream.globals_epoch() > globals).await;
    bench.write(&format!("SET GLOBAL div_precision_increment = {before}")).await;
    assert_eq!(bench.everything(), everything, "new sessions start with it, and no result rests on it");
}

/// What is in no binlog stamps everything, and on this idle server the stream passes the stamp by itself.
async fn what_is_in_no_binlog_is_noticed(mut bench: Bench) {
    let syntax = bench.value("SELECT @@GLOBAL.ft_boolean_syntax").await;
    let other = syntax.replace('+', "!").replace('-', "+").replace('!', "-");
    let everything = bench.everything();
    bench.write(&format!("SET GLOBAL ft_boolean_syntax = '{other}'")).await;
    wait("the variable", || bench.everything() > everything).await;
    wait("the step", || bench.freshness.valid_from() >= bench.everything()).await;
    bench.write(&format!("SET GLOBAL ft_boolean_syntax = '{syntax}'")).await;

    bench.write("DROP USER IF EXISTS freshet_follow").await;
    bench.write("CREATE USER freshet_follow").await;
    bench.looked_around().await;
    let (everything, accounts) = (bench.everything(), bench.upstream.accounts_epoch());
    bench.write("SET sql_log_bin = 0").await;
    bench.write(&format!("GRANT SELECT ON {SCHEMA}.* TO freshet_follow")).await;
    bench.write("SET sql_log_bin = 1").await;
    wait("the grant", || bench.everything() > everything && bench.upstream.accounts_epoch() > accounts).await;
    wait("the step", || bench.freshness.valid_from() >= bench.everything()).await;
    bench.write("DROP USER freshet_follow").await;
}

async fn what_changes_no_right_stamps_nothing(mut bench: Bench) {
    // The first reload may put into effect what was granted before.
    bench.write("FLUSH LOCAL PRIVILEGES").await;
    // The server tells in whole seconds when its grant tables were written; the test before has just done so.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    bench.looked_around().await;
    let (everything, accounts) = (bench.everything(), bench.upstream.accounts_epoch());
    for _ in 0..2 {
        bench.writer.query("GRANT SELECT (nothing) ON t TO CURRENT_USER").await.unwrap_err();
        bench.write("FLUSH LOCAL TABLES").await;
        bench.write("FLUSH LOCAL PRIVILEGES").await;
        bench.looked_around().await;
    }
    assert_eq!((bench.everything(), bench.upstream.accounts_epoch()), (everything, accounts));
}

async fn many_steps_keep_the_order_of_the_stream(mut bench: Bench) {
    let dep = bench.freshness.table(SCHEMA, "unlogged").rows;
    for round in 0..40 {
        bench.upstream.changed_unlogged(&[dep]);
        wait("the step", || bench.freshness.valid_from() >= bench.freshness.stamp_of(dep)).await;
        let (rows, before) = (bench.rows("t"), bench.freshness.valid_from());
        assert!(rows <= before);
        bench.write(&format!("REPLACE INTO t VALUES (1, {round})")).await;
        wait("the row", || bench.rows("t") > before).await;
        wait("its visibility", || bench.freshness.valid_from() >= bench.rows("t")).await;
    }
}

async fn xa_changes_at_its_commit(mut bench: Bench) {
    bench.write("XA START 'x'").await;
    bench.write("INSERT INTO t VALUES (7, 7)").await;
    bench.write("XA END 'x'").await;
    let before = bench.rows("t");
    bench.write("XA PREPARE 'x'").await;
    wait("prepare", || bench.rows("t") > before).await;
    let (prepared, everything) = (bench.rows("t"), bench.everything());
    bench.write("XA COMMIT 'x'").await;
    wait("commit", || bench.rows("t") > prepared).await;
    assert_eq!(bench.everything(), everything, "the prepared transaction was remembered");
}

async fn statements_in_the_binlog_are_noticed(mut bench: Bench) {
    bench.write("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ").await;
    bench.write("SET SESSION binlog_format = 'STATEMENT'").await;
    let (rows, everything) = (bench.rows("t"), bench.everything());
    bench.write("INSERT INTO t VALUES (70, 7)").await;
    wait("the statement", || bench.rows("t") > rows || bench.everything() > everything).await;
}

async fn a_server_that_cannot_be_followed_is_off_until_it_can(mut bench: Bench) {
    bench.write("SET GLOBAL binlog_format = 'MIXED'").await;
    bench.until("off", |status| matches!(status.state, FollowState::Off { .. })).await;
    assert!(!bench.freshness.is_live(now_ms()));
    assert!(bench.upstream.ask("SELECT 1").await.is_ok(), "questions are served all the same");
    let deps = bench.freshness.table(SCHEMA, "t");
    let fence = bench.freshness.fence(vec![deps.rows]);
    bench.upstream.settle(fence, WriteOutcome::CommittedSomewhere);
    assert!(!bench.freshness.is_fenced(deps.rows), "there is nothing to protect");
    bench.write("SET GLOBAL binlog_format = 'ROW'").await;
    bench.until("on", |status| status.live).await;
}

async fn an_account_without_privileges_is_off_until_it_has_them(mut bench: Bench) {
    let mut config = bench.config.clone();
    config.user = "freshet_follow".to_owned();
    config.database = None;
    config.password = Secret::new("f");
    bench.write("DROP USER IF EXISTS freshet_follow").await;
    bench.write("CREATE USER freshet_follow IDENTIFIED BY 'f'").await;
    let upstream = Upstream::start(config, Arc::new(Freshness::new())).unwrap();
    for grant in ["REPLICATION SLAVE", "REPLICATION CLIENT"] {
        let began = Instant::now();
        // Long enough for it to look again several times: questions must keep getting their own answers.
        while began.elapsed() < Duration::from_secs(6) {
            let state = upstream.follow_status().state;
            assert!(matches!(state, FollowState::Off { .. } | FollowState::Connecting { .. }), "{state:?}");
            // Refused while it reconnects, but never somebody else's answer.
            if let Ok(answer) = upstream.ask("SELECT 42").await {
                assert_eq!(answer.text(0, 0), Some("42"));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        bench.write(&format!("GRANT {grant} ON *.* TO freshet_follow")).await;
    }
    if bench.upstream.server().unwrap().is_mariadb() {
        bench.write("GRANT SLAVE MONITOR ON *.* TO freshet_follow").await;
    }
    wait("on", || upstream.follow_status().live).await;
    assert_eq!(upstream.follow_status().generations, 1);
    bench.write("DROP USER freshet_follow").await;
}

async fn the_follower_ends_with_the_last_handle(mut bench: Bench) {
    // One handle of two is gone, and the follower works on.
    let other = bench.upstream.clone();
    drop(std::mem::replace(&mut bench.upstream, other));
    bench.looked_around().await;
    let Bench { upstream, freshness, mut writer, .. } = bench;
    assert!(upstream.follow_status().live);
    drop(upstream);
    let began = Instant::now();
    loop {
        let rows = writer.query("SHOW PROCESSLIST").await.unwrap();
        if !rows.texts().any(|row| row[4].starts_with("Binlog Dump")) {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "the stream is still open");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!freshness.is_live(now_ms()), "nobody looks after it any more");
}

async fn with<F: Future<Output = ()>>(config: &UpstreamConfig, name: &str, test: impl FnOnce(Bench) -> F) {
    let began = Instant::now();
    test(Bench::new(config).await).await;
    println!("{name}: {:?}", began.elapsed());
}

macro_rules! all {
    ($config:expr, $($test:ident),* $(,)?) => { $( with($config, stringify!($test), $test).await; )* };
}

fn follow(variable: &str) {
    let Ok(url) = std::env::var(variable) else {
        let required = std::env::var("FRESHET_TEST_SERVERS").is_ok_and(|value| value == "required");
        assert!(!required, "{variable} is not set");
        println!("skipped: {variable} is not set");
        return;
    };
    let config = UpstreamConfig::from_url(&url).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        all!(
            &config,
            writes_are_stamped_and_become_visible,
            nothing_counts_as_visible_before_it_is,
            an_idle_server_is_not_probed,
            fences_are_lifted_by_gtid_position_and_process_list,
            a_gtid_that_never_comes_is_settled_by_position,
            a_cut_stream_drops_everything_and_goes_on,
            descendants_and_truncate_and_definitions_are_stamped,
            accounts_and_globals_are_noticed,
            what_is_in_no_binlog_is_noticed,
            what_changes_no_right_stamps_nothing,
            many_steps_keep_the_order_of_the_stream,
            xa_changes_at_its_commit,
            statements_in_the_binlog_are_noticed,
            a_server_that_cannot_be_followed_is_off_until_it_can,
            an_account_without_privileges_is_off_until_it_has_them,
            the_follower_ends_with_the_last_handle,
        );
    });
}

#[test]
fn mariadb() {
    follow("FRESHET_TEST_MARIADB");
}

#[test]
fn mysql() {
    follow("FRESHET_TEST_MYSQL");
}
