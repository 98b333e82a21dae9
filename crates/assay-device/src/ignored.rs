//! Whether a signal is ignored, as nohup, a shell's `trap '' HUP` and a script's background jobs leave it. A program that
//! is started so must not make itself stoppable by that signal.

/// Whether this process ignores `signal`.
pub fn is_ignored(signal: i32) -> bool {
    let mut now = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: the call only reads the present action and stores it in `now`, which is large enough for it.
    let known = unsafe { libc::sigaction(signal, std::ptr::null(), now.as_mut_ptr()) } == 0;
    // SAFETY: a `sigaction` of zeros is a valid value, and the call has stored another one if it succeeded.
    known && unsafe { now.assume_init() }.sa_sigaction == libc::SIG_IGN
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_present_action_of_a_signal_is_read() {
        // Rust ignores SIGPIPE before main; the default of SIGCONT is not to be ignored, although it does nothing.
        assert!(is_ignored(libc::SIGPIPE));
        assert!(!is_ignored(libc::SIGCONT));
        assert!(!is_ignored(-1), "no signal");
    }
}
