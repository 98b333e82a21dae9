//! The keys of job files, each in one of four classes, so that none is ever ignored silently.

pub use super::class::{Class, Key};

use super::table::KEYS;
use assay_base::fault::nearest;

/// All keys.
pub fn all() -> &'static [Key] {
    KEYS
}

/// The key with this name. If the name is also an alias of another key, the key that has it as its own name is found.
pub fn find(name: &str) -> Option<&'static Key> {
    let own = KEYS.iter().find(|key| key.name == name);
    own.or_else(|| KEYS.iter().find(|key| key.aliases.contains(&name)))
}

/// The name that was most likely meant.
pub(super) fn meant(name: &str) -> Option<&'static str> {
    let names: Vec<&str> = KEYS.iter().flat_map(|key| std::iter::once(&key.name).chain(key.aliases)).copied().collect();
    nearest(name, &names)
}
