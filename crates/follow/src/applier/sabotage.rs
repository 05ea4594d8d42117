//! The events that a sabotaged applier does not see, or sees late. See [`freshet_cache::sabotage`].

#[cfg(not(feature = "sabotage"))]
mod on {
    use freshet_protocol::binlog::EventBody;

    /// Every event comes as it is.
    #[inline]
    pub(in crate::applier) fn pass(body: EventBody) -> std::iter::Once<EventBody> {
        std::iter::once(body)
    }
}

#[cfg(feature = "sabotage")]
mod on {
    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    use freshet_cache::sabotage::{SLOW_STREAM_US, Sabotage, is};
    use freshet_protocol::binlog::{EventBody, TableMap};

    thread_local! {
        /// The tables that were announced by the statement under way.
        static ANNOUNCED: RefCell<Vec<TableMap>> = const { RefCell::new(Vec::new()) };
        /// The number of the forgotten table.
        static FORGOTTEN: Cell<Option<u64>> = const { Cell::new(None) };
    }

    pub(in crate::applier) fn pass(body: EventBody) -> Vec<EventBody> {
        if is(Sabotage::SlowStream) {
            std::thread::sleep(Duration::from_micros(SLOW_STREAM_US));
        }
        match body {
            EventBody::TableMap(map) if is(Sabotage::ForgottenTable) && map.table == b"r" => {
                FORGOTTEN.set(Some(map.id));
                Vec::new()
            }
            // Rows that were never announced would count as a change of everything.
            EventBody::Rows(rows) if FORGOTTEN.get() == Some(rows.table_id) => Vec::new(),
            body if is(Sabotage::NoCascades) => only_with_rows(body),
            body => vec![body],
        }
    }

    /// Announces a table only where rows of it follow.
    fn only_with_rows(body: EventBody) -> Vec<EventBody> {
        ANNOUNCED.with_borrow_mut(|announced| match body {
            EventBody::TableMap(map) => {
                announced.push(map);
                Vec::new()
            }
            EventBody::Rows(rows) => {
                let place = announced.iter().position(|map| map.id == rows.table_id);
                let map = place.map(|place| EventBody::TableMap(announced.swap_remove(place)));
                map.into_iter().chain([EventBody::Rows(rows)]).collect()
            }
            body => {
                announced.clear();
                vec![body]
            }
        })
    }
}

pub(super) use on::pass;
