//! Which writes were under way when a watch or a level came into use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The mark of a write that is under way. To be held as long as its fences stand ([`freshet_cache::Fence::holding`]).
#[must_use = "a watch that is made after the ticket is dropped does not wait for the write"]
#[derive(Debug)]
pub struct Ticket(#[expect(dead_code, reason = "it is counted")] Arc<()>);

/// Gives out tickets, and tells the tickets before a moment from those after it.
#[derive(Debug, Default)]
pub(super) struct Era {
    state: Mutex<EraState>,
}

#[derive(Debug, Default)]
struct EraState {
    current: Arc<()>,
    /// Earlier eras that have tickets left.
    older: Vec<Weak<()>>,
}

/// Eras that still have to end.
#[derive(Debug, Default)]
pub(super) struct EraWait(Vec<Weak<()>>);

impl Era {
    fn state(&self) -> MutexGuard<'_, EraState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a ticket of the present era.
    pub(super) fn ticket(&self) -> Ticket {
        Ticket(Arc::clone(&self.state().current))
    }

    /// Begins a new era. The wait that is returned ends when all earlier tickets are dropped.
    ///
    /// There are never more old eras than tickets, since an era without tickets is forgotten here.
    pub(super) fn turn(&self) -> EraWait {
        let mut state = self.state();
        let ended = Arc::downgrade(&state.current);
        state.current = Arc::default();
        state.older.push(ended);
        state.older.retain(|era| era.strong_count() > 0);
        EraWait(state.older.clone())
    }
}

impl EraWait {
    /// Waits for the other's eras too.
    pub(super) fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether all these eras have ended. Dropping a ticket lifts nothing by itself, so nothing needs to be ordered after this.
    pub(super) fn is_over(&mut self) -> bool {
        self.0.retain(|era| era.strong_count() > 0);
        self.0.is_empty()
    }
}
