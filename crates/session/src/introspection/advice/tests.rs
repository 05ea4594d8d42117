use super::*;

fn busy() -> AdviceFacts {
    let server = ServerFigures {
        pool_requests: 1_000_000,
        pool_reads: 10_000,
        pool_size: 1 << 30,
        pool_chunk: 0,
        pool_instances: 0,
        selects: 100_000,
        writes: 1000,
    };
    AdviceFacts {
        server,
        cache_type: 1,
        size: 256 << 20,
        used: 200 << 20,
        hits: 400_000,
        inserts: 50_000,
        ..AdviceFacts::default()
    }
}

fn of(facts: &AdviceFacts, topic: &str) -> Advice {
    advice(facts).into_iter().find(|advice| advice.topic == topic).unwrap()
}

#[test]
fn a_server_that_reads_much_from_memory_is_left_as_it_is() {
    let all = advice(&busy());
    assert!(all.iter().all(|advice| advice.verdict == GOOD), "{all:?}");
}

#[test]
fn the_guidelines_thresholds_decide() {
    let mut facts = busy();
    facts.server.pool_reads = 210_000;
    assert_eq!((of(&facts, "buffer pool").verdict, of(&facts, "buffer pool").statement), (CHANGE, None));
    facts.cache_type = 0;
    let off = of(&facts, "reads and writes");
    assert_eq!((off.verdict, off.statement), (GOOD, None), "below 80 % nothing is turned on");
    facts.server.pool_reads = 200_000;
    assert_eq!(of(&facts, "buffer pool").verdict, GOOD, "80 % is enough");
    assert_eq!(of(&facts, "reads and writes").statement.as_deref(), Some("SET GLOBAL query_cache_type = 1"));
    facts.server.writes = 100_000;
    assert_eq!(of(&facts, "reads and writes").statement.as_deref(), Some("SET GLOBAL query_cache_type = 2"));
    facts.cache_type = 1;
    assert_eq!(of(&facts, "reads and writes").verdict, GOOD, "1 stores what 2 would, and more");
    facts.server.writes = 1_000_000;
    assert_eq!(of(&facts, "reads and writes").statement.as_deref(), Some("SET GLOBAL query_cache_type = 0"));
}

#[test]
fn a_cache_that_finds_little_is_for_those_who_ask_for_it() {
    let table = |name: &str, reads, hits, writes| TableFigures { name: name.to_owned(), reads, hits, writes };
    let tables = vec![
        table("s.read", 9000, 8000, 10),
        table("s.written", 9000, 2000, 8000),
        table("s.scanned", 90_000, 10, 0),
    ];
    let of_hits = |answered| {
        let facts = AdviceFacts { sent: 100_000, answered, tables: tables.clone(), ..busy() };
        let advice = of(&facts, "reads and writes");
        (advice.statement, advice.advice)
    };
    let (statement, advice) = of_hits(9000);
    assert_eq!(statement.as_deref(), Some("SET GLOBAL query_cache_type = 2"));
    assert!(advice.ends_with("ten times for each change: s.read."), "{advice}");
    assert_eq!(of_hits(900).0.as_deref(), Some("SET GLOBAL query_cache_type = 0"));
    assert_eq!(of_hits(20_000).0, None);
    for cache_type in [0, 2] {
        let facts = AdviceFacts { sent: 100_000, answered: 5, cache_type, tables: tables.clone(), ..busy() };
        let advice = of(&facts, "reads and writes").statement;
        let wanted = (cache_type == 2).then(|| "SET GLOBAL query_cache_type = 0".to_owned());
        assert_eq!(advice, wanted, "what was followed is not taken back");
    }
}

#[test]
fn the_size_follows_what_is_evicted_and_the_pool() {
    let mut facts = busy();
    facts.evicted = 5000;
    assert_eq!(of(&facts, "size").statement.as_deref(), Some("SET GLOBAL query_cache_size = 536870912"));
    facts.used = 1 << 20;
    assert_eq!(of(&facts, "size").statement, None, "a smaller cache has evicted them");
    facts.size = 0;
    assert_eq!(of(&facts, "size").statement.as_deref(), Some("SET GLOBAL query_cache_size = 107373568"));
    assert_eq!(of(&busy(), "memory").statement, None, "a quarter of the pool is not to be had from a tenth");
    let memory = |server| of(&AdviceFacts { size: 100 << 20, server, ..busy() }, "memory").statement;
    let taken = |bytes: u64| Some(format!("SET GLOBAL innodb_buffer_pool_size = {bytes}"));
    assert_eq!(memory(busy().server), taken((1 << 30) - (100 << 20)));
    let chunked = ServerFigures { pool_chunk: 64 << 20, pool_instances: 2, ..busy().server };
    assert_eq!(memory(chunked), taken((1 << 30) - (128 << 20)), "it takes whole chunks alone");
    let whole = ServerFigures { pool_chunk: 1 << 30, pool_instances: 1, ..busy().server };
    assert_eq!(memory(whole), None, "there is one chunk");
    let nothing = AdviceFacts::default();
    assert!(advice(&nothing).iter().all(|advice| advice.verdict != GOOD), "nothing was counted");
}

#[test]
fn the_sampled_curve_says_which_size_is_enough() {
    let curve = |hits: [f64; 3]| {
        let points = [64 << 20, 256 << 20, 1 << 30].into_iter().zip(hits);
        points.map(|(size, hits)| CurvePoint { size, hits }).collect::<Vec<_>>()
    };
    let facts = |hits| AdviceFacts { sampled: 5000, curve: curve(hits), average_us: 250, ..busy() };
    let larger = of(&facts([0.3, 0.5, 0.75]), "size");
    assert_eq!(
        (larger.verdict, larger.statement.as_deref()),
        (CHANGE, Some("SET GLOBAL query_cache_size = 1073741824"))
    );
    assert_eq!(
        larger.found,
        "what would be found of 5000 sampled lookups: 64 MiB 30 %, 256 MiB (now) 50 %, 1024 MiB 75 %"
    );
    assert!(larger.advice.contains(
        "of 1,000 reads that are looked up, 250 fewer would ask the server, 62 ms of its time at 250 µs"
    ));
    let smaller = of(&AdviceFacts { used: 30 << 20, ..facts([0.74, 0.75, 0.75]) }, "size");
    assert_eq!(
        (smaller.verdict, smaller.statement.as_deref()),
        (GOOD, Some("SET GLOBAL query_cache_size = 67108864"))
    );
    let used = of(&facts([0.74, 0.75, 0.75]), "size");
    assert_eq!((used.verdict, used.statement), (GOOD, None), "200 MiB are in use");
    assert!(
        used.found.ends_with("Of 1,000 reads, the present size saves the server 750, 188 ms of its time")
    );
    let nothing = of(&AdviceFacts { used: 0, ..facts([0.001, 0.002, 0.002]) }, "size");
    assert_eq!((nothing.verdict, nothing.statement), (GOOD, None), "no size finds anything");
    let enough = of(&facts([0.3, 0.75, 0.765]), "size");
    assert_eq!((enough.verdict, enough.statement), (GOOD, None));
    let changed = of(&AdviceFacts { size: (256 << 20) + 4096, ..facts([0.3, 0.75, 0.75]) }, "size");
    assert!(changed.verdict == GOOD && changed.found.contains("sampled"), "the curve is of the size before");
    let few = AdviceFacts { sampled: 900, ..facts([0.3, 0.5, 0.75]) };
    assert_eq!(of(&few, "size").found, of(&busy(), "size").found, "too little was sampled");
}

#[test]
fn tables_and_queries_are_named_by_what_they_cost() {
    let mut facts = busy();
    let table = |name: &str, reads, hits| TableFigures { name: name.to_owned(), reads, hits, writes: 7 };
    facts.tables =
        vec![table("a", 5000, 100), table("b", 90_000, 100), table("c", 90_000, 80_000), table("d", 10, 0)];
    let found =
        advice(&facts).into_iter().filter(|advice| advice.topic == "table").map(|advice| advice.found);
    let found: Vec<String> = found.collect();
    assert_eq!(
        found,
        [
            "b: 100 of 90000 reads were from memory; 7 events changed it",
            "a: 100 of 5000 reads were from memory; 7 events changed it"
        ]
    );
    let slow = |id: &str, sent, average_us| Slow { id: id.to_owned(), text: String::new(), sent, average_us };
    facts.slow = vec![
        slow("q_1", 5, 200_000),
        slow("q_2", 3, 5_000_000),
        slow("q_3", 2, 9_000_000),
        slow("q_4", 900, 5000),
    ];
    let statements = advice(&facts).into_iter().filter(|advice| advice.topic == "slow query");
    let statements: Vec<String> = statements.filter_map(|advice| advice.statement).collect();
    assert_eq!(statements, ["CREATE CACHE FROM q_2", "CREATE CACHE FROM q_1"]);
}
