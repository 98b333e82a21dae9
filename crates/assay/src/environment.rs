//! The environment of this process.

/// The text in a variable, unless it is empty.
#[allow(clippy::disallowed_methods, reason = "the binary reads the environment")]
pub(crate) fn environment_variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
