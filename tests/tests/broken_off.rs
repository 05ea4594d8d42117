//! Transactions whose client or whose server connection is gone, at any moment: also within the statements that Freshet sends for them.

use std::time::{Duration, Instant};

use freshet_checker::dice::Dice;
use freshet_tests::cached::{caught_up, connect, eventually, fresh_schema, run};
use freshet_tests::raw::{Raw, command, error_code};
use freshet_tests::{Target, with_each};
use mysql::prelude::Queryable;

const T1: &str = "SELECT v FROM t WHERE id = 1";
const T2: &str = "SELECT v FROM t WHERE id = 2";
const MOVED_TO: &str = "SELECT v FROM u WHERE id = 2";

/// How long transactions are broken off, for each server, in milliseconds. FRESHET_BROKEN_OFF_MS has it take longer.
const BROKEN_OFF_MS: u64 = 2500;
/// Clients whose transactions are broken off.
const MOVERS: usize = 3;

/// What the transactions of one client are known to be: acknowledged, or begun.
#[derive(Default)]
struct Moved {
    acknowledged: Vec<u64>,
    begun: Vec<u64>,
}

/// Moves one from a row to another in each transaction, behind reads that come from memory, until `until`. Now and then the client is gone
/// before it has read an answer.
fn moves(target: &Target, client: usize, until: Instant) -> Moved {
    let mut dice = Dice::new(client as u64);
    let mut moved = Moved::default();
    let mut connection = None;
    let mut number = client as u64;
    while Instant::now() < until {
        let raw = match &mut connection {
            Some(raw) => raw,
            none => {
                let Ok(mut raw) = Raw::dial(&target.host, target.port) else { continue };
                // A login may be broken off as well.
                let Ok(_) = raw.login("fresh_tx_broken", "fresh_tx_broken", 0) else { continue };
                none.insert(raw)
            }
        };
        number += MOVERS as u64;
        moved.begun.push(number);
        let begin = dice.one_of(&["BEGIN", "START TRANSACTION READ WRITE", "SET autocommit = 0"]);
        let level = if dice.percent(30) { "SET TRANSACTION ISOLATION LEVEL READ COMMITTED" } else { "DO 0" };
        let (log, from) = (format!("INSERT INTO log VALUES ({number})"), 3 + client);
        let away = format!("UPDATE u SET v = v - 1 WHERE id = {from}");
        let end = if begin.starts_with("SET") {
            "SET autocommit = 1"
        } else {
            dice.one_of(&["COMMIT", "COMMIT AND CHAIN"])
        };
        let statements = [level, begin, T1, T2, &away, T1, "UPDATE u SET v = v + 1 WHERE id = 2", &log, end];
        let leaves_at = if dice.percent(5) { dice.below(statements.len()) } else { usize::MAX };
        let mut is_done = true;
        for (at, statement) in statements.iter().enumerate() {
            if at == leaves_at {
                let _ = raw.send(command::QUERY, statement.as_bytes());
                is_done = false;
                break;
            }
            let answer = raw.query(statement);
            let told =
                answer.as_ref().ok().and_then(|packets| packets.iter().find_map(|packet| error_code(packet)));
            if let Some(code) = told {
                assert!([1053, 1205, 1213, 1317, 1927, 2013, 3169].contains(&code), "{statement}: {code}");
            }
            if answer.is_err() || told.is_some() {
                is_done = false;
                break;
            }
        }
        if is_done {
            moved.acknowledged.push(number);
        }
        // What is open after COMMIT AND CHAIN is empty, and ends with the connection.
        if !is_done || end == "COMMIT AND CHAIN" {
            connection = None;
        }
    }
    moved
}

/// Server connections are killed and clients vanish at any moment: every transaction is there as a whole or not at all, and each that was
/// acknowledged is there.
#[test]
fn transactions_that_are_broken_off_are_whole_or_undone() {
    with_each(|server, freshet| {
        let mut direct = fresh_schema(server, "fresh_tx_broken");
        let direct = &mut direct;
        run(
            direct,
            &[
                "CREATE TABLE t (id INT PRIMARY KEY, v INT)",
                "INSERT INTO t VALUES (1,10),(2,10)",
                "CREATE TABLE u (id INT PRIMARY KEY, v INT)",
                "INSERT INTO u VALUES (2,0),(3,0),(4,0),(5,0)",
                "CREATE TABLE log (n INT PRIMARY KEY)",
                "CREATE USER IF NOT EXISTS fresh_tx_broken IDENTIFIED BY ''",
                "GRANT ALL ON fresh_tx_broken.* TO fresh_tx_broken",
            ],
        );
        caught_up(freshet);
        let length = std::env::var("FRESHET_BROKEN_OFF_MS").ok().and_then(|length| length.parse().ok());
        let length = Duration::from_millis(length.unwrap_or(BROKEN_OFF_MS));
        let until = Instant::now() + length;
        const THEIRS: &str = "SELECT id FROM information_schema.processlist WHERE user = 'fresh_tx_broken'";
        let (moved, killed) = std::thread::scope(|scope| {
            let target = freshet.target();
            let movers: Vec<_> =
                (0..MOVERS).map(|client| scope.spawn(move || moves(target, client, until))).collect();
            let mut dice = Dice::new(7);
            let mut killed = 0;
            while Instant::now() < until {
                std::thread::sleep(Duration::from_millis(dice.below(60) as u64));
                let theirs: Vec<u64> = direct.query(THEIRS).expect("a list");
                if !theirs.is_empty() {
                    let one = dice.one_of(&theirs);
                    let what = if dice.percent(30) { "KILL QUERY" } else { "KILL" };
                    killed += u64::from(direct.query_drop(format!("{what} {one}")).is_ok());
                }
            }
            (movers.into_iter().map(|mover| mover.join().expect("no panic")).collect::<Vec<_>>(), killed)
        });
        eventually("all of them are gone", || {
            let theirs: Vec<u64> = direct.query(THEIRS).expect("a list");
            theirs.is_empty().then_some(())
        });
        let logged: Vec<u64> = direct.query("SELECT n FROM log").expect("a list");
        let acknowledged: Vec<u64> = moved.iter().flat_map(|moved| moved.acknowledged.clone()).collect();
        let lost: Vec<&u64> = acknowledged.iter().filter(|number| !logged.contains(number)).collect();
        assert!(lost.is_empty(), "{:?}: {lost:?} are lost", server.flavor);
        let begun = |number: &u64| moved.iter().any(|moved| moved.begun.contains(number));
        assert!(logged.iter().all(begun), "nobody has begun what is there");
        let mut number = |text: &str| direct.query_first::<i64, _>(text).expect("an answer").expect("a row");
        let sum = number("SELECT CAST(SUM(v) AS SIGNED) FROM u");
        let moved_to = number(MOVED_TO);
        assert_eq!((sum, moved_to), (0, i64::try_from(logged.len()).expect("a few")));
        // What is read through Freshet is the same.
        let mut reader = connect(freshet.target(), "fresh_tx_broken");
        eventually("the newest is read", || {
            let read: Option<i64> = reader.query_first(MOVED_TO).expect("an answer");
            (read == Some(moved_to)).then_some(())
        });
        println!(
            "{:?}: {} begun, {} acknowledged, {} there, {killed} killed",
            server.flavor,
            moved.iter().map(|moved| moved.begun.len()).sum::<usize>(),
            acknowledged.len(),
            logged.len()
        );
        run(direct, &["DROP USER fresh_tx_broken", "DROP DATABASE fresh_tx_broken"]);
    });
}
