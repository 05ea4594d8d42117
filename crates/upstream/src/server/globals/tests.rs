use super::*;

fn variables(names: &[&str]) -> Variables {
    names.iter().map(|name| (*name, "")).collect()
}

#[test]
fn what_is_not_known_is_taken_to_change_results() {
    let names =
        ["mandatory_roles", "new_in_version_20", "sql_mode", "sort_buffer_size", "innodb_io_capacity"];
    let watched = watched(&variables(&names));
    let wanted = [
        ("mandatory_roles", Concerns::Results),
        ("new_in_version_20", Concerns::Unknown),
        ("sql_mode", Concerns::Logins),
    ];
    assert_eq!(watched, wanted.map(|(name, concerns)| (name.to_owned(), concerns)));
}

#[test]
fn no_variable_is_in_two_lists() {
    let mut all: Vec<&str> = [RESULTS, LOGINS, STREAM].concat();
    let count = all.len();
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), count);
}

#[test]
fn a_name_that_is_no_plain_word_is_not_asked_for() {
    assert_eq!(watched(&variables(&["x`y", "a, b"])), []);
}
