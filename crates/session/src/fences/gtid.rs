//! The GTID of one commit, as session tracking reports it.

use freshet_protocol::binlog::Gtid;
use freshet_sql::Flavor;

/// Reads one GTID; `None` for a set of several and for anything else.
pub(super) fn parse(text: &[u8], flavor: Flavor) -> Option<Gtid> {
    match flavor {
        Flavor::MariaDb => Gtid::parse_mariadb(text),
        Flavor::MySql => parse_mysql(std::str::from_utf8(text).ok()?),
    }
}

/// Reads `uuid:number` or, since MySQL 8.3, `uuid:tag:number`.
fn parse_mysql(text: &str) -> Option<Gtid> {
    if text.contains(',') {
        return None;
    }
    let (source, number) = text.rsplit_once(':')?;
    let (uuid, tag) = source.split_once(':').unwrap_or((source, ""));
    let hex: String = uuid.chars().filter(|at| *at != '-').collect();
    let uuid = u128::from_str_radix(&hex, 16).ok().filter(|_| hex.len() == 32)?;
    Some(Gtid::MySql { uuid: uuid.to_be_bytes(), tag: tag.to_owned(), gno: number.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_gtid_is_read_and_a_set_is_not() {
        let uuid = "eb67cfc8-e540-11f1-9ab2-02fc00000001";
        let read = |text: &str| parse(text.as_bytes(), Flavor::MySql).map(|gtid| gtid.to_string());
        assert_eq!(read(&format!("{uuid}:12")), Some(format!("{uuid}:12")));
        assert_eq!(read(&format!("{uuid}:tag:3")), Some(format!("{uuid}:tag:3")));
        assert_eq!(read(&format!("{uuid}:1-3")), None);
        assert_eq!(read(&format!("{uuid}:1,{uuid}:3")), None);
        assert_eq!(read("12"), None);
        assert_eq!(parse(b"0-1-7", Flavor::MariaDb).map(|gtid| gtid.to_string()), Some("0-1-7".to_owned()));
    }
}
