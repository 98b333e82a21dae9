//! The settings that the connections of a run were found with. What is changed during a run and changed back before its
//! end shows only here.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Upper bound on what is kept: somebody who changes settings all the time has changed them.
const MOST: usize = 64;

/// Each different set of settings once, in the order in which they were found.
#[derive(Debug)]
pub(crate) struct SeenSettings<S>(Mutex<Vec<S>>);

impl<S> Default for SeenSettings<S> {
    fn default() -> Self {
        SeenSettings(Mutex::default())
    }
}

impl<S: Clone + PartialEq> SeenSettings<S> {
    /// The list stays whole if its holder panics.
    fn lock_list(&self) -> MutexGuard<'_, Vec<S>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A run begins: what was found before does not count.
    pub(crate) fn forget_all(&self) {
        self.lock_list().clear();
    }

    /// Adds what a connection was found with.
    pub(crate) fn add_settings(&self, settings: &S) {
        let mut list = self.lock_list();
        if list.len() < MOST && !list.contains(settings) {
            list.push(settings.clone());
        }
    }

    /// All that was found since the run began.
    pub(crate) fn all_seen(&self) -> Vec<S> {
        self.lock_list().clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_kept_once_and_none_of_an_earlier_run() {
        let seen = SeenSettings::default();
        for settings in [1, 2, 1] {
            seen.add_settings(&settings);
        }
        assert_eq!(seen.all_seen(), [1, 2]);
        seen.forget_all();
        (0..1000).for_each(|settings| seen.add_settings(&settings));
        assert_eq!(seen.all_seen(), (0..MOST).collect::<Vec<_>>());
    }
}
