//! A set of System V semaphores at which several processes wait for each other, one semaphore for each meeting: each process
//! takes one from it and waits until nothing is left. It is the way of bonnie++ 2.00a (`-p`, `-y s`), with the key that it
//! uses, so that processes of both can meet.

use crate::trouble::{Trouble, error_in_words};
use rustix::io::Errno;
use std::ffi::c_int;

/// The key of the set that bonnie++ 2.00a makes.
pub const KEY: i32 = 4711;
/// Whoever may run a test may take part, as in the original.
const MODE: c_int = 0o666;

/// How long one call waits for the others: whoever waits looks in between whether it shall end.
pub const PATIENCE: std::time::Duration = std::time::Duration::from_millis(200);

/// A set of semaphores of the host.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Semaphores {
    number: c_int,
}

/// How waiting at a semaphore ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Waited {
    /// All others are there.
    AllAreThere,
    /// Somebody is still missing after [`PATIENCE`], or a signal arrived.
    NotYet,
}

impl Semaphores {
    /// Makes the set, or sets the one that is there: so many meetings of so many processes.
    ///
    /// # Errors
    /// Host: the kernel's error.
    pub fn make(key: i32, meetings: u16, processes: u16) -> Result<Semaphores, Trouble> {
        let found = get_set(key, c_int::from(meetings), libc::IPC_CREAT | MODE);
        let set = found.map_err(|why| unable("the semaphores cannot be made", why, "remove them with -p -1"))?;
        for meeting in 0..meetings {
            // SAFETY: SETVAL takes one number by value, and touches no memory of this process.
            let done = unsafe { libc::semctl(set.number, c_int::from(meeting), libc::SETVAL, c_int::from(processes)) };
            number_or_error(done)
                .map_err(|why| unable("the semaphores cannot be set", why, "run as the user who made them"))?;
        }
        Ok(set)
    }

    /// Opens the set that is there.
    ///
    /// # Errors
    /// Host: there is none, or this user may not take part.
    pub fn open(key: i32, meetings: u16) -> Result<Semaphores, Trouble> {
        get_set(key, c_int::from(meetings), MODE)
            .map_err(|why| unable("there are no semaphores to wait at", why, "make them first with -p N"))
    }

    /// Removes the set. A process that waits at it ends with an error.
    ///
    /// # Errors
    /// Host: there is none, or it is another user's.
    pub fn remove(key: i32) -> Result<(), Trouble> {
        let failed = |why| unable("the semaphores cannot be removed", why, "look at them with `ipcs -s`");
        let set = get_set(key, 0, 0).map_err(failed)?;
        // SAFETY: IPC_RMID takes no further argument.
        let done = unsafe { libc::semctl(set.number, 0, libc::IPC_RMID) };
        number_or_error(done).map(drop).map_err(failed)
    }

    /// Takes one of a meeting, for this process.
    ///
    /// # Errors
    /// Host: as many as it is for are there already, or the set is gone.
    pub fn arrive(self, meeting: u16) -> Result<(), Trouble> {
        let flags = libc::IPC_NOWAIT as i16;
        self.change(meeting, -1, flags).map_err(|why| match why {
            Errno::AGAIN => Trouble::host(format!(
                "more processes came to the semaphore {meeting} than it is for: make the semaphores again with -p N"
            )),
            why => unable("the semaphores are gone", why, "make them again with -p N"),
        })
    }

    /// Waits until all others have arrived, for [`PATIENCE`] at most.
    ///
    /// # Errors
    /// Host: the set is gone.
    pub fn wait_for_all(self, meeting: u16) -> Result<Waited, Trouble> {
        match self.change(meeting, 0, 0) {
            Ok(()) => Ok(Waited::AllAreThere),
            Err(Errno::INTR | Errno::AGAIN) => Ok(Waited::NotYet),
            Err(why) => Err(unable("the semaphores are gone", why, "make them again with -p N")),
        }
    }

    fn change(self, meeting: u16, by: i16, flags: i16) -> Result<(), Errno> {
        let mut change = libc::sembuf { sem_num: meeting, sem_op: by, sem_flg: flags };
        let limit = libc::timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as libc::c_long };
        // SAFETY: semtimedop reads one `sembuf` and one `timespec`, which live until the call returns.
        let done =
            unsafe { libc::syscall(libc::SYS_semtimedop, self.number, &raw mut change, 1usize, &raw const limit) };
        number_or_error(done as c_int).map(drop)
    }
}

fn get_set(key: i32, meetings: c_int, flags: c_int) -> Result<Semaphores, Errno> {
    // SAFETY: semget takes numbers alone.
    number_or_error(unsafe { libc::semget(key, meetings, flags) }).map(|number| Semaphores { number })
}

/// What a call returned: a number, or -1.
fn number_or_error(returned: c_int) -> Result<c_int, Errno> {
    if returned >= 0 {
        return Ok(returned);
    }
    Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::IO))
}

fn unable(what: &str, why: Errno, remedy: &str) -> Trouble {
    Trouble::host(format!("{what} (key {KEY}): {}; {remedy}", error_in_words(why)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A key of this test alone: other processes of the host may use that of bonnie++.
    fn own_key() -> i32 {
        0x5a00_0000 + (std::process::id() & 0xff_ffff) as i32
    }

    #[test]
    fn processes_meet_when_all_have_come_and_no_more_can_come() {
        let key = own_key();
        assert!(Semaphores::open(key, 2).unwrap_err().to_string().contains("make them first with -p N"));
        let made = Semaphores::make(key, 2, 2).unwrap();
        let opened = Semaphores::open(key, 2).unwrap();
        assert_eq!(made, opened);
        opened.arrive(1).unwrap();
        assert_eq!(opened.wait_for_all(1).unwrap(), Waited::NotYet, "the other one is missing");
        let other = std::thread::spawn(move || made.arrive(1));
        while opened.wait_for_all(1).unwrap() == Waited::NotYet {}
        other.join().unwrap().unwrap();
        assert_eq!(made.wait_for_all(1).unwrap(), Waited::AllAreThere);
        assert!(opened.arrive(1).unwrap_err().to_string().contains("more processes came"));
        opened.arrive(0).unwrap();
        Semaphores::remove(key).unwrap();
        assert!(opened.wait_for_all(0).is_err(), "nobody waits at what is gone");
        assert!(Semaphores::remove(key).unwrap_err().to_string().contains("ipcs"));
    }
}
