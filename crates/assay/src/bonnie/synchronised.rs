//! `-p` and `-y`: several processes begin each test together.

use assay_files::semaphores::{KEY, PATIENCE, Semaphores, Waited};
use assay_formats::bonnie::{Synchronisation, Test};
use assay_run::failure::Failure;
use assay_run::host::signals::StopCell;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::io::BufRead;

/// How many semaphores there are: one for each test.
const MEETINGS: u16 = Test::ALL.len() as u16;

/// Makes the semaphores for so many processes.
pub(super) fn make_semaphores(processes: u16) -> Result<(), Failure> {
    Semaphores::make(KEY, MEETINGS, processes).map(drop).map_err(Failure::from_directory_trouble)
}

/// Removes them.
pub(super) fn remove_semaphores() -> Result<(), Failure> {
    Semaphores::remove(KEY).map_err(Failure::from_directory_trouble)
}

/// Whether somebody has written to standard input, or closed it; it is waited for a moment.
fn input_is_there() -> bool {
    let input = std::io::stdin();
    let mut wanted = [PollFd::new(&input, PollFlags::IN)];
    let limit = Timespec { tv_sec: 0, tv_nsec: PATIENCE.as_nanos() as i64 };
    // What cannot be waited for is read at once.
    !matches!(poll(&mut wanted, Some(&limit)), Ok(0) | Err(rustix::io::Errno::INTR))
}

/// What each test waits for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Start {
    /// Nothing.
    AtOnce,
    /// The other processes.
    WithOthers(Semaphores),
    /// A line on standard input.
    WithLine,
}

impl Start {
    /// Opens the semaphores, where they are waited for.
    pub(super) fn open(synchronisation: Option<Synchronisation>) -> Result<Start, Failure> {
        Ok(match synchronisation {
            None => Start::AtOnce,
            Some(Synchronisation::Prompt) => Start::WithLine,
            Some(Synchronisation::Semaphore) => {
                Start::WithOthers(Semaphores::open(KEY, MEETINGS).map_err(Failure::from_directory_trouble)?)
            }
        })
    }

    /// Waits before a test, until a signal asks for the end.
    pub(super) fn wait_before(self, test: Test, stop: &StopCell) -> Result<(), Failure> {
        match self {
            Start::AtOnce => Ok(()),
            Start::WithOthers(semaphores) => {
                let meeting = test.number() as u16;
                semaphores.arrive(meeting).map_err(Failure::from_directory_trouble)?;
                while !stop.is_set() {
                    let waited = semaphores.wait_for_all(meeting).map_err(Failure::from_directory_trouble)?;
                    if waited == Waited::AllAreThere {
                        break;
                    }
                }
                Ok(())
            }
            Start::WithLine => {
                crate::terminal::write_question(&format!("\n{}:", test.number()));
                while !stop.is_set() {
                    if input_is_there() {
                        let mut line = String::new();
                        // At the end of the input nobody can be waited for.
                        let _ = std::io::stdin().lock().read_line(&mut line);
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Lets the other processes go on at a test that this one does not carry out any more.
    pub(super) fn excuse(self, test: Test) {
        if let Start::WithOthers(semaphores) = self {
            // Where the semaphores are gone, nobody waits.
            let _ = semaphores.arrive(test.number() as u16);
        }
    }
}
