//! The tables seen last, so that a busy one is not described anew each time.

use super::TableMap;
use crate::Malformed;
use crate::binlog::flavor::BinlogFlavor;

/// Tables kept; each has one place, by its number.
const PLACES: usize = 64;
/// Descriptions longer than this, in bytes, are not kept.
const LEN_MAX: usize = 64 << 10;

/// Decoded descriptions beside the bytes that they came from.
///
/// With `binlog_row_metadata=FULL` a description is far larger than the one row
/// that often follows it, and the same each time. Since the bytes are compared
/// whole, nothing needs to be forgotten when a table is altered.
#[derive(Clone, Debug, Default)]
pub(in crate::binlog) struct KnownTables {
    places: Vec<Option<(Vec<u8>, TableMap)>>,
}

impl KnownTables {
    pub(in crate::binlog) fn parse(
        &mut self,
        body: &[u8],
        flavor: BinlogFlavor,
    ) -> Result<TableMap, Malformed> {
        let place = self.place(body);
        if let Some((_, map)) = place.as_ref().filter(|(known, _)| known == body) {
            return Ok(map.clone());
        }
        let map = TableMap::parse(body, flavor)?;
        if body.len() <= LEN_MAX {
            *place = Some((body.to_vec(), map.clone()));
        }
        Ok(map)
    }

    fn place(&mut self, body: &[u8]) -> &mut Option<(Vec<u8>, TableMap)> {
        if self.places.is_empty() {
            self.places.resize_with(PLACES, || None);
        }
        // The number's low byte comes first.
        let number = usize::from(body.first().copied().unwrap_or_default());
        &mut self.places[number % PLACES]
    }
}
