//! A run on a directory from its tree to its cleaning, over one or several phases, as requests and answers.

use super::connection::Connection;
use super::protocol::{Answer, Begin, Examine, PlaceFacts, Request, RunEnd, TreeMade};
use crate::failure::Failure;
use crate::host::signals::StopCell;
use assay_base::{Instant, Span};
use assay_device::clock::Clock;
use assay_engine::shell::Stop;
use std::time::Duration;

/// The time between two looks at signals and at the clock.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// How long a directory may take to be examined, and to be cleaned where nobody can end it: as long as a call that is given
/// up.
const LONGEST: Span = Span::from_secs(120);

/// The process that makes the calls, and how far the run is.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) connection: Connection,
    /// The tree, while there is one.
    pub(super) tree: Option<TreeMade>,
}

impl Session {
    /// Starts the process, and lets it examine the directory.
    pub(super) fn open(examine: Examine, shown: &str) -> Result<(Session, PlaceFacts), Failure> {
        let mut session = Session { connection: Connection::start(examine.path.is_none())?, tree: None };
        let clock = Clock::start();
        session.connection.send(&Request::Examine(examine))?;
        loop {
            match session.connection.next_answer(TICK)? {
                Some(Answer::Examined(facts)) => return Ok((session, facts)),
                Some(Answer::Refused(refusal)) => return Err(Failure::from_directory_trouble(refusal.into())),
                Some(_) => {}
                None if clock.now().since(Instant::ZERO) > LONGEST => {
                    return Err(Failure::host_unable(format!(
                        "{shown} does not answer for {LONGEST}: the process {} waits in a call on it; examine the file system",
                        session.connection.process_id()
                    )));
                }
                None => {}
            }
        }
    }

    /// Makes the tree. A first signal lets it be finished and removed, a second one leaves what is there.
    pub(super) fn begin(&mut self, begin: Begin, stop: &StopCell) -> Result<&TreeMade, Failure> {
        match self.ask(&Request::Begin(Box::new(begin)), || is_hurried(stop))? {
            Answer::Begun(made) => Ok(self.tree.insert(made)),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Removes the tree, and compares it before with what was written, if so wanted. A second signal ends without it.
    pub(super) fn end(&mut self, verify: bool, stop: &StopCell) -> Result<RunEnd, Failure> {
        self.end_unless(verify, || is_hurried(stop))
    }

    /// Removes the tree, where nobody is left who could be told that this takes long.
    pub(super) fn end_unattended(&mut self) -> Result<RunEnd, Failure> {
        let clock = Clock::start();
        self.end_unless(false, || clock.now().since(Instant::ZERO) > LONGEST)
    }

    fn end_unless(&mut self, verify: bool, is_enough: impl Fn() -> bool) -> Result<RunEnd, Failure> {
        if self.tree.take().is_none() {
            return Ok(RunEnd::default());
        }
        match self.ask(&Request::End { verify }, is_enough)? {
            Answer::Ended(found) => Ok(found),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Asks for something, and waits for the answer until it `is_enough`.
    fn ask(&mut self, request: &Request, is_enough: impl Fn() -> bool) -> Result<Answer, Failure> {
        self.connection.send(request)?;
        loop {
            match self.connection.next_answer(TICK)? {
                Some(Answer::Refused(refusal)) => return Err(Failure::from_directory_trouble(refusal.into())),
                Some(answer) => return Ok(answer),
                None if is_enough() => {
                    return Err(Failure::cut_short(format!(
                        "what the process {} has made stays there, because nobody waits for it any longer: assay clean removes it",
                        self.connection.process_id()
                    )));
                }
                None => {}
            }
        }
    }
}

/// Whether a second signal has asked for the end at once.
fn is_hurried(stop: &StopCell) -> bool {
    matches!(stop.stop_request(), Some(Stop::Now(_)))
}

fn out_of_turn(answer: &Answer) -> Failure {
    Failure::internal_bug(format!("the process that makes the calls said {answer:?} out of turn"))
}
