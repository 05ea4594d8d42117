use freshet_upstream::server::Filters;
use freshet_upstream::server::samples::imagined;

use super::*;

#[test]
fn only_engines_that_log_every_change_are_cacheable() {
    for engine in ["InnoDB", "MyISAM", "Aria", "ROCKSDB", "innodb"] {
        assert_eq!(table_refusal("BASE TABLE", engine, ""), None, "{engine}");
    }
    for engine in [
        "MEMORY",
        "FEDERATED",
        "SPIDER",
        "CONNECT",
        "ndbcluster",
        "MRG_MyISAM",
        "BLACKHOLE",
        "SEQUENCE",
        "CSV",
        "PERFORMANCE_SCHEMA",
        "Columnstore",
        "S3",
        "OQGRAPH",
        "Mroonga",
        "",
        "something new",
    ] {
        assert!(table_refusal("BASE TABLE", engine, "").is_some(), "{engine}");
    }
    for kind in ["SYSTEM VERSIONED", "SEQUENCE", "SYSTEM VIEW", "TEMPORARY", "something new"] {
        assert!(table_refusal(kind, "InnoDB", "").is_some(), "{kind}");
    }
    assert!(table_refusal("BASE TABLE", "InnoDB", "SECONDARY_ENGINE=\"RAPID\"").is_some());
    assert_eq!(table_refusal("BASE TABLE", "InnoDB", "partitioned row_format=DYNAMIC"), None);
}

#[test]
fn system_schemas_and_filtered_binlogs_are_refused() {
    let mut server = imagined("10.11.19-MariaDB", &[]);
    assert_eq!(schema_refusal(&server, "shop"), None);
    assert!(schema_refusal(&server, "mysql").is_some() && schema_refusal(&server, "SYS").is_some());
    server.filters = Some(Filters { only: vec![], except: vec!["logs".into()] });
    assert!(schema_refusal(&server, "shop").is_some());
    server.filters = None;
    assert!(schema_refusal(&server, "shop").unwrap().contains("REPLICATION CLIENT"));
}

#[test]
fn replicated_writes_must_be_in_the_binlog() {
    let mut server = imagined("10.11.19-MariaDB", &[("log_replica_updates", "OFF")]);
    assert_eq!(schema_refusal(&server, "shop"), None);
    for replica in [Some(true), None] {
        server.is_replica = replica;
        assert!(schema_refusal(&server, "shop").is_some());
    }
}

#[test]
fn only_engines_that_hold_their_own_rows_write_nowhere_else() {
    for engine in ["InnoDB", "MyISAM", "aria", "MEMORY", "CSV", "BLACKHOLE"] {
        assert!(!may_write_elsewhere(engine), "{engine}");
    }
    for engine in ["MRG_MyISAM", "FEDERATED", "SPIDER", "CONNECT", "ndbcluster", "", "one of tomorrow"] {
        assert!(may_write_elsewhere(engine), "{engine}");
    }
}
