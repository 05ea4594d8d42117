use super::*;

const BASE: Capabilities = Capabilities::PROTOCOL_41;

fn ok(changes: Vec<StateChange>) -> OkPacket {
    let mut status = StatusFlags::AUTOCOMMIT;
    status.set(StatusFlags::SESSION_STATE_CHANGED, !changes.is_empty());
    OkPacket { affected_rows: 3, status, info: b"Rows matched: 3".to_vec(), changes, ..OkPacket::default() }
}

fn variable(name: &str, value: &str) -> StateChange {
    StateChange::SystemVariable { name: name.into(), value: value.into() }
}

/// Returns what a client with `client` gets of `packet`, which came over a connection that tracks sessions.
fn passed(packet: &OkPacket, client: Capabilities, told: Option<&Reports>) -> OkPacket {
    let upstream = BASE | Capabilities::SESSION_TRACK;
    let payload = packet.encode(upstream, 0);
    let seen =
        Seen { part: Part::Ok, last: true, status: Some(packet.status), status_at: None, warnings: None };
    let filter = Filter { capabilities: client, begun: None, told, schema: "here" };
    let rewritten = filter.rewritten(&seen, &payload, upstream).unwrap();
    OkPacket::parse(rewritten.as_deref().unwrap_or(&payload), client).unwrap()
}

#[test]
fn a_client_without_session_tracking_gets_the_older_form() {
    let given = ok(vec![StateChange::Gtids(b"u:1".to_vec()), variable("time_zone", "UTC")]);
    assert_eq!(passed(&given, BASE, Some(&Reports::default())), ok(vec![]));
}

#[test]
fn only_what_we_asked_for_is_taken_out() {
    let tracks = BASE | Capabilities::SESSION_TRACK;
    let schema = StateChange::Schema(b"test".to_vec());
    let given = ok(vec![
        StateChange::Gtids(b"u:1".to_vec()),
        variable("last_gtid", "0-1-7"),
        variable("sql_mode", ""),
        variable("time_zone", "UTC"),
        schema.clone(),
    ]);
    let default = Reports::default();
    assert_eq!(
        passed(&given, tracks, Some(&default)),
        ok(vec![variable("time_zone", "UTC"), schema.clone()])
    );
    assert_eq!(passed(&given, tracks, None), given);
    let silent = Reports { schema: false, ..default.clone() };
    assert_eq!(passed(&given, tracks, Some(&silent)), ok(vec![variable("time_zone", "UTC")]));
    let own = Reports { gtids: Gtids::Own, ..default.clone() };
    let gtids = StateChange::Gtids(b"u:1".to_vec());
    assert_eq!(passed(&given, tracks, Some(&own)), ok(vec![gtids, variable("time_zone", "UTC"), schema]));
    // Nothing is left: the flag that announces something goes too.
    let ours = ok(vec![StateChange::Gtids(b"u:1".to_vec())]);
    assert_eq!(passed(&ours, tracks, Some(&default)), ok(vec![]));
}

#[test]
fn an_eof_packet_is_no_ok_packet() {
    let seen = Seen {
        part: Part::RowsEnd,
        last: true,
        status: Some(StatusFlags::AUTOCOMMIT),
        status_at: Some(3),
        warnings: Some(0),
    };
    assert!(as_ok(&seen, &[0xfe, 0, 0, 2, 0], BASE).unwrap().is_none());
}

#[test]
fn an_eof_packet_announces_no_changes() {
    let status = StatusFlags::IN_TRANS | StatusFlags::SESSION_STATE_CHANGED;
    let seen = Seen {
        part: Part::ColumnsEnd,
        last: false,
        status: Some(status),
        status_at: Some(3),
        warnings: Some(0),
    };
    let told = Reports::default();
    let filter = Filter { capabilities: BASE, begun: None, told: Some(&told), schema: "" };
    let rewritten = filter.rewritten(&seen, &[0xfe, 0, 0, 1, 0x40], BASE).unwrap();
    assert_eq!(rewritten, Some(vec![0xfe, 0, 0, 1, 0]));
    assert_eq!(Filter { told: None, ..filter }.rewritten(&seen, &[0xfe, 0, 0, 1, 0x40], BASE), Ok(None));
}

#[test]
fn a_session_that_was_moved_there_and_back_has_no_news() {
    let is_news = |changes: Vec<StateChange>, schema: &str| {
        let filter = Filter { capabilities: BASE, begun: None, told: None, schema };
        let packet = ok(changes);
        let upstream = BASE | Capabilities::SESSION_TRACK;
        let payload = packet.encode(upstream, 0);
        let seen =
            Seen { part: Part::Ok, last: true, status: Some(packet.status), status_at: None, warnings: None };
        filter.is_news(&seen, &payload, &payload, upstream).unwrap()
    };
    let at = |schema: &str| StateChange::Schema(schema.into());
    let changed = || StateChange::SessionState(b"1".to_vec());
    assert!(!is_news(vec![], "here"));
    assert!(!is_news(vec![at("here"), changed()], "here"));
    assert!(!is_news(vec![at(""), changed()], ""));
    assert!(is_news(vec![at("there"), changed()], "here"));
    assert!(is_news(vec![at("here"), variable("sql_mode", "")], "here"));
}

#[test]
fn what_is_passed_on_in_the_place_of_a_packet_has_its_own_flags() {
    let seen = Seen {
        part: Part::RowsEnd,
        last: true,
        status: Some(StatusFlags::AUTOCOMMIT | StatusFlags::SESSION_STATE_CHANGED),
        status_at: Some(3),
        warnings: Some(0),
    };
    assert_eq!(as_passed(&seen, &[0xfe, 0, 0, 2, 0]).status, Some(StatusFlags::AUTOCOMMIT));
    assert_eq!(as_passed(&seen, &[0xfe, 0, 0, 2, 0x40]).status, seen.status);
}

#[test]
fn who_did_not_ask_is_told_by_mysql_that_a_transaction_begins_and_ends() {
    let tracks = BASE | Capabilities::SESSION_TRACK;
    let (begun, default) = (AtomicBool::new(false), Reports::default());
    let own = Reports { transactions: TransactionTracking::State, ..Reports::default() };
    let passed = |state: &str, told: &Reports| {
        let payload = ok(vec![StateChange::TransactionState(state.into())]).encode(tracks, 0);
        let seen = Seen {
            part: Part::Ok,
            last: true,
            status: Some(StatusFlags::SESSION_STATE_CHANGED),
            status_at: None,
            warnings: None,
        };
        let filter = Filter { capabilities: tracks, begun: Some(&begun), told: Some(told), schema: "" };
        let rewritten = filter.rewritten(&seen, &payload, tracks).unwrap();
        OkPacket::parse(rewritten.as_deref().unwrap_or(&payload), tracks).unwrap().changes
    };
    let state = |state: &str| vec![StateChange::TransactionState(state.into())];
    assert_eq!(passed("I_R_____", &default), vec![], "it has begun by itself");
    assert_eq!(passed("T_______", &default), state("T_______"));
    assert_eq!(passed("T_R___S_", &default), vec![]);
    assert_eq!(passed("________", &default), state("________"));
    assert_eq!(passed("I_R_____", &own), state("I_R_____"));
}
