//! The keys of job files, each in one of four classes, so that none is ever ignored silently.

pub use super::class::{Class, Key};

use super::engine_keys::{OF_ENGINES, OF_PROFILES};
use super::table::KEYS;
use assay_base::fault::nearest_known_name;

/// All keys: those of all jobs, those of single engines, and those of profiles.
pub fn all_keys() -> impl Iterator<Item = &'static Key> {
    KEYS.iter().chain(OF_ENGINES).chain(OF_PROFILES)
}

/// The key with this name. If the name is also an alias of another key, the key that has it as its own name is found.
pub fn find_key(name: &str) -> Option<&'static Key> {
    all_keys().find(|key| key.name == name).or_else(|| all_keys().find(|key| key.aliases.contains(&name)))
}

/// The name that was most likely meant. Nobody is led to a key that does nothing, or to one of an engine that is not
/// driven.
pub(super) fn meant_key(name: &str) -> Option<&'static str> {
    let names: Vec<&str> = KEYS.iter().flat_map(|key| std::iter::once(&key.name).chain(key.aliases)).copied().collect();
    nearest_known_name(name, &names)
}
