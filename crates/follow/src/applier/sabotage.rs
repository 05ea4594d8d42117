//! The events that a sabotaged applier does not see, or sees late. See [`freshet_cache::sabotage`].

#[cfg(not(feature = "sabotage"))]
mod on {
    use freshet_protocol::binlog::Body;

    /// Every event comes as it is.
    #[inline]
    pub(in crate::applier) fn pass(body: Body) -> std::iter::Once<Body> {
        std::iter::once(body)
    }
}

#[cfg(feature = "sabotage")]
mod on {
    use std::cell::{Cell, RefCell};
    use std::time::Duration;

    use freshet_cache::sabotage::{SLOW_STREAM_US, Sabotage, is};
    use freshet_protocol::binlog::{Body, TableMap};

    thread_local! {
        /// The tables that were announced by the statement under way.
        static ANNOUNCED: RefCell<Vec<TableMap>> = const { RefCell::new(Vec::new()) };
        /// The number of the forgotten table.
        static FORGOTTEN: Cell<Option<u64>> = const { Cell::new(None) };
    }

    pub(in crate::applier) fn pass(body: Body) -> Vec<Body> {
        if is(Sabotage::SlowStream) {
            std::thread::sleep(Duration::from_micros(SLOW_STREAM_US));
        }
        match body {
            Body::TableMap(map) if is(Sabotage::ForgottenTable) && map.table == b"r" => {
                FORGOTTEN.set(Some(map.id));
                Vec::new()
            }
            // Rows that were never announced would count as a change of everything.
            Body::Rows(rows) if FORGOTTEN.get() == Some(rows.table_id) => Vec::new(),
            body if is(Sabotage::NoCascades) => only_with_rows(body),
            body => vec![body],
        }
    }

    /// Announces a table only where rows of it follow.
    fn only_with_rows(body: Body) -> Vec<Body> {
        ANNOUNCED.with_borrow_mut(|announced| match body {
            Body::TableMap(map) => {
                announced.push(map);
                Vec::new()
            }
            Body::Rows(rows) => {
                let place = announced.iter().position(|map| map.id == rows.table_id);
                let map = place.map(|place| Body::TableMap(announced.swap_remove(place)));
                map.into_iter().chain([Body::Rows(rows)]).collect()
            }
            body => {
                announced.clear();
                vec![body]
            }
        })
    }
}

pub(super) use on::pass;
