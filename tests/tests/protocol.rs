//! Freshet is the server to its clients: packet by packet, in every form of the protocol.

use std::io::{Read as _, Write as _};

use freshet_tests::cached::{Counted, await_asleep, connect, eventually, fresh_schema, run, status};
use freshet_tests::raw::{self, Raw, capability, command, error_code};
use freshet_tests::{Flavor, Freshet, Server, Target, with_each};
use mysql::prelude::Queryable;

const USER: &str = "protocol_raw";
const SETUP: &[&str] = &[
    "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v BIGINT UNSIGNED, w VARCHAR(200), d DECIMAL(20,5), f DOUBLE, s DATETIME(6), b BLOB, j TIME, y DATE)",
    "INSERT INTO t VALUES (1,10,'a',1.5,2.5,'2026-01-02 03:04:05.678901',X'00FF','-12:34:56','2026-02-03'),(2,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL),(3,18446744073709551615,REPEAT('x',200),-1,1e300,'1000-01-01',REPEAT('y',300),'800:00:00','9999-12-31')",
    "CREATE PROCEDURE two() BEGIN SELECT id FROM t ORDER BY id; SELECT COUNT(*) FROM t; END",
    "CREATE PROCEDURE outs(IN a INT, OUT o INT) BEGIN SET o = a + 1; SELECT a; END",
];

/// A schema and an account without a password, which the raw client logs in with.
fn stage(server: &Server, schema: &str) {
    let mut direct = fresh_schema(server, schema);
    run(&mut direct, SETUP);
    run(
        &mut direct,
        &[
            &format!("CREATE USER IF NOT EXISTS {USER} IDENTIFIED BY ''"),
            &format!("GRANT ALL PRIVILEGES ON *.* TO {USER}"),
        ],
    );
}

fn raw(target: &Target, schema: &str, further: u32) -> Raw {
    let mut raw = Raw::dial(&target.host, target.port).expect("it greets");
    raw.login(USER, schema, further).expect("it lets in");
    raw
}

/// The first difference between two answers, in a form to be read.
fn difference(direct: &[Vec<u8>], through: &[Vec<u8>]) -> Option<String> {
    let shown = |packet: Option<&Vec<u8>>| {
        packet.map(|packet| format!("{:?}", String::from_utf8_lossy(&packet[..packet.len().min(200)])))
    };
    (0..direct.len().max(through.len())).find(|&at| direct.get(at) != through.get(at)).map(|at| {
        format!(
            "packet {at}:\n  direct  {:?} {:02x?}\n  through {:?} {:02x?}",
            shown(direct.get(at)),
            direct.get(at).map(|packet| &packet[..packet.len().min(60)]),
            shown(through.get(at)),
            through.get(at).map(|packet| &packet[..packet.len().min(60)])
        )
    })
}

const STATEMENTS: &[&str] = &[
    "SELECT 1",
    "SELECT * FROM t ORDER BY id",
    "SELECT * FROM t ORDER BY id",
    "SELECT * FROM t ORDER BY id",
    "SELECT v AS `größe`, w FROM t AS tt WHERE id = 3",
    "SELECT id FROM t WHERE id > 100",
    "SELECT COUNT(*), SUM(d), AVG(f) FROM t",
    "SELECT w FROM t WHERE w LIKE 'a%' UNION SELECT 'z'",
    "SELECT nothing FROM t",
    "SELECT * FROM missing",
    "SELEC 1",
    "",
    ";",
    "   ",
    "/* only a comment */",
    "-- only a comment",
    "SELECT 1/0, CAST('x' AS SIGNED)",
    "SHOW WARNINGS",
    "SHOW COUNT(*) WARNINGS",
    "SELECT @@warning_count",
    "INSERT INTO t (v) VALUES (1), (2)",
    "SELECT LAST_INSERT_ID()",
    "INSERT INTO t (id, v) VALUES (1, 1)",
    "INSERT IGNORE INTO t (id, v) VALUES (1, 1)",
    "SHOW WARNINGS",
    "UPDATE t SET v = 5 WHERE id = 1",
    "UPDATE t SET v = 5 WHERE id = 1",
    "SELECT ROW_COUNT()",
    "DELETE FROM t WHERE id > 3",
    "BEGIN",
    "SELECT id FROM t WHERE id = 1",
    "SELECT id FROM t WHERE id = 1",
    "INSERT INTO t (v) VALUES (3)",
    "SELECT id FROM t WHERE id = 1",
    "ROLLBACK",
    "START TRANSACTION READ ONLY",
    "SELECT id FROM t WHERE id = 1",
    "UPDATE t SET v = 5",
    "COMMIT",
    "SET autocommit = 0",
    "SELECT id FROM t WHERE id = 1",
    "SELECT id FROM t WHERE id = 1",
    "COMMIT",
    "SET autocommit = 1",
    "SELECT id FROM t WHERE id = 1",
    "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1",
    "SELECT FOUND_ROWS()",
    "SELECT 1; SELECT 2, 3; SELECT id FROM t WHERE id = 2",
    "SELECT 1; SELECT nothing; SELECT 3",
    "UPDATE t SET v = 6 WHERE id = 1; SELECT v FROM t WHERE id = 1",
    "CALL two()",
    "CALL outs(4, @o)",
    "SELECT @o",
    "SET @a = 1, @b := 'x'",
    "SELECT @a, @b",
    "SET NAMES utf8mb4",
    "SET sql_mode = 'ANSI_QUOTES'",
    "SELECT \"id\" FROM t WHERE id = 1",
    "SET sql_mode = ''",
    "SELECT \"id\" FROM t WHERE id = 1",
    "SET sql_mode = 'NO_BACKSLASH_ESCAPES'",
    "SELECT '\\' FROM t WHERE id = 1",
    "SELECT '\\' FROM t WHERE id = 1",
    "SET sql_mode = DEFAULT",
    "CREATE TEMPORARY TABLE tt (a INT)",
    "SELECT * FROM tt",
    "DROP TEMPORARY TABLE tt",
    "CREATE TABLE IF NOT EXISTS t (id INT)",
    "SHOW TABLES",
    "SHOW VARIABLES LIKE 'max_allowed_packet'",
    "SHOW VARIABLES LIKE 'sql_mode'",
    "DESCRIBE t",
    "USE mysql",
    "USE no_such_schema",
    "SELECT DATABASE()",
    "KILL 99999999",
    "DO 1",
    "PREPARE p FROM 'SELECT ? + 1'",
    "EXECUTE p USING @a",
    "DEALLOCATE PREPARE p",
    "EXECUTE p",
    "SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'on purpose', MYSQL_ERRNO = 5555",
    "HELP 'nothing at all'",
    "LOCK TABLES mysql.db READ",
    "UNLOCK TABLES",
];

#[test]
fn every_statement_has_the_servers_own_bytes() {
    with_each(|server, freshet| {
        for further in [
            0,
            capability::DEPRECATE_EOF,
            capability::FOUND_ROWS | capability::DEPRECATE_EOF,
            capability::COMPRESS,
        ] {
            let mut answers = Vec::new();
            for target in [&server.target, freshet.target()] {
                stage(server, "proto_text");
                let mut client = raw(target, "proto_text", further);
                let all: Vec<_> =
                    STATEMENTS.iter().map(|text| client.query(text).expect("it answers")).collect();
                answers.push(all);
            }
            let mut wrong = Vec::new();
            for (at, text) in STATEMENTS.iter().enumerate() {
                let found = difference(&answers[0][at], &answers[1][at]);
                wrong.extend(found.map(|found| format!("[{at}] {text:?}: {found}")));
            }
            assert!(wrong.is_empty(), "{:?}, {further:x}:\n{}", server.flavor, wrong.join("\n"));
        }
    });
}

#[test]
fn a_hits_bytes_are_a_misses() {
    with_each(|server, freshet| {
        stage(server, "proto_hit");
        let mut counted = Counted::of(freshet);
        for further in [0, capability::DEPRECATE_EOF, capability::COMPRESS] {
            let mut direct = raw(&server.target, "proto_hit", further);
            let mut through = raw(freshet.target(), "proto_hit", further);
            for text in
                ["SELECT * FROM t ORDER BY id", "SELECT id FROM t WHERE id = 99", "SELECT w, b FROM t"]
            {
                let wanted = direct.query(text).expect("an answer");
                let mut hits = 0;
                eventually("three hits", || {
                    let before = counted.hits();
                    let got = through.query(text).expect("an answer");
                    assert_eq!(difference(&wanted, &got), None, "{text}");
                    hits += u32::from(counted.hits() > before || !freshet.is_there());
                    (hits >= 3).then_some(())
                });
            }
        }
    });
}

/// Sends statements in one write, and gives their answers.
fn together(client: &mut Raw, texts: &[&str]) -> Vec<Vec<Vec<u8>>> {
    let mut sent = Vec::new();
    for text in texts {
        sent.extend(frame_header(text.len() + 1, 0, 0).iter().take(4));
        sent.push(command::QUERY);
        sent.extend(text.as_bytes());
    }
    client.stream().write_all(&sent).expect("they are sent");
    texts.iter().map(|_| (client.begin_answer(), client.answer().expect("an answer")).1).collect()
}

#[test]
fn commands_that_come_together_are_answered_in_their_order() {
    with_each(|server, freshet| {
        stage(server, "proto_together");
        let mut counted = Counted::of(freshet);
        let mut straight = connect(&server.target, "proto_together");
        let mut direct = raw(&server.target, "proto_together", 0);
        let mut through = raw(freshet.target(), "proto_together", 0);
        let hit = "SELECT v, w FROM t WHERE id = 1";
        let texts =
            [hit, hit, hit, "UPDATE t SET v = 55 WHERE id = 1", hit, "SELECT w FROM t", hit, "wrong", hit];
        let wanted = together(&mut direct, &texts);
        run(&mut straight, &["UPDATE t SET v = 10 WHERE id = 1"]);
        eventually("a hit", || {
            let before = counted.hits();
            let got = through.query(hit).expect("an answer");
            (got == wanted[0] && (counted.hits() > before || !freshet.is_there())).then_some(())
        });
        let before = counted.hits();
        let got = together(&mut through, &texts);
        for (text, (wanted, got)) in texts.iter().zip(wanted.iter().zip(&got)) {
            assert_eq!(difference(wanted, got), None, "{text}");
        }
        assert!(counted.hits() >= before + 3 || !freshet.is_there(), "those before the write are hits");
    });
}

/// An execution of a prepared statement: no NULLs, all parameters BIGINT.
fn execute(id: u32, cursor: u8, parameters: &[i64]) -> Vec<u8> {
    let mut body = [&id.to_le_bytes()[..], &[cursor], &1u32.to_le_bytes()[..]].concat();
    if !parameters.is_empty() {
        body.extend(vec![0; parameters.len().div_ceil(8)]);
        body.push(1);
        body.extend(parameters.iter().flat_map(|_| [8, 0]));
        body.extend(parameters.iter().flat_map(|number| number.to_le_bytes()));
    }
    body
}

fn statement_id(prepared: &[Vec<u8>]) -> u32 {
    u32::from_le_bytes(prepared[0][1..5].try_into().expect("an id"))
}

/// All that is done with prepared statements, as one transcript without the statements' ids.
fn binary_transcript(client: &mut Raw, flavor: Flavor) -> Vec<Vec<Vec<u8>>> {
    let mut transcript = Vec::new();
    for (text, parameters) in [
        ("SELECT * FROM t WHERE id <= ? ORDER BY id", &[3][..]),
        ("SELECT 1", &[]),
        ("UPDATE t SET v = ? WHERE id = ?", &[9, 1]),
        ("INSERT INTO t (v) VALUES (?)", &[9]),
        ("SELECT v FROM t WHERE id = ?", &[1]),
        ("SELECT v FROM missing WHERE id = ?", &[1]),
        ("CALL two()", &[]),
        ("SELECT CAST(? AS SIGNED) / 0", &[1]),
        ("DELETE FROM t WHERE id > ?", &[3]),
    ] {
        let mut prepared = client.ask(command::STMT_PREPARE, text.as_bytes()).expect("an answer");
        if error_code(&prepared[0]).is_some() {
            transcript.push(prepared);
            continue;
        }
        let id = statement_id(&prepared);
        prepared[0][1..5].fill(0);
        transcript.push(prepared);
        for _ in 0..3 {
            transcript
                .push(client.ask(command::STMT_EXECUTE, &execute(id, 0, parameters)).expect("an answer"));
        }
        transcript.push(client.ask(command::STMT_RESET, &id.to_le_bytes()).expect("an answer"));
        client.send(command::STMT_CLOSE, &id.to_le_bytes()).expect("it is sent");
        transcript.push(vec![
            client.ask(command::STMT_RESET, &id.to_le_bytes()).expect("an answer")[0][..3].to_vec(),
        ]);
    }
    transcript.extend(cursor_transcript(client));
    transcript.extend(long_data_transcript(client));
    let _ = flavor;
    transcript
}

fn cursor_transcript(client: &mut Raw) -> Vec<Vec<Vec<u8>>> {
    let prepared = client
        .ask(command::STMT_PREPARE, b"SELECT id, w FROM t WHERE id <= ? ORDER BY id")
        .expect("an answer");
    let id = statement_id(&prepared);
    let mut transcript = vec![client.ask(command::STMT_EXECUTE, &execute(id, 1, &[3])).expect("an answer")];
    let fetch = [id.to_le_bytes(), 2u32.to_le_bytes()].concat();
    // Two rows, then the third and the end.
    for _ in 0..2 {
        transcript.push(client.ask(command::STMT_FETCH, &fetch).expect("an answer"));
    }
    transcript
}

fn long_data_transcript(client: &mut Raw) -> Vec<Vec<Vec<u8>>> {
    let prepared = client.ask(command::STMT_PREPARE, b"SELECT LENGTH(?), MD5(?)").expect("an answer");
    let id = statement_id(&prepared);
    for (parameter, piece) in [(0u16, 70_000), (1, 3), (0, 5)] {
        let head = [&id.to_le_bytes()[..], &parameter.to_le_bytes()].concat();
        let body = [head, vec![b'x'; piece]].concat();
        client.send(command::STMT_SEND_LONG_DATA, &body).expect("it is sent");
    }
    // Both are BLOBs whose values have been sent.
    let body = [&id.to_le_bytes()[..], &[0], &1u32.to_le_bytes(), &[0, 1, 252, 0, 252, 0]].concat();
    vec![client.ask(command::STMT_EXECUTE, &body).expect("an answer")]
}

#[test]
fn prepared_statements_have_the_servers_own_bytes() {
    with_each(|server, freshet| {
        for further in [0, capability::DEPRECATE_EOF, capability::COMPRESS] {
            let transcripts = [&server.target, freshet.target()].map(|target| {
                stage(server, "proto_binary");
                binary_transcript(&mut raw(target, "proto_binary", further), server.flavor)
            });
            for (at, (direct, through)) in transcripts[0].iter().zip(&transcripts[1]).enumerate() {
                let found = difference(direct, through);
                assert!(
                    found.is_none(),
                    "{:?} {further:x} step {at}: {}",
                    server.flavor,
                    found.unwrap_or_default()
                );
            }
        }
    });
}

#[test]
fn packets_over_16_mib_pass_both_ways() {
    with_each(|server, freshet| {
        stage(server, "proto_large");
        let mut client = connect(freshet.target(), "proto_large");
        for len in [0xff_ffff - 30, 0xff_fffe, 0xff_ffff, 0x100_0000, 20_000_000] {
            let text = format!("SELECT LENGTH('{}')", "x".repeat(len));
            let got: Option<usize> = client.query_first(text).expect("it is asked");
            assert_eq!(got, Some(len));
            let got: Option<Vec<u8>> =
                client.query_first(format!("SELECT REPEAT('y', {len})")).expect("it is answered");
            assert_eq!(got.map(|bytes| bytes.len()), Some(len));
            let got: Option<(usize, Vec<u8>)> = client
                .exec_first("SELECT LENGTH(?), ?", ("z".repeat(len), "z".repeat(len / 4)))
                .expect("bound");
            assert_eq!(got.map(|(got, bytes)| (got, bytes.len())), Some((len, len / 4)));
        }
        for further in [0, capability::COMPRESS] {
            // Exactly one frame's worth of command: an empty frame must follow.
            let mut raw = raw(freshet.target(), "", further);
            let text = [&b"SELECT 1 -- "[..], &vec![b'x'; raw::FRAME_MAX - 13]].concat();
            let answer = raw.ask(command::QUERY, &text).expect("an answer");
            assert_eq!(answer.len(), 5);
            let large = format!("SELECT REPEAT('y', {0}), LENGTH('{1}')", 20_000_000, "z".repeat(20_000_000));
            let answer = raw.query(&large).expect("an answer");
            // The lengths take nine bytes and one, and the number has eight digits.
            assert_eq!(answer[4].len(), 9 + 20_000_000 + 1 + 8);
        }
    });
}

#[test]
fn a_packet_beyond_the_limit_is_refused() {
    with_each(|_, freshet| {
        if !freshet.is_there() {
            return;
        }
        let mut client = freshet.target().connect();
        let outcome = client.query_drop(format!("SELECT LENGTH('{}')", "x".repeat(80 << 20)));
        assert!(outcome.is_err());
        let one: Option<u8> = freshet.target().connect().query_first("SELECT 1").expect("others are served");
        assert_eq!(one, Some(1));
    });
}

#[test]
fn local_files_are_asked_for_and_taken() {
    for further in [0, capability::COMPRESS] {
        with_each(|server, freshet| infile(server, freshet, further));
    }
}

fn infile(server: &Server, freshet: &Freshet, further: u32) {
    let transcripts = [&server.target, freshet.target()].map(|target| {
        stage(server, "proto_infile");
        let mut client = raw(target, "proto_infile", further);
        let mut transcript = Vec::new();
        for pieces in [&[&b"7\t70\n8\t"[..], b"80\n"][..], &[], &[b"7\t1\n"]] {
            transcript
                .push(client.query("LOAD DATA LOCAL INFILE 'name' INTO TABLE t (id, v)").expect("asked for"));
            for piece in pieces {
                client.put(piece).expect("it is sent");
            }
            client.put(b"").expect("the end is sent");
            transcript.push(vec![client.packet().expect("it is taken")]);
            transcript.push(client.query("SELECT id, v FROM t WHERE id >= 7").expect("an answer"));
        }
        // The file is asked for in the middle of an answer, whose packets have numbers of their own.
        client
            .query("SELECT id FROM t; LOAD DATA LOCAL INFILE 'name' INTO TABLE t (v); SELECT 5")
            .expect("an answer");
        client.put(b"1\n2\n").expect("it is sent");
        client.put(b"").expect("the end is sent");
        transcript.push(client.answer().expect("the rest"));
        transcript
    });
    for (direct, through) in transcripts[0].iter().zip(&transcripts[1]) {
        assert_eq!(difference(direct, through), None, "{:?}", server.flavor);
    }
}

#[test]
fn the_smaller_commands_have_the_servers_own_bytes() {
    with_each(|server, freshet| {
        let transcripts = [&server.target, freshet.target()].map(|target| {
            stage(server, "proto_commands");
            let mut client = raw(target, "", 0);
            let mut transcript = Vec::new();
            for (command, body) in [
                (command::PING, &b""[..]),
                (command::INIT_DB, b"proto_commands"),
                (command::QUERY, b"SELECT DATABASE()"),
                (command::INIT_DB, b"no_such_schema"),
                (command::QUERY, b"SELECT id FROM t WHERE id = 1"),
                (command::SET_OPTION, &[1, 0]),
                (command::QUERY, b"SELECT 1; SELECT 2"),
                (command::SET_OPTION, &[0, 0]),
                (command::QUERY, b"SELECT 1; SELECT 2"),
                (command::QUERY, b"SET @x = 5, time_zone = '+03:00'"),
                (command::RESET_CONNECTION, b""),
                (command::QUERY, b"SELECT @x, @@time_zone"),
                (command::QUERY, b"SELECT DATABASE()"),
                (command::PROCESS_KILL, &[0xff, 0xff, 0xff, 0x7e]),
                (command::STMT_EXECUTE, &[9, 9, 9, 9, 0, 1, 0, 0, 0]),
                (99, b"what is this"),
                (command::QUERY, b"SELECT 1"),
                (command::PING, b""),
            ] {
                transcript.push(client.ask(command, body).expect("an answer"));
            }
            if server.flavor == Flavor::MariaDb {
                client.ask(command::INIT_DB, b"proto_commands").expect("an answer");
                transcript.push(client.ask(command::FIELD_LIST, b"t\0%").expect("an answer"));
            }
            let statistics = client.ask(command::STATISTICS, b"").expect("an answer");
            assert!(String::from_utf8_lossy(&statistics[0]).starts_with("Uptime"), "{statistics:?}");
            transcript.push(client.ask(command::DEBUG, b"").expect("an answer"));
            transcript
        });
        for (at, (direct, through)) in transcripts[0].iter().zip(&transcripts[1]).enumerate() {
            let found = difference(direct, through);
            assert!(found.is_none(), "{:?} step {at}: {}", server.flavor, found.unwrap_or_default());
        }
    });
}

#[test]
fn a_user_can_be_changed_on_the_way() {
    with_each(|server, freshet| {
        stage(server, "proto_change");
        user_changes(&mut raw(freshet.target(), "proto_change", 0));
        user_changes(&mut raw(freshet.target(), "proto_change", capability::COMPRESS));
    });
}

fn user_changes(client: &mut Raw) {
    client.query("SET @x = 5").expect("it is set");
    for round in 0..3 {
        let body = [USER.as_bytes(), b"\0\0proto_change\0\x2d\0mysql_native_password\0"].concat();
        client.send(command::CHANGE_USER, &body).expect("it is sent");
        client.authenticated().expect("it is let in");
        let answer = client.query("SELECT @x IS NULL, DATABASE() = 'proto_change'").expect("an answer");
        assert_eq!(answer[4], b"\x011\x011", "round {round}");
    }
    client.send(command::CHANGE_USER, b"nobody_at_all\0\0\0\x2d\0mysql_native_password\0").expect("sent");
    let refused = client.authenticated().expect_err("nobody is refused");
    assert!(refused.to_string().contains("Access denied"), "{refused}");
}

/// A killed client may hear why, and then nothing.
fn is_cut_off(client: &mut Raw) {
    eventually("the killed client is cut off", || client.query("SELECT 1").is_err().then_some(()));
}

#[test]
fn a_client_is_killed_by_the_id_that_it_was_greeted_with() {
    with_each(|server, freshet| {
        stage(server, "proto_kill");
        let mut killer = raw(freshet.target(), "proto_kill", 0);
        let mut idle = raw(freshet.target(), "proto_kill", capability::COMPRESS);
        assert_eq!(error_code(&killer.query(&format!("KILL {}", idle.id)).expect("an answer")[0]), None);
        is_cut_off(&mut idle);

        let mut busy = raw(freshet.target(), "proto_kill", capability::COMPRESS);
        let id = busy.id;
        let sleeping = std::thread::spawn(move || {
            let answer = busy.query("SELECT SLEEP(30) FROM t");
            (answer.map(|packets| packets.iter().find_map(|packet| error_code(packet))), busy)
        });
        await_asleep(freshet.target(), "proto_kill");
        killer.query(&format!("KILL QUERY {id}")).expect("an answer");
        let (ended, mut busy) = sleeping.join().expect("no panic");
        // SLEEP alone may end with 1; a row's worth of it ends with 1317.
        assert!(matches!(ended, Ok(None | Some(1317))), "{ended:?}");
        assert_eq!(busy.query("SELECT 1").expect("it lives on").len(), 5);

        let busy_id = busy.id.to_le_bytes();
        let answer = killer.ask(command::PROCESS_KILL, &busy_id).expect("an answer");
        // MySQL 9 no longer has this command.
        if error_code(&answer[0]).is_none() {
            is_cut_off(&mut busy);
        } else {
            assert_eq!(server.flavor, Flavor::MySql);
        }

        // The id by which the server knows it is as good.
        let mut asked = raw(freshet.target(), "proto_kill", 0);
        let answer = asked.query("SELECT @@pseudo_thread_id").expect("an answer");
        let id = String::from_utf8_lossy(&answer[3][1..]).into_owned();
        killer.query(&format!("KILL CONNECTION {id}")).expect("an answer");
        is_cut_off(&mut asked);
    });
}

#[test]
fn a_replica_can_follow_through() {
    with_each(|server, freshet| {
        stage(server, "proto_replica");
        follows(server, &mut raw(freshet.target(), "", 0));
        follows(server, &mut raw(freshet.target(), "", capability::COMPRESS));
    });
}

fn follows(server: &Server, client: &mut Raw) {
    // Without this a server with checksums sends none to who does not know of them.
    client
        .query("SET @source_binlog_checksum = 'NONE', @master_binlog_checksum = 'NONE'")
        .expect("it is set");
    client.query("SET @mariadb_slave_capability = 4").expect("it is set");
    let show = if server.flavor == Flavor::MariaDb { "SHOW MASTER STATUS" } else { "SHOW BINARY LOG STATUS" };
    let (file, _position): (String, u64) = server
        .target
        .connect()
        .query_first::<mysql::Row, _>(show)
        .expect("it is shown")
        .map(|row| (row.get(0).expect("a file"), row.get(1).expect("a position")))
        .expect("the binlog is on");
    let register = [&9999u32.to_le_bytes()[..], &[0, 0, 0], &[0; 10]].concat();
    let answer = client.ask(command::REGISTER_REPLICA, &register).expect("an answer");
    assert_eq!(error_code(&answer[0]), None, "{answer:?}");
    // From the beginning of the file, without waiting at its end.
    let dump =
        [&4u32.to_le_bytes()[..], &1u16.to_le_bytes(), &9999u32.to_le_bytes(), file.as_bytes()].concat();
    client.send(command::BINLOG_DUMP, &dump).expect("it is sent");
    let mut events = 0;
    loop {
        let packet = client.packet().expect("an event or the end");
        match packet[0] {
            0 => events += 1,
            0xfe => break,
            _ => panic!("{:?}", String::from_utf8_lossy(&packet)),
        }
    }
    assert!(events > 3, "{events} events");
}

#[test]
fn a_wrong_password_is_the_servers_own_refusal() {
    with_each(|server, freshet| {
        for (user, password) in [("admin", "wrong"), ("admin", "")] {
            let messages = [&server.target, freshet.target()].map(|target| {
                let target = Target { user: user.into(), password: password.into(), ..target.clone() };
                match target.try_connect("") {
                    Err(mysql::Error::MySqlError(error)) => (error.code, error.state, error.message),
                    other => panic!("{user}: {:?}", other.err()),
                }
            });
            assert_eq!(messages[0].0, 1045);
            assert_eq!(messages[0], messages[1], "{user}");
        }
        // Of an unknown account the server may ask any form of password; the raw client has none in all of them.
        let refusals = [&server.target, freshet.target()].map(|target| {
            let mut client = Raw::dial(&target.host, target.port).expect("it greets");
            client.login("nobody", "", 0).expect_err("nobody is refused").to_string()
        });
        assert!(refusals[0].contains("Access denied"), "{}", refusals[0]);
        assert_eq!(refusals[0], refusals[1]);
        let target = freshet.target();
        let code = |error: mysql::Error| match error {
            mysql::Error::MySqlError(error) => error.code,
            other => panic!("{other}"),
        };
        assert_eq!(target.try_connect("no_such_schema").map(drop).map_err(code), Err(1049));
    });
}

#[test]
fn clients_come_by_a_unix_socket() {
    with_each(|server, direct| {
        if !direct.is_there() {
            return;
        }
        let path = std::env::temp_dir().join(format!("freshet-protocol-{}.sock", std::process::id()));
        let listen = format!("127.0.0.1:0,{}", path.display());
        let freshet = Freshet::with(server, &["--listen", &listen]);
        let options = mysql::OptsBuilder::new()
            .socket(path.to_str())
            .user(Some(&server.target.user))
            .pass(Some(&server.target.password));
        let mut client = mysql::Conn::new(options).expect("it lets in");
        assert_eq!(client.query_first::<u8, _>("SELECT 1").expect("it answers"), Some(1));
        drop(client);
        freshet.stop();
        assert!(!path.exists(), "the socket is left behind");
    });
}

#[test]
fn who_must_use_tls_and_does_not_is_refused() {
    with_each(|server, direct| {
        if !direct.is_there() {
            return;
        }
        let freshet = Freshet::with(server, &["--require-secure-transport", "on"]);
        match freshet.target().try_connect("") {
            Err(mysql::Error::MySqlError(error)) => assert_eq!(error.code, 3159),
            other => panic!("{:?}", other.err()),
        }
    });
}

#[test]
fn a_client_that_compresses_shares_what_is_stored() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        stage(server, "proto_share");
        let mut counted = Counted::of(freshet);
        let hit = |counted: &mut Counted, client: &mut Raw| {
            eventually("a hit", || {
                let before = counted.hits();
                client.query("SELECT id, w, b FROM t ORDER BY id").expect("an answer");
                (counted.hits() > before).then_some(())
            });
        };
        hit(&mut counted, &mut raw(freshet.target(), "proto_share", 0));
        let mut conn = freshet.target().connect();
        let stored = status(&mut conn, "Qcache_inserts");
        hit(&mut counted, &mut raw(freshet.target(), "proto_share", capability::COMPRESS));
        assert_eq!(status(&mut conn, "Qcache_inserts"), stored, "the entry was there");
    });
}

/// mysqlnd asks for compression without looking at what is offered, and compresses from then on.
#[test]
fn who_asks_for_compression_gets_it_offered_or_not() {
    for server in freshet_tests::server::all().into_iter().filter(|server| server.flavor == Flavor::MySql) {
        stage(&server, "proto_unasked");
        let mut admin = server.target.connect();
        admin.query_drop("SET GLOBAL protocol_compression_algorithms = 'uncompressed'").expect("it is set");
        let freshet = Freshet::before(&server);
        let answers = [&server.target, freshet.target()].map(|target| {
            let mut client = Raw::dial(&target.host, target.port)?;
            let offered = client.offered & capability::COMPRESS;
            client.offered |= capability::COMPRESS;
            client.login(USER, "proto_unasked", capability::COMPRESS)?;
            Ok::<_, std::io::Error>((offered, client.query("SELECT * FROM t ORDER BY id")?))
        });
        admin.query_drop("SET GLOBAL protocol_compression_algorithms = DEFAULT").expect("it is set");
        let [direct, through] = answers.map(|answer| answer.expect("an answer"));
        assert_eq!((direct.0, through.0), (0, 0));
        assert_eq!(difference(&direct.1, &through.1), None);
        freshet.stop();
    }
}

/// The header of a compressed frame, whatever may follow it.
fn frame_header(len: usize, seq: u8, unpacked_len: usize) -> Vec<u8> {
    [&len.to_le_bytes()[..3], &[seq], &unpacked_len.to_le_bytes()[..3]].concat()
}

#[test]
fn frames_that_are_none_end_the_connection_with_the_servers_error() {
    with_each(|server, freshet| {
        if !freshet.is_there() {
            return;
        }
        stage(server, "proto_frames");
        for (frame, code) in [
            (frame_header(10, 3, 0), 1156),
            ([frame_header(60, 0, 500), vec![b'x'; 60]].concat(), 1157),
            ([frame_header(60, 0, 1), vec![b'x'; 60]].concat(), 1157),
        ] {
            let client = raw(freshet.target(), "proto_frames", capability::COMPRESS);
            client.stream().write_all(&frame).expect("it is sent");
            let mut said = Vec::new();
            // The end of the connection ends the reading.
            client.stream().read_to_end(&mut said).expect("the connection is closed, not reset");
            assert_eq!(said.get(7 + 4..).and_then(error_code), Some(code), "{said:?}");
        }
        let mut other = raw(freshet.target(), "proto_frames", capability::COMPRESS);
        assert_eq!(other.query("SELECT 1").expect("others are served").len(), 5);
    });
}

#[test]
fn an_account_with_several_factors_is_refused_as_by_the_server() {
    for server in freshet_tests::server::all().into_iter().filter(|server| server.flavor == Flavor::MySql) {
        let freshet = Freshet::before(&server);
        let mut admin = server.target.connect();
        // It is there already if an earlier run was interrupted.
        let _ = admin.query_drop("INSTALL PLUGIN auth_socket SONAME 'auth_socket.so'");
        run(
            &mut admin,
            &[
                "SET GLOBAL authentication_policy = '*,*,'",
                "DROP USER IF EXISTS several_factors",
                "CREATE USER several_factors IDENTIFIED BY '' AND IDENTIFIED WITH auth_socket",
            ],
        );
        let refusals = [&server.target, freshet.target()].map(|target| {
            let mut client = Raw::dial(&target.host, target.port).expect("it greets");
            client.login("several_factors", "", 0).map_err(|refused| refused.to_string())
        });
        run(
            &mut admin,
            &[
                "DROP USER several_factors",
                "SET GLOBAL authentication_policy = DEFAULT",
                "UNINSTALL PLUGIN auth_socket",
            ],
        );
        assert!(matches!(&refusals[0], Err(refused) if refused.contains("Access denied")), "{refusals:?}");
        assert_eq!(refusals[0], refusals[1]);
        freshet.stop();
    }
}
