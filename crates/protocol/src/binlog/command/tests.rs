use super::*;

#[test]
fn a_replica_registers() {
    let replica = Replica { server_id: 99, host: b"me".to_vec(), user: b"u".to_vec(), port: 3306 };
    let expected = b"\x15\x63\0\0\0\x02me\x01u\0\xea\x0c\0\0\0\0\0\0\0\0";
    assert_eq!(register_replica(&replica), expected);
}

#[test]
fn long_names_are_cut() {
    let replica = Replica { server_id: 1, host: vec![b'h'; 300], user: vec![b'u'; 300], port: 0 };
    assert_eq!(register_replica(&replica).len(), 5 + 1 + HOST_LEN_MAX + 1 + USER_LEN_MAX + 1 + 2 + 8);
}

#[test]
fn a_dump_from_a_position() {
    let expected = b"\x12\x04\0\0\0\x02\0\x63\0\0\0bin.000001";
    assert_eq!(binlog_dump(b"bin.000001", 4, 99, 2), expected);
}

#[test]
fn a_dump_from_a_set() {
    let expected = b"\x1e\x04\0\x63\0\0\0\0\0\0\0\x04\0\0\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0";
    assert_eq!(binlog_dump_gtid(99, &GtidSet::default()), expected);
}
