use super::*;
use crate::modes::Flavor;

const MODES: Modes = Modes::new(Flavor::MySql);

#[test]
fn kills_are_found_among_other_statements() {
    let ids = |text: &[u8]| {
        kills(text, MODES).into_iter().map(|kill| (kill.id, kill.starts_at, kill.id_at)).collect::<Vec<_>>()
    };
    assert_eq!(ids(b"SELECT 1; KILL 7; kill query 8"), [(7, 10, 15..16), (8, 18, 29..30)]);
    assert_eq!(ids(b"SELECT 'KILL 7'; -- KILL 8\nSELECT 2"), []);
}

#[test]
fn prepared_kills_have_a_number_or_a_marker() {
    let read = |text: &str| {
        prepared_kill(text.as_bytes(), MODES)
            .map(|kill| (kill.query_only, kill.id, String::from_utf8(kill.with_id(7)).unwrap()))
    };
    assert_eq!(read("KILL ?"), Some((false, None, "KILL 7".into())));
    assert_eq!(read("kill /*!query */ ? ;"), Some((true, None, "kill /*!query */ 7 ;".into())));
    assert_eq!(read("KILL CONNECTION 42"), Some((false, Some(42), "KILL CONNECTION 7".into())));
    for text in ["KILL ? + 1", "KILL QUERY ID ?", "KILL USER ?", "KILL @a", "KILL ?; SELECT 1", "SELECT ?"] {
        assert_eq!(read(text), None, "{text}");
    }
}

#[test]
fn a_kill_may_name_a_user_variable() {
    let variable = |text: &str| kill_by_variable(text.as_bytes(), MODES).map(|at| text[at].to_owned());
    assert_eq!(variable("KILL @id").as_deref(), Some("@id"));
    assert_eq!(variable("KILL QUERY @`my id`;").as_deref(), Some("@`my id`"));
    for text in ["KILL @id + 1", "KILL @@id", "KILL 7", "KILL @id; SELECT 1", "SELECT @id"] {
        assert_eq!(variable(text), None, "{text}");
    }
}
