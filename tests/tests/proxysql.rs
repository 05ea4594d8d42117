//! The admin port, by the client that people have for it.

use std::net::TcpStream;

use freshet_tests::administered::{Directory, with_each};
use freshet_tests::cached::{Counted, answer, caught_up, connect, eventually, fresh_schema, run};
use freshet_tests::{Server, Target, tool};
use mysql::Conn;
use mysql::prelude::Queryable;

const SELECT: &str = "SELECT count_star,sum_time,hostgroup,digest,digest_text FROM";
const POINT: &str = "SELECT c FROM sbtest1 WHERE id=?";

/// How often a digest was asked for at the server, and answered from memory.
fn counts(lines: &[String], digest: &str) -> (u64, u64) {
    let count = |hostgroup: &str| {
        let fields = lines.iter().map(|line| line.split('\t').collect::<Vec<_>>());
        let of = fields.filter(|fields| fields[2] == hostgroup && fields[3] == digest);
        of.map(|fields| fields[0].parse::<u64>().expect("a number")).sum()
    };
    (count("0"), count("-1"))
}

/// The table of the article, with twenty rows.
fn stage_sbtest(server: &Server, schema: &str) {
    let values: Vec<String> = (1..=20).map(|id| format!("({id},'c{id}')")).collect();
    let create = "CREATE TABLE sbtest1 (id INT PRIMARY KEY, c CHAR(120) NOT NULL)";
    let insert = format!("INSERT INTO sbtest1 VALUES {}", values.join(","));
    run(&mut fresh_schema(server, schema), &[create, &insert]);
}

#[test]
fn the_articles_session() {
    with_each("article", |server, directory| {
        stage_sbtest(server, "proxysql_article");
        let freshet = directory.freshet(server);
        caught_up(&freshet);
        let mut conn = connect(freshet.target(), "proxysql_article");
        let reset = format!("{SELECT} stats_mysql_query_digest_reset ORDER BY sum_time DESC LIMIT 10");
        let now = format!("{SELECT} stats_mysql_query_digest ORDER BY sum_time DESC");
        let admin = |statements: &str| directory.client("admin", statements).expect("it is carried out");

        // Everything is asked for until it is answered from memory: what is counted from then on are hits.
        let prepared = conn.prep("SELECT c FROM sbtest1 WHERE id=?").expect("it is prepared");
        let mut read = || {
            for id in 1..=10 {
                assert!(answer(&mut conn, &format!("SELECT c FROM sbtest1 WHERE id={id}")).is_ok());
                let row: Option<String> = conn.exec_first(&prepared, (id,)).expect("it is executed");
                assert_eq!(row, Some(format!("c{id}")));
            }
            let range = "SELECT c FROM sbtest1 WHERE id BETWEEN 1 AND 10";
            assert_eq!(answer(&mut conn, range).map(|rows| rows.len()), Ok(10));
        };
        let digest = "0xBF001A0C13781C1D";
        eventually("all of it is answered from memory", || {
            admin(&reset);
            read();
            let (sent, hits) = counts(&admin(&now), digest);
            assert_eq!(sent + hits, 20, "texts and executions are both counted");
            (sent == 0).then_some(())
        });
        let lines = admin(&reset);
        assert!(lines.iter().any(|line| line.ends_with(POINT)), "{lines:?}");
        let hits: Vec<&String> = lines.iter().filter(|line| line.contains("\t-1\t")).collect();
        assert!(hits.iter().all(|line| line.split('\t').nth(1) == Some("0")), "{lines:?}");
        assert_eq!(counts(&lines, "0x290B92FD743826DA").1, 1, "{lines:?}");
        // They were counted from 0 again.
        assert_eq!(counts(&admin(&now), digest), (0, 0));

        admin(
            "INSERT INTO mysql_query_rules (rule_id,active,digest,cache_ttl,apply) VALUES (1,1,'0xBF001A0C13781C1D',5000,1)",
        );
        admin(
            "INSERT INTO mysql_query_rules (rule_id,active,digest,cache_ttl,apply) VALUES (2,1,'0x290B92FD743826DA',5000,1)",
        );
        let opts = mysql::OptsBuilder::new()
            .socket(Some(directory.path("admin.sock")))
            .user(Some("admin"))
            .pass(Some("admin"));
        let mut other = mysql::Conn::new(opts).expect("another client is let in");
        other
            .query_drop("LOAD MYSQL QUERY RULES TO RUNTIME; SAVE MYSQL QUERY RULES TO DISK;")
            .expect("both are carried out");
        // What is prepared finds them too.
        let rule =
            "SELECT digest, flagOUT FROM runtime_mysql_query_rules WHERE rule_id = ? AND cache_ttl > ?";
        let found: Option<(String, Option<String>)> =
            other.exec_first(rule, (2, "4999")).expect("it is prepared and executed");
        assert_eq!(found, Some(("0x290B92FD743826DA".to_owned(), None)));
        admin("SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1");
        // What was stored before the rules were loaded is not taken.
        read();
        assert_eq!(counts(&admin(&now), digest), (20, 0));
        eventually("all of it is answered from memory by the rules", || {
            admin("SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1");
            read();
            (counts(&admin(&now), digest) == (0, 20)).then_some(())
        });
        assert_eq!(admin("SELECT hostgroup_id, status FROM mysql_servers"), ["0\tONLINE"]);
        drop(other);
        freshet.stop();

        let freshet = directory.freshet(server);
        let rules = admin("SELECT rule_id, digest FROM runtime_mysql_query_rules ORDER BY rule_id");
        assert_eq!(rules, ["1\t0xBF001A0C13781C1D", "2\t0x290B92FD743826DA"]);
        freshet.stop();
    });
}

/// One or two clients have a connection each, over which something was sent.
fn connections_are_counted(server: &Server, directory: &Directory) {
    let Target { host, port, .. } = &server.target;
    let pool = "SELECT srv_host, srv_port, status, ConnUsed, ConnOK >= ConnUsed, ConnERR, MaxConnUsed >= ConnUsed, Queries > 3, \
        Bytes_data_sent > 100, Bytes_data_recv > 100 FROM";
    let line = |used: u64, more: u64| {
        format!("{host}\t{port}\tONLINE\t{used}\t{more}\t0\t1\t{more}\t{more}\t{more}")
    };
    let now = directory.client("stats", &format!("{pool} stats_mysql_connection_pool")).unwrap();
    assert!((1..=2).any(|used| now == [line(used, 1)]), "{now:?}");
    assert_eq!(directory.client("admin", &format!("{pool} stats_mysql_connection_pool_reset")).unwrap(), now);
    let anew = directory.client("stats", &format!("{pool} stats_mysql_connection_pool")).unwrap();
    assert!((1..=2).any(|used| anew == [line(used, 0)]), "{anew:?}");
}

#[test]
fn writes_and_what_fails_are_counted_and_nobody_is_let_in_without_the_password() {
    with_each("counted", |server, directory| {
        let mut direct = fresh_schema(server, "proxysql_counted");
        run(
            &mut direct,
            &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,1),(2,2),(3,3)"],
        );
        let freshet = directory.freshet(server);
        let mut conn = connect(freshet.target(), "proxysql_counted");
        run(&mut conn, &["UPDATE t SET v = v + 1 WHERE id > 1"]);
        assert!(answer(&mut conn, "SELECT nothing FROM t").is_err());
        assert_eq!(answer(&mut conn, "SELECT id FROM t WHERE v > 0").map(|rows| rows.len()), Ok(3));
        let query = "SELECT digest_text, count_star, sum_rows_affected, sum_rows_sent, schemaname, username \
                     FROM stats_mysql_query_digest WHERE schemaname = 'proxysql_counted' ORDER BY digest_text";
        let user = &freshet.target().user;
        let lines = directory.client("stats", query).expect("statistics are shown to who may see them");
        let expected = [
            ("SELECT id FROM t WHERE v > ?", 0, 3),
            ("SELECT nothing FROM t", 0, 0),
            ("UPDATE t SET v = v+? WHERE id > ?", 2, 0),
        ];
        for (text, affected, sent) in expected {
            let line = format!("{text}\t1\t{affected}\t{sent}\tproxysql_counted\t{user}");
            assert!(lines.contains(&line), "{line:?} is not among {lines:?}");
        }
        let commands = "SELECT Total_cnt FROM stats_mysql_commands_counters WHERE Command = ";
        let of = |name: &str| directory.client("stats", &format!("{commands}'{name}'")).unwrap();
        assert_eq!(of("UPDATE"), ["1"]);
        // Answers from memory are counted by command as well, and a reset of the digests leaves that as it is.
        caught_up(&freshet);
        for _ in 0..5 {
            assert!(answer(&mut conn, "SELECT id FROM t WHERE v > 0").is_ok());
        }
        let selects = of("SELECT");
        let digests =
            "SELECT SUM(count_star) FROM stats_mysql_query_digest_reset WHERE digest_text LIKE 'SELECT%'";
        assert_eq!(directory.client("admin", digests).unwrap(), selects);
        assert!(selects[0].parse::<u64>().unwrap() >= 7);
        assert_eq!(of("SELECT"), selects);
        assert_eq!(of("SELECT_FOR_UPDATE"), ["0"]);
        let other = connect(freshet.target(), "proxysql_counted");
        let users = "SELECT frontend_connections, frontend_max_connections FROM stats_mysql_users";
        assert_eq!(
            directory.client("stats", &format!("{users} WHERE username = '{user}'")).unwrap(),
            ["2\t10000"]
        );
        let Target { host, port, .. } = &server.target;
        let lines = directory.client(
            "stats",
            "SELECT user, srv_host, srv_port, cli_host, cli_port > 1023 FROM stats_mysql_processlist WHERE srv_port IS NOT NULL",
        );
        assert!(lines.unwrap().contains(&format!("{user}\t{host}\t{port}\t127.0.0.1\t1")));
        connections_are_counted(server, directory);
        drop(other);
        assert!(directory.client("stats", "SELECT * FROM mysql_users").is_err());
        let refused = directory.client("admn", "SELECT 1").unwrap_err();
        assert!(
            refused.contains("Access denied for user 'admn'@'localhost' (using password: YES)"),
            "{refused}"
        );
        assert_eq!(
            directory.client("admin", "SELECT @@version_comment LIMIT 1").unwrap(),
            ["(ProxySQL Admin Module)"]
        );
        freshet.stop();
    });
}

/// What the admin port and `freshet.sessions` show of the statement that the server works on, with its schema.
fn at_work(directory: &Directory, look: &mut Conn) -> (Vec<String>, Vec<Vec<String>>) {
    let processes = "SELECT db, command, info FROM stats_mysql_processlist WHERE info LIKE '%SLEEP%'";
    let sessions = "SELECT schema_name, statement FROM freshet.sessions WHERE statement LIKE 'SELECT SLEEP%'";
    (directory.client("stats", processes).unwrap(), answer(look, sessions).unwrap())
}

#[test]
fn what_the_server_works_on_is_shown_while_it_does() {
    const TEXT: &str = "SELECT SLEEP(2), 'sent'";
    const PREPARED: &str = "SELECT SLEEP(?), 'executed'";
    with_each("at_work", |server, directory| {
        drop(fresh_schema(server, "proxysql_at_work"));
        let freshet = directory.freshet(server);
        let mut look = connect(freshet.target(), "proxysql_at_work");
        for (sent, is_prepared) in [(TEXT, false), (PREPARED, true)] {
            let mut conn = freshet.target().connect();
            run(&mut conn, &["USE proxysql_at_work"]);
            let working = std::thread::spawn(move || {
                if is_prepared { conn.exec_drop(sent, (2,)) } else { conn.query_drop(sent) }
                    .expect("it is answered");
                conn
            });
            let line = format!("proxysql_at_work\tQuery\t{sent}");
            let row = vec!["proxysql_at_work".to_owned(), sent.to_owned()];
            eventually("it is shown", || {
                (at_work(directory, &mut look) == (vec![line.clone()], vec![row.clone()])).then_some(())
            });
            let conn = working.join().expect("it ends");
            eventually("nothing is shown of who waits", || {
                (at_work(directory, &mut look) == (Vec::new(), Vec::new())).then_some(())
            });
            let idle = "SELECT COUNT(*) FROM stats_mysql_processlist WHERE command = 'Sleep' AND info IS NULL \
                        AND db = 'proxysql_at_work'";
            assert_eq!(directory.client("stats", idle).unwrap(), ["2"]);
            drop(conn);
            eventually("it is gone", || (directory.client("stats", idle).unwrap() == ["1"]).then_some(()));
        }
        freshet.stop();
    });
}

#[test]
fn what_is_kept_of_times_past_has_its_hostgroup() {
    with_each("kept", |server, directory| {
        let freshet = directory.freshet(server);
        let mut conn = freshet.target().connect();
        run(&mut conn, &["SELECT 1"]);
        let admin = |statements: &str| directory.client("admin", statements).expect("it is carried out");
        admin(
            "UPDATE mysql_servers SET hostgroup_id = 2; LOAD MYSQL SERVERS TO RUNTIME; \
             SET admin-stats_mysql_connection_pool = 1; LOAD ADMIN VARIABLES TO RUNTIME; SAVE MYSQL DIGEST TO DISK",
        );
        assert_eq!(admin("SELECT COUNT(*) FROM history_mysql_query_digest WHERE hostgroup IS NULL"), ["0"]);
        assert!(!admin("SELECT 1 FROM history_mysql_query_digest WHERE hostgroup = 0").is_empty());
        eventually("the pool is noted", || {
            let kept = admin("SELECT DISTINCT hostgroup FROM history_stats_mysql_connection_pool");
            (kept == ["2"]).then_some(())
        });
        freshet.stop();
    });
}

/// ProxySQL's variables that its users read here, whatever of them can be set.
#[test]
fn variables_that_are_asked_for_are_shown() {
    with_each("shown", |server, directory| {
        let freshet = directory.freshet(server);
        let lines = directory.client("admin", "SHOW MYSQL VARIABLES").unwrap();
        for (name, value) in [
            ("query_cache_size_MB", "256"),
            ("query_cache_soft_ttl_pct", "0"),
            ("query_cache_handle_warnings", "0"),
            ("query_cache_stores_empty_result", "true"),
            ("max_connections", "10000"),
            ("free_connections_pct", "0"),
            ("wait_timeout", "28800000"),
            ("multiplexing", "true"),
            ("connection_delay_multiplex_ms", "0"),
            ("default_schema", ""),
        ] {
            let line = format!("mysql-{name}\t{value}");
            assert!(lines.contains(&line), "{line:?} is not among {lines:?}");
        }
        for name in ["threshold_resultset_size", "threads", "server_version"] {
            assert!(lines.iter().any(|line| line.starts_with(&format!("mysql-{name}\t"))), "{name}");
        }
        freshet.stop();
    });
}

#[test]
fn while_it_is_paused_nobody_is_let_in_and_who_is_in_goes_on() {
    with_each("paused", |server, directory| {
        let freshet = directory.freshet(server);
        let mut inside = connect(freshet.target(), "");
        let is_open = || TcpStream::connect((freshet.target().host.as_str(), freshet.target().port)).is_ok();
        assert!(is_open());
        assert!(directory.client("stats", "PROXYSQL PAUSE").expect_err("it is refused").contains("1142"));
        directory.client("admin", "PROXYSQL PAUSE").expect("it is paused");
        eventually("nobody listens", || (!is_open()).then_some(()));
        let again = directory.client("admin", "PROXYSQL PAUSE").expect_err("it is paused already");
        assert!(again.contains("it is paused already"), "{again}");
        assert_eq!(answer(&mut inside, "SELECT 7"), Ok(vec![vec!["7".to_owned()]]));
        directory.client("admin", "PROXYSQL RESUME").expect("it goes on");
        eventually("it listens again", || is_open().then_some(()));
        assert_eq!(answer(&mut connect(freshet.target(), ""), "SELECT 8"), Ok(vec![vec!["8".to_owned()]]));
        assert!(directory.client("admin", "PROXYSQL RESUME").is_err());
        assert_eq!(answer(&mut inside, "SELECT 9"), Ok(vec![vec!["9".to_owned()]]));
        freshet.stop();
    });
}

/// The article's statements, word for word.
const ALL_DIGESTS: &str = "SELECT count_star,sum_time,hostgroup,digest,digest_text FROM stats_mysql_query_digest ORDER BY sum_time DESC;";
const RESET: &str = "SELECT count_star,sum_time,hostgroup,digest,digest_text FROM stats_mysql_query_digest_reset ORDER BY sum_time DESC;";
const RULE_1: &str = "INSERT INTO mysql_query_rules (rule_id,active,digest,cache_ttl,apply) VALUES (1,1,'0xBF001A0C13781C1D',5000,1);";
const RULE_2: &str = "INSERT INTO mysql_query_rules (rule_id,active,digest,cache_ttl,apply) VALUES (2,1,'0x290B92FD743826DA',5000,1);";

/// The article's two sysbench commands, by the scripts that sysbench has today: those of oltp_legacy are not packaged any more. The statements
/// are the same: `oltp.lua` with point selects or simple ranges alone, as texts and outside of transactions.
fn sysbench(target: &Target, range: bool) {
    let schema = "--mysql-db=proxysql_sysbench";
    let host = format!("--mysql-host={}", target.host);
    let port = format!("--mysql-port={}", target.port);
    let user = format!("--mysql-user={}", target.user);
    let password = format!("--mysql-password={}", target.password);
    let kind = if range {
        vec!["oltp_read_only", "--point-selects=0", "--simple-ranges=1"]
    } else {
        vec!["oltp_read_only", "--point-selects=1", "--simple-ranges=0"]
    };
    let others = ["--sum-ranges=0", "--order-ranges=0", "--distinct-ranges=0", "--skip-trx=on"];
    let run = ["--db-ps-mode=disable", "--table-size=100", "--threads=4", "--events=2000", "--time=0", "run"];
    let login = [schema, &host, &port, &user, &password];
    let words = kind.iter().chain(&others).chain(&login).chain(&run);
    let report = tool::run("sysbench", &words.map(|word| (*word).to_owned()).collect::<Vec<_>>());
    assert!(report.contains("total number of events:              2000"), "{report}");
}

/// How often a digest was counted under a hostgroup.
fn counted(lines: &[String], hostgroup: &str, digest: &str, text: &str) -> u64 {
    let end = format!("\t{hostgroup}\t{digest}\t{text}");
    let line = lines.iter().find(|line| line.ends_with(&end));
    line.map_or(0, |line| line.split('\t').next().unwrap().parse().expect("a number"))
}

#[test]
fn the_article_word_for_word() {
    if !tool::is_there("sysbench") {
        return;
    }
    with_each("words", |server, directory| {
        let values: Vec<String> = (1..=100).map(|id| format!("({id},{id},'c{id}','p')")).collect();
        run(
            &mut fresh_schema(server, "proxysql_sysbench"),
            &[
                "CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT NOT NULL, c CHAR(120) NOT NULL, pad CHAR(60) NOT NULL)",
                &format!("INSERT INTO sbtest1 VALUES {}", values.join(",")),
            ],
        );
        let freshet = directory.freshet(server);
        caught_up(&freshet);
        let admin = |statements: &str| directory.client("admin", statements).expect("it is carried out");
        let Target { host, port, .. } = &server.target;
        // Its user belongs to the readers, which are one here; ProxySQL caches what rules name and nothing else.
        admin(&format!(
            "UPDATE mysql_servers SET hostgroup_id = 1; INSERT INTO mysql_servers (hostgroup_id,hostname,port) VALUES (2,'{host}',{port}); \
             LOAD MYSQL SERVERS TO RUNTIME; SAVE MYSQL SERVERS TO DISK; \
             INSERT INTO mysql_users (username,password,default_hostgroup) VALUES ('{}','x',2); LOAD MYSQL USERS TO RUNTIME; \
             SET mysql-query_cache_rules_only='true'; LOAD MYSQL VARIABLES TO RUNTIME; SAVE MYSQL VARIABLES TO DISK;",
            freshet.target().user
        ));
        let servers = admin("select * from mysql_servers;");
        assert_eq!(servers.len(), 2, "{servers:?}");
        assert!(servers.iter().all(|line| line.contains("\tONLINE\t")), "{servers:?}");
        admin(RESET);
        assert!(admin(RESET).is_empty(), "Empty set");

        sysbench(freshet.target(), false);
        sysbench(freshet.target(), true);
        let lines = admin(RESET);
        let text = "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?";
        for (digest, text) in [("0xBF001A0C13781C1D", POINT), ("0x290B92FD743826DA", text)] {
            assert_eq!(counted(&lines, "2", digest, text), 2000, "{lines:?}");
            assert_eq!(counted(&lines, "-1", digest, text), 0, "{lines:?}");
        }

        admin(RULE_1);
        admin(RULE_2);
        assert!(admin("LOAD MYSQL QUERY RULES TO RUNTIME; SAVE MYSQL QUERY RULES TO DISK;").is_empty());
        assert!(
            admin("SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1; -- we reset the counters").len()
                <= 1
        );
        for (range, digest, text) in
            [(true, "0x290B92FD743826DA", text), (false, "0xBF001A0C13781C1D", POINT)]
        {
            sysbench(freshet.target(), range);
            let lines = admin(ALL_DIGESTS);
            let (sent, hits) = (counted(&lines, "2", digest, text), counted(&lines, "-1", digest, text));
            assert_eq!(sent + hits, 2000, "{lines:?}");
            assert!(sent >= 1 && hits > 1000, "{lines:?}");
            let zero = lines.iter().filter(|line| line.contains("\t-1\t"));
            assert!(zero.into_iter().all(|line| line.split('\t').nth(1) == Some("0")), "{lines:?}");
            assert_eq!(
                admin("SELECT 1 FROM stats_mysql_query_digest_reset LIMIT 1; -- we reset the counters"),
                ["1"]
            );
        }
        let met = admin("SELECT rule_id, hits >= 2000 FROM stats_mysql_query_rules");
        assert_eq!(met, ["1\t1", "2\t1"]);
        freshet.stop();

        let freshet = directory.freshet(server);
        let rules =
            admin("SELECT rule_id, digest, cache_ttl FROM runtime_mysql_query_rules ORDER BY rule_id");
        assert_eq!(rules, ["1\t0xBF001A0C13781C1D\t5000", "2\t0x290B92FD743826DA\t5000"]);
        assert_eq!(admin("select hostgroup_id from mysql_servers order by 1"), ["1", "2"]);
        freshet.stop();
    });
}

fn counters_and_the_monitor(server: &Server, directory: &Directory) {
    let Target { host, port, .. } = &server.target;
    let admin = |statements: &str| directory.client("stats", statements).expect("it is shown");
    let one = |query: &str| -> u64 { admin(query)[0].parse().expect("a number") };
    let global = |name: &str| {
        one(&format!("SELECT Variable_Value FROM stats_mysql_global WHERE Variable_Name = '{name}'"))
    };
    for name in [
        "Query_Cache_bytes_IN",
        "Questions",
        "Client_Connections_created",
        "Server_Connections_created",
        "Stmt_Cached",
    ] {
        assert!(global(name) > 0, "{name}");
    }
    assert!(
        one("SELECT Variable_Value FROM stats_memory_metrics WHERE Variable_Name = 'process_resident_bytes'")
            > 1 << 20
    );
    eventually("the server was asked", || {
        let latency = one("SELECT Latency_us FROM stats_mysql_connection_pool");
        let read_only = admin(
            "SELECT read_only, success_time_us > 0, error FROM monitor.mysql_server_read_only_log LIMIT 1",
        );
        let logged = admin("SELECT hostname, port, ping_error FROM mysql_server_ping_log LIMIT 1");
        (latency > 0 && read_only == ["0\t1\tNULL"] && logged == [format!("{host}\t{port}\tNULL")])
            .then_some(())
    });
}

#[test]
fn what_the_server_refused_and_what_was_prepared_is_told() {
    with_each("told", |server, directory| {
        let mut direct = fresh_schema(server, "proxysql_told");
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY, v INT)", "INSERT INTO t VALUES (1,1)"]);
        let freshet = directory.freshet_with(server, &["--metrics-address", &directory.path("metrics.sock")]);
        caught_up(&freshet);
        let mut conn = connect(freshet.target(), "proxysql_told");
        for _ in 0..3 {
            assert_eq!(answer(&mut conn, "SELECT * FROM nowhere"), Err(1146));
        }
        assert_eq!(answer(&mut conn, "INSERT INTO t VALUES (1, 2)"), Err(1062));
        let user = &freshet.target().user;
        let Target { host, port, .. } = &server.target;
        let errors = "SELECT hostgroup, hostname, port, username, errno, count_star, first_seen <= last_seen, last_error FROM";
        let of = |table: &str| {
            let query = format!("{errors} {table} WHERE schemaname = 'proxysql_told' ORDER BY errno");
            directory.client("stats", &query).expect("it is shown")
        };
        let lines = of("stats_mysql_errors_reset");
        let begin = format!("0\t{host}\t{port}\t{user}\t1146\t3\t1\tTable 'proxysql_told.nowhere'");
        assert!(
            lines.len() == 2 && lines[1].starts_with(&begin) && lines[0].contains("\t1062\t1\t"),
            "{lines:?}"
        );
        assert!(of("stats_mysql_errors").is_empty());

        let mut prepared = Vec::new();
        eventually("a statement is prepared from memory", || {
            let one = conn.prep("SELECT v, id FROM t WHERE id = ?").expect("it is prepared");
            let _: Option<(i32, i32)> = conn.exec_first(&one, (1,)).expect("it is executed");
            prepared.push(one);
            let query = "SELECT schemaname, username, num_columns, num_params, query, digest FROM stats_mysql_prepared_statements_info";
            let lines = directory.client("stats", query).expect("it is shown");
            let begin = format!("proxysql_told\t{user}\t2\t1\tSELECT v, id FROM t WHERE id = ?\t0x");
            lines.iter().any(|line| line.starts_with(&begin)).then_some(())
        });
        counters_and_the_monitor(server, directory);
        let metrics = page(&directory.path("metrics.sock"));
        assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
        assert!(metrics.contains("\nproxysql_client_connections_connected 1\n"), "{metrics}");
        assert!(metrics.contains("# TYPE freshet_live gauge\nfreshet_live 1\n"), "{metrics}");
        let shown: Vec<Vec<String>> =
            answer(&mut directory.connect("stats"), "SHOW PROMETHEUS METRICS").unwrap();
        assert!(shown[0][0].contains("# HELP proxysql_query_cache_memory_bytes "), "{shown:?}");
        let endpoint = format!("endpoint=\"{}:{}\",hostgroup=\"0\"", server.target.host, server.target.port);
        for line in [
            "proxysql_query_cache_count_get_total{status=\"err\"} ",
            "proxysql_query_cache_count_get_total{status=\"ok\"} ",
            "proxysql_query_cache_entries_total ",
            "proxysql_backend_query_time_seconds_total 0.",
            &format!("proxysql_connpool_conns{{{endpoint},status=\"used\"}} "),
            &format!("proxysql_connpool_conns_queries_total{{{endpoint}}} "),
            &format!("proxysql_connpool_data_bytes_total{{{endpoint},traffic_flow=\"recv\"}} "),
        ] {
            assert!(shown[0][0].lines().any(|found| found.starts_with(line)), "{line}: {}", shown[0][0]);
        }
        freshet.stop();
    });
}

#[test]
fn sizes_are_set_while_it_runs_and_it_is_shut_down() {
    with_each("sizes", |server, directory| {
        let schema = "proxysql_sizes";
        let mut direct = fresh_schema(server, schema);
        run(&mut direct, &["CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)"]);
        let freshet = directory.freshet(server);
        caught_up(&freshet);
        let mut admin = directory.connect("admin");
        let mut set = |name: &str, value: &str| {
            run(&mut admin, &[&format!("SET mysql-{name} = {value}"), "LOAD MYSQL VARIABLES TO RUNTIME"]);
        };
        let (mut conn, mut watch) = (connect(freshet.target(), schema), Counted::of(&freshet));
        let statement = "SELECT id FROM t WHERE id = 1";
        watch.prime(&mut conn, statement).expect("it is answered");
        set("query_cache_size_MB", "1");
        assert_eq!(
            answer(&mut conn, "SELECT @@global.query_cache_size"),
            Ok(vec![vec!["1048576".to_owned()]])
        );
        set("query_cache_size_MB", "0");
        assert_eq!(watch.hits_of(&mut conn, statement, 3), 0, "there is no room for anything");
        set("query_cache_size_MB", "8");
        watch.prime(&mut conn, statement).expect("it is answered");
        set("threshold_resultset_size", "10");
        assert_eq!(watch.hits_of(&mut conn, "SELECT id FROM t WHERE id = 2", 3), 0, "all answers are larger");
        set("threshold_resultset_size", "4194304");
        watch.prime(&mut conn, "SELECT id FROM t WHERE id = 2").expect("it is answered");
        assert!(admin.query_drop("SET mysql-no_such = 3").is_err(), "no variable of ProxySQL's");
        admin.query_drop("SET mysql-threads = 3").expect("setup scripts go through");
        assert!(admin.info_str().contains("it is the setting threads"), "{}", admin.info_str());
        run(&mut admin, &["PROXYSQL SHUTDOWN"]);
        drop((conn, watch));
        assert!(freshet.wait().success(), "it ends as it does by a signal");
    });
}

/// What the endpoint for Prometheus answers.
fn page(socket: &str) -> String {
    use std::io::{Read, Write};
    let mut stream = std::os::unix::net::UnixStream::connect(socket).expect("it listens");
    stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").expect("it reads");
    let mut page = String::new();
    stream.read_to_string(&mut page).expect("it answers");
    page
}
