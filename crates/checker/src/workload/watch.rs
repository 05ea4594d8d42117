//! Whether a read was answered from memory: then the server has counted no SELECT of the session.

use mysql::prelude::Queryable;

use super::client::Client;
use super::link::Trouble;

/// Asks the server; it is no SELECT itself. It is prepared, so that the answer is the server's own: to a text, Freshet adds what was
/// answered from memory.
const COUNT: &str = "SHOW SESSION STATUS LIKE 'Com_select'";

/// The same with the transactions that were begun.
const COUNT_BOTH: &str = "SHOW SESSION STATUS WHERE Variable_name IN ('Com_select', 'Com_begin')";

/// Answered by Freshet.
const COUNT_HITS: &str = "SHOW STATUS LIKE 'Freshet_session_hits'";

impl Client<'_> {
    /// Returns the SELECTs of this session so far, where the next read is watched. They are counted anew before each read: between two of
    /// them the client asks other things, which count too.
    pub(super) fn selects_before(&mut self) -> Result<Option<u64>, Trouble> {
        self.role.is_watched.then(|| self.count_selects()).transpose()
    }

    /// Whether the server has been asked nothing since it had counted so many.
    pub(super) fn is_hit_since(&mut self, selects: Option<u64>) -> Result<Option<bool>, Trouble> {
        let Some(before) = selects else { return Ok(None) };
        let now = self.count_selects()?;
        Ok(Some(now == before))
    }

    pub(super) fn count_selects(&mut self) -> Result<u64, Trouble> {
        let row: mysql::Result<Option<(String, u64)>> = self.link.conn.exec_first(COUNT, ());
        let row = row.map_err(|error| Trouble::of(COUNT, &error))?;
        row.map(|(_, count)| count).ok_or_else(|| Trouble::Failed("the server counts no SELECTs".into()))
    }

    /// Returns what Freshet has answered this session from memory so far, as Freshet says. Its server does not see the question, so it
    /// may be asked within a transaction.
    pub(super) fn count_hits(&mut self) -> Result<u64, Trouble> {
        let row: mysql::Result<Option<(String, u64)>> = self.link.conn.query_first(COUNT_HITS);
        let row = row.map_err(|error| Trouble::of(COUNT_HITS, &error))?;
        row.map(|(_, count)| count).ok_or_else(|| Trouble::Failed("Freshet counts no hits".into()))
    }

    /// Returns the SELECTs of this session so far, and the transactions that were begun by a statement.
    pub(super) fn count_selects_and_begun(&mut self) -> Result<[u64; 2], Trouble> {
        let rows: mysql::Result<Vec<(String, u64)>> = self.link.conn.exec(COUNT_BOTH, ());
        let rows = rows.map_err(|error| Trouble::of(COUNT_BOTH, &error))?;
        let count = |name: &str| rows.iter().find(|row| row.0 == name).map(|row| row.1);
        let counts = count("Com_select").zip(count("Com_begin")).map(|(selects, begun)| [selects, begun]);
        counts.ok_or_else(|| Trouble::Failed("the server counts no SELECTs".into()))
    }

    /// Returns how many SELECTs without a table Freshet sends with each read view that it opens: it asks what the read view shows.
    pub(super) fn questions_of_an_opening(&self) -> u64 {
        let is_mariadb = self.link.conn.server_version().0 >= 10;
        if is_mariadb { 1 } else { 2 }
    }
}
