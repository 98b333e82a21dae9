//! Whether a key has the same effect here as in fio, which may depend on its value.

use super::keys::Class;
use super::text::Entry;

/// Keys that mean here what they mean to fio if the page cache is used.
const OF_THE_PAGE_CACHE: [&str; 4] = ["direct", "buffered", "invalidate", "fadvise_hint"];

/// Switches of the class `Differs` that ask, when they are off, for what is done here anyway.
const SWITCHES: [&str; 20] = [
    "allrandrepeat",
    "buffered",
    "dedupe_global",
    "end_syncfs",
    "exitall",
    "exitall_on_error",
    "hipri",
    "invalidate",
    "pre_read",
    "randrepeat",
    "serialize_overlap",
    "sqthread_poll",
    "unlink",
    "unlink_each_loop",
    "verify_backlog",
    "verify_fatal",
    "verify_only",
    "verify_state_load",
    "verify_state_save",
    "zero_buffers",
];

/// Whether a key has the same effect here as in fio. A key of the class `Differs` has, if its value asks for what is
/// done here anyway.
pub(super) fn is_as_fio(entry: &Entry, page_cache: bool) -> bool {
    if page_cache && OF_THE_PAGE_CACHE.contains(&entry.key.name) {
        return true;
    }
    let value = entry.value.as_ref().map_or("1", |value| value.text.as_str());
    match entry.key.name {
        "direct" => value == "1",
        "sync" => ["0", "none"].contains(&value),
        "random_distribution" => value == "random" || value.starts_with("zoned:"),
        "verify" => ["0", "null", "none"].contains(&value),
        "zonemode" => ["none", "strided"].contains(&value),
        "exit_what" => value == "group",
        "io_submit_mode" => value == "inline",
        "filetype" | "lockfile" => value == "none",
        "verify_policy" => value == "completed",
        switch if SWITCHES.contains(&switch) => value == "0",
        _ => entry.key.class == Class::Exact,
    }
}
