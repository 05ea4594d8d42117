//! The admin port, by the client that people have for it.

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::Command;

use freshet_tests::cached::{answer, caught_up, connect, eventually, fresh_schema, run};
use freshet_tests::{Flavor, Freshet, Server, Target, server, tool};
use mysql::prelude::Queryable;

/// A place for sockets and tables that goes with the test.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("freshet-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a directory is made");
        Self(path)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn freshet(&self, server: &Server) -> Freshet {
        let (socket, state) = (self.path("admin.sock"), self.path("state"));
        Freshet::with(server, &["--admin-listen", &socket, "--state-dir", &state])
    }

    /// What the command-line client prints for these statements, a line for each row.
    fn client(&self, user: &str, statements: &str) -> Result<Vec<String>, String> {
        let program = if tool::is_there("mariadb") { "mariadb" } else { "mysql" };
        let mut client = Command::new(program);
        client.args([
            "--no-defaults",
            "--batch",
            "--skip-column-names",
            "--socket",
            &self.path("admin.sock"),
        ]);
        client.args([&format!("--user={user}"), &format!("--password={user}"), "--execute", statements]);
        let output = client.output().expect("the client runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        if !output.status.success() {
            return Err(text(&output.stderr));
        }
        Ok(text(&output.stdout).lines().map(str::to_owned).collect())
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

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

fn with_each(name: &str, test: impl Fn(&Server, &Directory)) {
    if std::env::var_os("FRESHET_TEST_DIRECT").is_some() {
        return;
    }
    for server in server::all() {
        let flavor = if server.flavor == Flavor::MariaDb { "ma" } else { "my" };
        test(&server, &Directory::new(&format!("{name}-{flavor}")));
    }
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
            "SELECT user, srv_host, srv_port FROM stats_mysql_processlist WHERE srv_port IS NOT NULL",
        );
        assert!(lines.unwrap().contains(&format!("{user}\t{host}\t{port}")));
        connections_are_counted(server, directory);
        drop(other);
        assert!(directory.client("stats", "SELECT * FROM mysql_users").is_err());
        assert!(directory.client("admn", "SELECT 1").is_err());
        assert_eq!(
            directory.client("admin", "SELECT @@version_comment LIMIT 1").unwrap(),
            ["(ProxySQL Admin Module)"]
        );
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
