use super::*;

fn query() -> VectorQuery {
    VectorQuery::new(
        |name| name == "sql_mode" || name == "wait_timeout" || name.starts_with("session_track"),
        true,
    )
}

fn listing(variables: &str) -> Reports {
    Reports { variables: variables.to_owned(), ..Reports::default() }
}

#[test]
fn what_is_needed_is_added_to_what_the_client_wants() {
    let both = listing("Time_Zone, auto_increment_increment").with_ours(Flavor::MariaDb, &query());
    assert!(both.schema && both.state);
    assert_eq!(both.transactions, TransactionTracking::Characteristics);
    assert_eq!(
        both.variables,
        "last_gtid,Time_Zone,auto_increment_increment,autocommit,character_set_client,character_set_connection,\
         character_set_results,sql_mode"
    );
    assert_eq!(both.gtids, Gtids::Off, "MariaDB has none");
    assert_eq!(listing("*").with_ours(Flavor::MySql, &query()).variables, "*");
    assert_eq!(listing("").with_ours(Flavor::MySql, &query()).gtids, Gtids::Own);
    let all = Reports { gtids: Gtids::All, ..Reports::default() };
    assert_eq!(all.with_ours(Flavor::MySql, &query()).gtids, Gtids::All);
}

#[test]
fn variables_are_told_by_name_in_any_case() {
    assert!(listing("a, SQL_mode").tell_of(b"sql_mode"));
    assert!(!listing("a, SQL_mode").tell_of(b"sql"));
    assert!(listing("*").tell_of(b"sql_mode"));
    assert!(!listing("").tell_of(b"sql_mode"));
}

#[test]
fn what_is_set_is_read_as_the_same() {
    let shown = |name: &str| match name {
        "schema" | "state_change" => "1".to_owned(),
        "gtids" => "OWN_GTID".to_owned(),
        "transaction_info" => "STATE".to_owned(),
        _ => "b,A".to_owned(),
    };
    let reports = Reports::read(shown).expect("it can be set again");
    assert!(reports.are_like(&Reports { variables: "a,b".to_owned(), ..reports.clone() }));
    assert!(!reports.are_like(&Reports { state: false, ..reports.clone() }));
    assert_eq!(
        reports.statement(Flavor::MySql),
        "SET SESSION session_track_gtids=OWN_GTID, SESSION session_track_transaction_info=STATE, \
         SESSION session_track_schema=1, SESSION session_track_state_change=1, \
         SESSION session_track_system_variables='b,A'"
    );
    let shares = |list: &str| Reports { variables: list.to_owned(), ..reports.clone() };
    let shown = "last_gtid,autocommit,tx_isolation,character_set_connection";
    let set = "last_gtid,sql_buffer_result,autocommit,transaction_isolation,collation_connection,innodb_snapshot_isolation,\
               character_set_connection";
    assert!(shares(set).are_like(&shares(shown)), "those that share a report are listed once");
    assert!(!shares(set).are_like(&shares("last_gtid,autocommit,tx_isolation")));
    let quoted = |name: &str| if name == "system_variables" { "a'b".to_owned() } else { String::new() };
    assert_eq!(Reports::read(quoted), None);
}
