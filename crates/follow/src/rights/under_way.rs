//! Whether a statement on accounts is under way, as the list of threads shows it.

use freshet_upstream::Rows;

/// All threads, with what they run. Without the privilege PROCESS, only those of our own account.
pub(super) const THREADS: &str = "SHOW FULL PROCESSLIST";

/// Words of statements on accounts, and words of statements that may hide one, because they run a text that the list does not show. They
/// may be parts of other words.
const SIGNS: [&str; 8] = ["grant", "revoke", "user", "role", "password", "call", "execute", "prepare"];

/// First words of statements that contain no statement on accounts, whatever else they contain.
const NEVER: [&str; 6] = ["select", "insert", "update", "delete", "replace", "commit"];

/// Whether no thread runs a statement on accounts.
pub(super) fn is_none(threads: &Rows) -> bool {
    let (Some(command), Some(info)) = (threads.column("Command"), threads.column("Info")) else {
        return false;
    };
    let runs = |row: &Vec<Option<Vec<u8>>>| {
        let at = |column: usize| row.get(column).and_then(Option::as_deref);
        match at(info) {
            Some(text) => may_concern_accounts(text),
            // The list does not show yet what the thread runs.
            None => [&b"Query"[..], b"Execute"].contains(&at(command).unwrap_or_default()),
        }
    };
    !threads.rows.iter().any(runs)
}

fn may_concern_accounts(text: &[u8]) -> bool {
    let text = text.to_ascii_lowercase();
    let is_plain = NEVER.iter().any(|word| {
        text.strip_prefix(word.as_bytes()).is_some_and(|rest| rest.first().is_some_and(|&next| next == b' '))
    });
    let holds = |sign: &str| text.windows(sign.len()).any(|window| window == sign.as_bytes());
    !is_plain && SIGNS.iter().any(|sign| holds(sign))
}

#[cfg(test)]
mod tests {
    use freshet_protocol::Column;

    use super::*;

    fn threads(rows: &[(&str, Option<&str>)]) -> Rows {
        let columns = ["Command", "Info"].map(|name| Column { name: name.into(), ..Column::default() });
        let row = |&(command, info): &(&str, Option<&str>)| {
            vec![Some(command.into()), info.map(|info| info.as_bytes().to_vec())]
        };
        Rows { columns: columns.into(), rows: rows.iter().map(row).collect(), warnings: 0 }
    }

    #[test]
    fn it_is_over_when_no_thread_runs_one() {
        let idle = [("Sleep", None), ("Binlog Dump", None), ("Query", Some(THREADS))];
        assert!(is_none(&threads(&idle)));
        for (command, info, over) in [
            ("Query", Some("SELECT * FROM users WHERE role = 'a'"), true),
            ("Query", Some("ALTER TABLE t ADD c INT"), true),
            ("Query", Some("/* x */ GRANT SELECT ON *.* TO a"), false),
            ("Query", Some("create\tuser a"), false),
            ("Execute", Some("REVOKE r FROM a"), false),
            ("Query", Some("CALL p()"), false),
            ("Query", Some("EXECUTE s"), false),
            ("Execute", None, false),
            ("Query", None, false),
        ] {
            let rows = [&idle[..], &[(command, info)]].concat();
            assert_eq!(is_none(&threads(&rows)), over, "{info:?}");
        }
        assert!(!is_none(&Rows::default()), "a list that is not understood");
    }
}
