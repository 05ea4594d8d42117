//! Real clients of six languages see through Freshet exactly what they see without it.

use freshet_tests::cached::{answer, connect, eventually, fresh_schema, run, status};
use freshet_tests::{Flavor, Freshet, Server, Target, tool, with_each};

/// How a client reaches the server.
type Ways = &'static [&'static [&'static str]];

const PLAIN_AND_TLS: Ways = &[&[], &["tls"]];
const AND_COMPRESSED: Ways = &[&[], &["tls"], &["compress"]];
const COMPRESSED_AND_TLS: Ways = &[&[], &["compress"], &["tls", "compress"]];

/// Runs a client program directly and through Freshet in each of some ways, and compares what it printed.
fn same_through(name: &str, program: &str, before: &[String], ways: Ways) {
    if !tool::is_there(program) {
        return;
    }
    with_each(|server, freshet| {
        for words in ways {
            let schema = format!("clients_{name}_{}", words.join("_"));
            let run = |target: &Target| {
                tool::run(program, &[before, &tool::arguments(target, &schema, words)].concat())
            };
            let direct = run(&server.target);
            let hits = hits(freshet);
            let through = run(freshet.target());
            assert!(!through.contains("STALE"), "{through}");
            assert!(through.ends_with("done\n"), "{through}");
            tool::assert_same(&direct, &through);
            // Each program repeats what can be answered from memory.
            let grown = self::hits(freshet) - hits;
            assert!(grown >= HITS_MIN || !freshet.is_there(), "{name} {words:?}: {grown} hits");
        }
    });
}

/// The least that a program's repeated texts bring. Each repeats one for longer than a write takes to be applied.
const HITS_MIN: u64 = 2;

fn hits(freshet: &Freshet) -> u64 {
    status(&mut freshet.target().connect(), "Qcache_hits")
}

fn text(path: std::path::PathBuf) -> String {
    path.to_str().expect("paths are UTF-8").to_owned()
}

#[test]
fn python_pymysql() {
    let python = text(tool::folder().join("python/bin/python"));
    same_through("python", &python, &[text(tool::sources().join("python/check.py"))], PLAIN_AND_TLS);
}

#[test]
fn node_mysql2() {
    // Node looks for modules beside the script, so it is run from where they are installed.
    let installed = tool::folder().join("node");
    if std::fs::copy(tool::sources().join("node/check.js"), installed.join("check.js")).is_ok() {
        same_through("node", "node", &[text(installed.join("check.js"))], AND_COMPRESSED);
    } else {
        freshet_tests::leave_out("the modules of node are not installed; scripts/tools installs them");
    }
}

#[test]
fn go_sql_driver() {
    same_through("go", &text(tool::folder().join("go/bin/check")), &[], AND_COMPRESSED);
}

#[test]
fn java_connector_j() {
    let class_path = text(tool::folder().join("java/*"));
    let before = ["-cp".into(), class_path, text(tool::sources().join("java/Check.java"))];
    same_through("java", "java", &before, AND_COMPRESSED);
}

/// It has the server report what it watches of a session for itself, and is told exactly that.
#[test]
fn java_mariadb_connector_j() {
    let class_path = text(tool::folder().join("java/*"));
    let before = ["-cp".into(), class_path, text(tool::sources().join("java/Check.java"))];
    same_through("java_mariadb", "java", &before, &[&["mariadb"]]);
}

#[test]
fn php_mysqli_and_pdo() {
    let program = text(tool::sources().join("php/check.php"));
    same_through(
        "php",
        "php",
        &["-d".into(), "mysqli.allow_local_infile=1".into(), program],
        COMPRESSED_AND_TLS,
    );
}

/// What one session of a command line client prints for statements of all kinds.
const SCRIPT: &str = "
    DROP DATABASE IF EXISTS clients_cli; CREATE DATABASE clients_cli; USE clients_cli;
    CREATE TABLE t (id INT PRIMARY KEY, s VARCHAR(20), d DECIMAL(9,3)) ENGINE=InnoDB;
    INSERT INTO t VALUES (1, 'a', 1.5), (2, NULL, 2), (3, 'grün', NULL);
    SELECT * FROM t ORDER BY id; SELECT * FROM t ORDER BY id; UPDATE t SET s = 'b' WHERE id = 1; SELECT * FROM t ORDER BY id;
    SHOW TABLES; DESCRIBE t; SHOW CREATE TABLE t; SELECT 1/0; SHOW WARNINGS;
    BEGIN; DELETE FROM t; SELECT COUNT(*) FROM t; ROLLBACK; SELECT COUNT(*) FROM t;
    SET @x = 5; SELECT @x; PREPARE p FROM 'SELECT s FROM t WHERE id = ?'; SET @i = 3; EXECUTE p USING @i; DEALLOCATE PREPARE p;
    SHOW STATUS LIKE 'Compression%'; SHOW SESSION STATUS WHERE Variable_name = 'Compression';
    SELECT * FROM missing;
    SELECT COUNT(*) FROM t;
    DROP DATABASE clients_cli;
";

fn command_line(program: &str, before: &[&str], how: &[&str]) {
    if !tool::is_there(program) {
        return;
    }
    with_each(|server, freshet| {
        let run = |target: &Target| {
            let connect = [
                format!("-h{}", target.host),
                format!("-P{}", target.port),
                format!("-u{}", target.user),
                format!("-p{}", target.password),
            ];
            // Tests run side by side, so each program has a schema of its own.
            let script = SCRIPT.replace("clients_cli", &format!("clients_{program}"));
            let rest =
                ["--force", "--table", "--default-character-set=utf8mb4", "-e", &script].map(str::to_owned);
            let before: Vec<String> = before.iter().chain(how).map(|&arg| arg.to_owned()).collect();
            // The missing table makes the client's exit code 1 on both paths; the transcript is what counts.
            let args = [before, connect.into(), rest.into()].concat();
            let output = std::process::Command::new(program).args(args).output().expect("the client runs");
            String::from_utf8_lossy(&[output.stdout, b"\n".into(), output.stderr].concat()).into_owned()
        };
        let direct = run(&server.target);
        assert!(direct.contains("grün") && direct.contains("1146"), "{direct}");
        tool::assert_same(&direct, &run(freshet.target()));
    });
}

#[test]
fn mariadb_command_line() {
    for how in [&[][..], &["--compress"], &["--compress", "--ssl"]] {
        command_line("mariadb", &["--no-defaults"], how);
    }
}

#[test]
fn mysql_command_line() {
    // MySQL's own client lives in the same root as its server: "chroot ROOT mysql".
    let Ok(root) = std::env::var("FRESHET_TEST_MYSQL_ROOT") else {
        return freshet_tests::leave_out("FRESHET_TEST_MYSQL_ROOT is not set");
    };
    let zlib = ["--compression-algorithms=zlib"];
    // Where the server offers no zstd, the client's own error is the transcript.
    let zstd = ["--compression-algorithms=zstd,uncompressed", "--zstd-compression-level=7"];
    for how in [&[][..], &zlib, &zstd, &["--compress", "--ssl-mode=REQUIRED"]] {
        command_line("chroot", &[root.as_str(), "mysql", "--no-defaults"], how);
    }
}

/// sysbench checks its own results; what counts is that it has no errors and that the tables agree afterwards.
fn sysbench(server: &Server, freshet: &Freshet, prepared: &str) {
    let schema = format!("sysbench_{prepared}");
    let mut direct = server.target.connect();
    let mut query =
        |sql: String| mysql::prelude::Queryable::query_drop(&mut direct, sql).expect("the server takes it");
    query(format!("DROP DATABASE IF EXISTS {schema}"));
    query(format!("CREATE DATABASE {schema}"));
    let run = |command: &str, test: &str| {
        let target = freshet.target();
        let mut args: Vec<String> =
            vec![test.to_owned(), "--db-driver=mysql".into(), format!("--mysql-db={schema}")];
        args.extend([format!("--mysql-host={}", target.host), format!("--mysql-port={}", target.port)]);
        args.extend([
            format!("--mysql-user={}", target.user),
            format!("--mysql-password={}", target.password),
        ]);
        args.extend(
            ["--tables=2", "--table-size=500", "--threads=4", "--events=400", "--time=0"].map(str::to_owned),
        );
        args.extend([format!("--db-ps-mode={prepared}"), command.to_owned()]);
        tool::run("sysbench", &args)
    };
    run("prepare", "oltp_read_write");
    for test in ["oltp_read_write", "oltp_point_select", "oltp_read_only", "oltp_write_only"] {
        let report = run("run", test);
        assert!(report.contains("total number of events:") && !report.contains("FATAL"), "{report}");
    }
    for table in ["sbtest1", "sbtest2"] {
        let rows = |target: &Target| -> Vec<(u32, u32, String, String)> {
            let mut connection = target.try_connect(&schema).expect("the schema is there");
            let all = format!("SELECT id, k, c, pad FROM {table} ORDER BY id");
            mysql::prelude::Queryable::query(&mut connection, all).expect("the table is there")
        };
        assert_eq!(rows(&server.target), rows(freshet.target()));
    }
    query(format!("DROP DATABASE {schema}"));
}

#[test]
fn sysbench_prepared_and_not() {
    if tool::is_there("sysbench") {
        with_each(|server, freshet| {
            for prepared in ["auto", "disable"] {
                sysbench(server, freshet, prepared);
            }
        });
    }
}

/// What is dumped of one schema by a program that dumps all of them. Others make and drop tables meanwhile, at which such a program may stumble.
fn dumped(program: &[&str], target: &Target, schema: &str) -> String {
    eventually("everything is dumped", || {
        let mut command = std::process::Command::new(program[0]);
        command.args(&program[1..]).args(["--no-defaults", "--all-databases", "--single-transaction"]);
        command.args(["--routines", "--events", "--triggers", "--skip-dump-date", "--hex-blob"]);
        command.args([format!("-h{}", target.host), format!("-P{}", target.port)]);
        command.args([format!("-u{}", target.user), format!("-p{}", target.password)]);
        if program.contains(&"mysqldump") {
            command.arg("--set-gtid-purged=OFF");
        }
        let output = command.output().expect("it runs");
        let dump = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(!dump.contains("Current Database: `freshet`"), "what is computed is in no dump");
        // Views come once more at the end, as what they are.
        let mut parts = dump.split("-- Current Database: ");
        let first = parts.next().unwrap_or_default().to_owned();
        let name = format!("`{schema}`");
        let of_schema: Vec<String> =
            parts.filter(|part| part.starts_with(&name)).map(|part| format!("-- {part}")).collect();
        (output.status.success() && !of_schema.is_empty()).then(|| first + &of_schema.concat())
    })
}

/// Everything is dumped through Freshet as it is directly, and what is dumped can be played back.
fn dumps_everything(program: &[&str], client: &[&str], name: &str) {
    with_each(|server, freshet| {
        if name == "mysqldump" && server.flavor == Flavor::MariaDb {
            return;
        }
        let schema = format!("clients_{name}");
        let mut direct = fresh_schema(server, &schema);
        let stage = [
            "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, s VARCHAR(20), b BLOB, v INT)",
            "INSERT INTO t (s, b) VALUES ('grün', x'00ff27'), (NULL, NULL), ('it''s', 'x')",
            "CREATE VIEW w AS SELECT id, s FROM t",
            "CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW SET NEW.s = NEW.s",
            "CREATE PROCEDURE p() SELECT COUNT(*) FROM t",
        ];
        run(&mut direct, &stage);
        let through = dumped(program, freshet.target(), &schema);
        tool::assert_same(&dumped(program, &server.target, &schema), &through);
        assert!(through.contains("CREATE TABLE `t`") && through.contains("PROCEDURE `p`"), "{through}");

        let read = "SELECT id, s, HEX(b), v FROM t ORDER BY id";
        let mut conn = connect(freshet.target(), &schema);
        let before = answer(&mut conn, read).expect("it is answered");
        run(&mut direct, &["DROP VIEW w", "DROP TABLE t", "CREATE TABLE t (id INT)"]);
        let target = freshet.target();
        let mut playing = std::process::Command::new(client[0]);
        playing.args(&client[1..]).args(["--no-defaults", "--default-character-set=utf8mb4"]);
        playing.args([format!("-h{}", target.host), format!("-P{}", target.port)]);
        playing.args([format!("-u{}", target.user), format!("-p{}", target.password)]);
        let mut playing = playing.stdin(std::process::Stdio::piped()).spawn().expect("the client runs");
        let mut input = playing.stdin.take().expect("it listens");
        std::io::Write::write_all(&mut input, through.as_bytes()).expect("it takes the dump");
        drop(input);
        assert!(playing.wait().expect("it ends").success());
        assert_eq!(answer(&mut conn, read), Ok(before));
        assert_eq!(answer(&mut conn, "SELECT COUNT(*) FROM w"), Ok(vec![vec!["3".to_owned()]]));
    });
}

#[test]
fn mariadb_dump_of_everything() {
    if tool::is_there("mariadb-dump") && tool::is_there("mariadb") {
        dumps_everything(&["mariadb-dump"], &["mariadb"], "mariadb_dump");
    }
}

#[test]
fn mysqldump_of_everything() {
    match std::env::var("FRESHET_TEST_MYSQL_ROOT") {
        Ok(root) => {
            dumps_everything(&["chroot", &root, "mysqldump"], &["chroot", &root, "mysql"], "mysqldump")
        }
        Err(_) => freshet_tests::leave_out("FRESHET_TEST_MYSQL_ROOT is not set"),
    }
}
