//! Hints for caches in the statements themselves: `SELECT /*rs+ … */`.

use freshet_tests::Target;

use super::*;

fn hinting(target: &Target) -> Target {
    Target { user: "hinting".to_owned(), password: "hinting".to_owned(), ..target.clone() }
}

fn destination(reader: &mut Conn) -> [String; 2] {
    let rows = answer(reader, "EXPLAIN LAST STATEMENT").expect("it is explained");
    [rows[0][0].clone(), rows[0][1].clone()]
}

#[test]
fn a_statement_that_skips_the_cache_is_the_servers_to_answer() {
    let schema = "hints_skip";
    with_stages(schema, &EMPLOYEES, |server, _, freshet| {
        let mut reader = connect(freshet.target(), schema);
        run(&mut reader, &["SET query_cache_strip_comments = ON"]);
        let plain = "SELECT id, pay FROM s WHERE id = 2";
        eventually("it is stored", || {
            let _ = answer(&mut reader, plain);
            is_from_memory(&mut reader).then_some(())
        });
        for text in [
            "SELECT /*rs+ SKIP CACHE */ id, pay FROM s WHERE id = 2",
            "select/*RS+ skip cache*/ id, pay FROM s WHERE id = 2",
        ] {
            for _ in 0..3 {
                assert_eq!(answer(&mut reader, text), answer(&mut reader, plain), "{:?}", server.flavor);
                let _ = answer(&mut reader, text);
                let [at, why] = destination(&mut reader);
                assert!(at == "upstream" && why.contains("SKIP CACHE"), "{text}: {at} {why}");
            }
            // What is prepared, too.
            let prepared = reader.prep(text.replace("= 2", "= ?")).expect("it is prepared");
            for _ in 0..3 {
                let rows: Vec<Row> = reader.exec(&prepared, (2,)).expect("it is executed");
                assert_eq!(rows.len(), 1);
                assert_eq!(destination(&mut reader)[0], "upstream", "{text}");
            }
        }
        let _ = answer(&mut reader, plain);
        assert!(is_from_memory(&mut reader));
    });
}

#[test]
fn a_statement_creates_the_cache_that_it_asks_for() {
    let schema = "hints_create";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        let mut reader = connect(freshet.target(), schema);
        let hinted = [
            (
                "SELECT /*rs+ CREATE SHALLOW CACHE POLICY TTL 300 SECONDS REFRESH EVERY 60 SECONDS ALWAYS */ id FROM s WHERE pay = 10",
                "shallow, ttl 300 s, refresh 60 s, always",
            ),
            ("SELECT /*rs+ create shallow cache */ name FROM e WHERE id = 3", "shallow, refreshed"),
            (
                "SELECT /*rs+ CREATE DEEP CACHE */ id, SUM(pay) FROM s WHERE until > '2000-01-01' GROUP BY id",
                "deep, maintained",
            ),
        ];
        for (text, properties) in hinted {
            let found = sorted(answer(&mut reader, text));
            assert_eq!(found, sorted(answer(direct, text)), "{:?}", server.flavor);
            let caches = answer(&mut reader, "SHOW CACHES").expect("they are listed");
            assert!(caches.iter().any(|cache| cache[3] == properties), "{text}: {caches:?}");
            let _ = answer(&mut reader, text);
        }
        // A statement does not wait until its tables are copied.
        eventually("its table is copied", || {
            run(&mut reader, &["RESET QUERY CACHE"]);
            from_memory_at_once(&mut reader, |reader| answer(reader, hinted[2].0)).map(drop)
        });
        run(&mut reader, &["UPDATE s SET pay = pay + 1 WHERE id = 2"]);
        is_kept(&mut reader, direct, hinted[2].0, "created by a hint");
        assert_eq!(answer(&mut reader, "SHOW CACHES").map(|caches| caches.len()), Ok(3));
        // A prepared one.
        let prepared =
            reader.prep("SELECT /*rs+ CREATE CACHE */ name FROM e WHERE id = ?").expect("it is prepared");
        let rows: Vec<Row> = reader.exec(&prepared, (2,)).expect("it is executed");
        assert_eq!(rows.len(), 1);
        // Its query is that of the one with SHALLOW, which has a cache.
        assert_eq!(answer(&mut reader, "SHOW CACHES").map(|caches| caches.len()), Ok(3));
    });
}

#[test]
fn a_hint_without_effect_says_why() {
    let schema = "hints_refused";
    with_stages(schema, &EMPLOYEES, |server, direct, freshet| {
        run(
            direct,
            &[
                "DROP USER IF EXISTS hinting",
                "CREATE USER hinting IDENTIFIED BY 'hinting'",
                "GRANT SELECT ON hints_refused.* TO hinting",
            ],
        );
        caught_up(freshet);
        let mut reader = connect(freshet.target(), schema);
        for (text, why) in [
            (
                "SELECT /*rs+ CREATE DEEP CACHE */ id FROM e WHERE name > 'anna'",
                "this query is not maintained",
            ),
            (
                "SELECT /*rs+ CREATE DEEP CACHE POLICY TTL 5 SECONDS */ id FROM e WHERE id = 1",
                "POLICY TTL is of SHALLOW caches",
            ),
            ("SELECT /*rs+ DO WHAT YOU LIKE */ id FROM e WHERE id = 7", "not understood"),
        ] {
            assert_eq!(answer(&mut reader, text), answer(direct, text), "{:?}", server.flavor);
            let [at, said] = destination(&mut reader);
            assert!(at == "upstream" && said.contains(why), "{text}: {at} {said}");
        }
        let mut other = hinting(freshet.target()).try_connect(schema).expect("a session");
        let text = "SELECT /*rs+ CREATE SHALLOW CACHE */ id FROM e WHERE id = 2";
        assert_eq!(answer(&mut other, text), answer(direct, text));
        let [_, said] = destination(&mut other);
        assert!(said.contains("its hint has created no cache"), "{said}");
        assert_eq!(answer(&mut reader, "SHOW CACHES"), Ok(Vec::new()));
        run(direct, &["DROP USER hinting"]);
    });
}
