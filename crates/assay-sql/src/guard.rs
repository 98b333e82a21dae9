//! What keeps another Assay out of a database of a server: a lock that the server holds for a connection of its own.
//!
//! The lock ends with that connection, whatever ends it: a server that crashes, or somebody who ends the connection. It
//! is therefore asked for before each connection to the database is opened, and at the end of a run, and taken again where
//! it is gone. If somebody else has it by then, or has loaded the database anew meanwhile, nothing is done any more.

use crate::trouble::{Trouble, TroubleKind};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How often and after what pauses a lock is asked for again that somebody has: a server that has ended a connection
/// tells its client before it gives the lock back.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(100);

/// A lock that a server holds for a connection.
pub(crate) trait Lock: Sized {
    type Url;
    /// Takes it over a new connection; refused if somebody else has it.
    fn take_lock(url: &Self::Url) -> Result<Self, Trouble>;
    /// Whether the server still holds it.
    fn is_held(&mut self) -> bool;
    /// The name of the load that the database held when the lock was taken, if it held a whole one.
    fn loaded_name(&self) -> Option<&str>;
    /// The database, as it may be shown.
    fn display_name(url: &Self::Url) -> String;
}

/// A lock that is taken again when it is lost.
#[derive(Debug)]
pub(crate) struct Guard<L> {
    state: Mutex<State<L>>,
    /// The name of the load that the database must hold whenever the lock is taken.
    load: Option<String>,
}

#[derive(Debug)]
struct State<L> {
    lock: Option<L>,
    was_lost: bool,
    /// Why it cannot be used any more.
    refused: Option<Trouble>,
}

impl<L: Lock> Guard<L> {
    /// Guards what is loaded.
    pub(crate) fn of_load(lock: L) -> Guard<L> {
        let load = lock.loaded_name().map(str::to_owned);
        Guard { load, ..Guard::of_anything(lock) }
    }

    /// Guards a database whose load is about to change.
    pub(crate) fn of_anything(lock: L) -> Guard<L> {
        Guard { state: Mutex::new(State { lock: Some(lock), was_lost: false, refused: None }), load: None }
    }

    /// The state stays whole if its holder panics.
    fn lock_state(&self) -> MutexGuard<'_, State<L>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes sure that the lock is held, and takes it again if it was lost. Once somebody else has had it, this fails for
    /// ever: the database may be that one's now.
    pub(crate) fn ensure_held(&self, url: &L::Url) -> Result<(), Trouble> {
        let mut state = self.lock_state();
        if let Some(refused) = &state.refused {
            return Err(refused.clone());
        }
        if state.lock.as_mut().is_some_and(L::is_held) {
            return Ok(());
        }
        (state.lock, state.was_lost) = (None, true);
        match self.connect_again(url) {
            Ok(lock) => state.lock = Some(lock),
            Err(trouble) => {
                state.refused = Some(trouble.clone()).filter(|trouble| trouble.kind == TroubleKind::Refused);
                return Err(trouble);
            }
        }
        Ok(())
    }

    /// Whether the lock was lost at some time, so that somebody else could have had it.
    pub(crate) fn was_lost(&self) -> bool {
        self.lock_state().was_lost
    }

    /// For a load, which does not go on if the lock was lost: another one may have begun meanwhile.
    pub(crate) fn has_held(&self, url: &L::Url) -> Result<(), Trouble> {
        self.ensure_held(url)?;
        if self.was_lost() {
            Err(Trouble::host_unable(format!(
                "{}: the connection whose lock keeps another Assay out was lost: repeat the command to go on",
                L::display_name(url)
            )))
        } else {
            Ok(())
        }
    }

    fn connect_again(&self, url: &L::Url) -> Result<L, Trouble> {
        let mut tries = 1;
        let lock = loop {
            match L::take_lock(url) {
                Err(trouble) if trouble.kind == TroubleKind::Refused && tries < TRIES => pause_briefly(),
                Err(trouble) if trouble.kind == TroubleKind::Refused => {
                    let text =
                        "the lock that keeps another Assay out was lost with its connection, and cannot be taken again";
                    return Err(Trouble::refused_for_safety(format!("{text}: {trouble}")));
                }
                done => break done?,
            }
            tries += 1;
        };
        if self.load.is_some() && lock.loaded_name() != self.load.as_deref() {
            return Err(Trouble::refused_for_safety(format!(
                "{}: the lock that keeps another Assay out was lost with its connection, and somebody has loaded or cleared \
                 the database meanwhile",
                L::display_name(url)
            )));
        }
        Ok(lock)
    }
}

#[expect(clippy::disallowed_methods, reason = "whoever needs the lock waits for it in a thread of its own")]
fn pause_briefly() {
    std::thread::sleep(PAUSE);
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    /// The behaviour of a server towards a lock, imitated.
    #[derive(Debug)]
    struct Server {
        is_up: bool,
        /// How often somebody else is found to have it.
        others: u32,
        load: &'static str,
    }

    /// A lock, while it is held, with the name of the load.
    #[derive(Debug)]
    struct Of(Option<String>);

    impl Lock for Of {
        type Url = RefCell<Server>;
        fn take_lock(url: &RefCell<Server>) -> Result<Of, Trouble> {
            let mut server = url.borrow_mut();
            if !server.is_up {
                return Err(Trouble::host_unable("is down"));
            }
            if server.others > 0 {
                server.others -= 1;
                return Err(Trouble::refused_for_safety("in use by another Assay"));
            }
            Ok(Of(Some(server.load.to_owned())))
        }
        fn is_held(&mut self) -> bool {
            self.0.is_some()
        }
        fn loaded_name(&self) -> Option<&str> {
            self.0.as_deref()
        }
        fn display_name(_: &RefCell<Server>) -> String {
            "shop".to_owned()
        }
    }

    fn held(server: &RefCell<Server>) -> Guard<Of> {
        Guard::of_load(Of::take_lock(server).unwrap())
    }

    /// As when the server ends the connection.
    fn lost(guard: &Guard<Of>) {
        guard.lock_state().lock.as_mut().unwrap().0 = None;
    }

    #[test]
    fn a_lock_that_was_lost_is_taken_again_when_it_is_free_and_the_load_is_the_same() {
        let server = RefCell::new(Server { is_up: true, others: 0, load: "a" });
        let guard = held(&server);
        assert_eq!((guard.ensure_held(&server), guard.was_lost()), (Ok(()), false));
        lost(&guard);
        server.borrow_mut().others = TRIES - 1;
        assert_eq!((guard.ensure_held(&server), guard.was_lost()), (Ok(()), true), "it is given back a little later");
        lost(&guard);
        server.borrow_mut().is_up = false;
        assert_eq!(guard.ensure_held(&server).unwrap_err().kind, TroubleKind::Host);
        server.borrow_mut().is_up = true;
        assert_eq!(guard.ensure_held(&server), Ok(()), "a server that comes back");
    }

    #[test]
    fn once_somebody_else_had_it_or_loaded_the_database_nothing_is_done_any_more() {
        for (others, load, says) in [(TRIES, "a", "in use by another Assay"), (0, "b", "has loaded or cleared")] {
            let server = RefCell::new(Server { is_up: true, others: 0, load: "a" });
            let guard = held(&server);
            lost(&guard);
            *server.borrow_mut() = Server { is_up: true, others, load };
            let trouble = guard.ensure_held(&server).unwrap_err();
            assert!(trouble.kind == TroubleKind::Refused && trouble.to_string().contains(says), "{trouble}");
            assert_eq!((server.borrow().others, server.borrow().load), (0, load));
            server.borrow_mut().load = "a";
            assert_eq!(guard.ensure_held(&server), Err(trouble), "although it is free now");
        }
    }

    #[test]
    fn a_load_may_change_what_is_loaded() {
        let server = RefCell::new(Server { is_up: true, others: 0, load: "a" });
        let guard = Guard::of_anything(Of::take_lock(&server).unwrap());
        lost(&guard);
        server.borrow_mut().load = "b";
        assert_eq!((guard.ensure_held(&server), guard.was_lost()), (Ok(()), true));
    }
}
