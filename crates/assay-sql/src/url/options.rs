//! What stands behind the question mark of a URL.

use super::percent::repeatable_part;
use crate::trouble::Trouble;

/// The options, each with what is written for it, as it is written. One that stands there twice is refused: only one of
/// the two could hold.
pub(super) fn split_options<'a>(options: &'a str, scheme: &str) -> Result<Vec<(&'a str, &'a str)>, Trouble> {
    let mut all: Vec<(&str, &str)> = Vec::new();
    for option in options.split('&').filter(|option| !option.is_empty()) {
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        if all.iter().any(|(known, _)| *known == name) {
            let text = format!("a {scheme}: URL has the option {} twice: write it once", repeatable_part(name));
            return Err(Trouble::bad_usage(text));
        }
        all.push((name, value));
    }
    Ok(all)
}
