//! The list of processes: a session that is answered from memory is asleep to the server, for as long as it was last asked something.
//! To whoever lists the processes through Freshet it is asleep since its client was last active.

use ahash::HashMap;
use freshet_sql::{Modes, ProcessList, process_list};
use freshet_upstream::now_ms;

use super::text_row;

/// What puts the rows of one such list right.
#[derive(Debug)]
pub(crate) struct Processes {
    at: ProcessList,
    /// For how many milliseconds each client has been idle, by the server's number of its connection.
    idle_ms: HashMap<u32, u64>,
}

impl Processes {
    /// If `text` lists the processes.
    ///
    /// `active`: since when each client has been idle, in monotonic milliseconds, by the server's number of its connection.
    pub(crate) fn listed_by<Active>(
        text: &[u8],
        modes: Modes,
        active: impl FnOnce() -> Active,
    ) -> Option<Self>
    where
        Active: IntoIterator<Item = (u32, u64)>,
    {
        let at = process_list(text, modes)?;
        let now = now_ms();
        let idle_ms = active().into_iter().map(|(id, at)| (id, now.saturating_sub(at))).collect();
        Some(Self { at, idle_ms })
    }

    /// The row that the client is to get in the place of `payload`; `None` if just that.
    pub(super) fn row(&self, payload: &[u8]) -> Option<Vec<u8>> {
        let mut values = text_row::values(payload)?;
        let value = |at: usize| values.get(at).copied().flatten();
        let number = |at: usize| std::str::from_utf8(value(at)?).ok()?.parse::<u64>().ok();
        let is_asleep = value(self.at.command_at).is_some_and(|command| command == b"Sleep");
        let idle_ms = *self.idle_ms.get(&u32::try_from(number(self.at.id_at)?).ok()?)?;
        if !is_asleep || idle_ms / 1000 >= number(self.at.time_at)? {
            return None;
        }
        let (seconds, milliseconds) = ((idle_ms / 1000).to_string(), format!("{idle_ms}.000"));
        *values.get_mut(self.at.time_at)? = Some(seconds.as_bytes());
        if let Some(place) = self.at.time_ms_at.and_then(|at| values.get_mut(at)) {
            *place = Some(milliseconds.as_bytes());
        }
        Some(text_row::row(&values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_was_active_is_not_asleep_for_as_long_as_the_server_says() {
        let at = ProcessList { id_at: 0, command_at: 1, time_at: 2, time_ms_at: Some(3) };
        let processes = Processes { at, idle_ms: HashMap::from_iter([(7, 2345)]) };
        assert_eq!(
            processes.row(b"\x017\x05Sleep\x02\x39\x39\x0999000.999"),
            Some(b"\x017\x05Sleep\x012\x082345.000".to_vec())
        );
        assert_eq!(processes.row(b"\x017\x05Sleep\x011\xfb"), None, "it was asked since");
        assert_eq!(processes.row(b"\x017\x05Query\x0299\xfb"), None);
        assert_eq!(processes.row(b"\x018\x05Sleep\x0299\xfb"), None, "nobody of ours");
    }
}
