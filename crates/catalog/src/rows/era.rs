//! Which writes were under way when something came into use.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// A write is under way. To be held as long as its fences stand ([`freshet_cache::Fence::holding`]).
#[must_use = "a watch that is made after the ticket is dropped does not wait for the write"]
#[derive(Debug)]
pub struct Ticket(#[expect(dead_code, reason = "it is counted")] Arc<()>);

/// Gives out tickets, and tells those of before some moment from those of after it.
#[derive(Debug, Default)]
pub(super) struct Era {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    current: Arc<()>,
    /// Those before it of which tickets are left.
    older: Vec<Weak<()>>,
}

/// Eras that have to end.
#[derive(Debug, Default)]
pub(super) struct Waiting(Vec<Weak<()>>);

impl Era {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A ticket of now.
    pub(super) fn ticket(&self) -> Ticket {
        Ticket(Arc::clone(&self.state().current))
    }

    /// A new era begins. What is given back has ended when all tickets of before are dropped.
    ///
    /// There are never more eras left than tickets, since an era without tickets is forgotten here.
    pub(super) fn turn(&self) -> Waiting {
        let mut state = self.state();
        let ended = Arc::downgrade(&state.current);
        state.current = Arc::default();
        state.older.push(ended);
        state.older.retain(|era| era.strong_count() > 0);
        Waiting(state.older.clone())
    }
}

impl Waiting {
    /// Waits for these too.
    pub(super) fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Whether all have ended. Dropping a ticket lifts nothing by itself, so that nothing needs to be ordered after this.
    pub(super) fn is_over(&mut self) -> bool {
        self.0.retain(|era| era.strong_count() > 0);
        self.0.is_empty()
    }
}
