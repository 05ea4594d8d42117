use super::Command;

#[test]
fn every_byte_is_a_command_and_comes_back() {
    for byte in 0..=u8::MAX {
        assert_eq!(Command::from_byte(byte).byte(), byte);
    }
}

#[test]
fn the_numbers_are_the_protocols() {
    assert_eq!(Command::from_byte(3), Command::Query);
    assert_eq!(Command::from_byte(17), Command::ChangeUser);
    assert_eq!(Command::from_byte(23), Command::StmtExecute);
    assert_eq!(Command::from_byte(31), Command::ResetConnection);
    assert_eq!(Command::from_byte(0xFA), Command::StmtBulkExecute);
    assert_eq!(Command::from_byte(200), Command::Other(200));
}
