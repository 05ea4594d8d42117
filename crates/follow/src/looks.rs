//! Looks around for which sessions wait: a client has changed something that no binlog tells of, and gets its answer only after the
//! change is taken over.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// The clients that wait for the next look; `None` while nobody looks.
#[derive(Debug, Default)]
pub(crate) struct Looks(Mutex<Option<Waiters>>);

/// The clients that wait for one look.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// One of them has changed rights.
    pub(crate) rights: bool,
    /// One for each client that is in the middle of a statement.
    waiters: Vec<oneshot::Sender<()>>,
}

impl Waiters {
    /// Answers the waiting clients: the look is over, and its findings are taken over.
    pub(crate) fn answer(self) {
        for waiter in self.waiters {
            // A client that has left needs no answer.
            let _ = waiter.send(());
        }
    }
}

impl Looks {
    /// Opens the queue: from now on somebody looks, until the guard is dropped.
    pub(crate) fn open(&self) -> Looking<'_> {
        *self.lock() = Some(Waiters::default());
        Looking(self)
    }

    /// Asks for a look that begins after this call. `None` if nobody looks. The receiver fails if the look does not happen.
    pub(crate) fn ask(&self, rights: bool) -> Option<oneshot::Receiver<()>> {
        let mut awaited = self.lock();
        let awaited = awaited.as_mut()?;
        let (waiter, looked) = oneshot::channel();
        awaited.rights |= rights;
        awaited.waiters.push(waiter);
        Some(looked)
    }

    /// Whether anybody waits.
    pub(crate) fn is_awaited(&self) -> bool {
        self.lock().as_ref().is_some_and(|awaited| !awaited.waiters.is_empty())
    }

    /// Takes the waiting clients, at the beginning of a look.
    pub(crate) fn take(&self) -> Waiters {
        self.lock().as_mut().map(std::mem::take).unwrap_or_default()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Waiters>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// While this lives, somebody looks.
pub(crate) struct Looking<'a>(&'a Looks);

impl Drop for Looking<'_> {
    fn drop(&mut self) {
        *self.0.lock() = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_during_a_look_waits_for_the_next() {
        let looks = Looks::default();
        assert!(looks.ask(false).is_none());
        let open = looks.open();
        let mut first = looks.ask(true).unwrap();
        let awaited = looks.take();
        let mut second = looks.ask(false).unwrap();
        assert!(awaited.rights && looks.is_awaited());
        awaited.answer();
        assert_eq!(first.try_recv(), Ok(()));
        assert_eq!(second.try_recv(), Err(oneshot::error::TryRecvError::Empty));
        assert!(!looks.take().rights);
        assert_eq!(second.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        let mut third = looks.ask(false).unwrap();
        drop(open);
        assert_eq!(third.try_recv(), Err(oneshot::error::TryRecvError::Closed));
        assert!(looks.ask(false).is_none() && !looks.is_awaited());
    }
}
