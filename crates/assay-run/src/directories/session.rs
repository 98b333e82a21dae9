//! A run on a directory from its tree to its cleaning, over one or several phases, as requests and answers.

use super::connection::Connection;
use super::protocol::{Answer, Begin, End, Examine, PlaceFacts, Request, RunEnd, TreeMade};
use crate::failure::Failure;
use crate::host::signals::StopCell;
use assay_base::Span;
use assay_device::clock::Clock;
use assay_engine::shell::Stop;
use std::time::Duration;

/// The time between two looks at signals and at the clock.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// How long the examination of a directory may take: as long as a call that is given up.
const EXAMINATION: Span = Span::from_secs(120);

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
        let mut session = Session { connection: Connection::start()?, tree: None };
        let clock = Clock::start();
        session.connection.send(&Request::Examine(examine))?;
        loop {
            match session.connection.next_answer(TICK)? {
                Some(Answer::Examined(facts)) => return Ok((session, facts)),
                Some(Answer::Refused(refusal)) => return Err(Failure::from_directory_trouble(refusal.into())),
                Some(_) => {}
                None if clock.now().since(assay_base::Instant::ZERO) > EXAMINATION => {
                    return Err(Failure::host_unable(format!(
                        "{shown} does not answer for {EXAMINATION}: the process {} waits in a call on it; examine the file system",
                        session.connection.process_id()
                    )));
                }
                None => {}
            }
        }
    }

    /// Makes the tree. A first signal lets it be finished and removed, a second one leaves what is there.
    pub(super) fn begin(&mut self, begin: Begin, stop: &StopCell) -> Result<&TreeMade, Failure> {
        match self.ask(&Request::Begin(Box::new(begin)), stop)? {
            Answer::Begun(made) => Ok(self.tree.insert(made)),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Compares the tree with what was written, and removes it.
    pub(super) fn end(&mut self, end: End, stop: &StopCell) -> Result<RunEnd, Failure> {
        if self.tree.is_none() {
            return Ok(RunEnd::default());
        }
        match self.ask(&Request::End(end), stop)? {
            Answer::Ended(found) => {
                self.tree = None;
                Ok(found)
            }
            other => Err(out_of_turn(&other)),
        }
    }

    fn ask(&mut self, request: &Request, stop: &StopCell) -> Result<Answer, Failure> {
        self.connection.send(request)?;
        loop {
            match self.connection.next_answer(TICK)? {
                Some(Answer::Refused(refusal)) => return Err(Failure::from_directory_trouble(refusal.into())),
                Some(answer) => return Ok(answer),
                None if matches!(stop.stop_request(), Some(Stop::Now(_))) => {
                    self.tree = None;
                    return Err(Failure::cut_short(format!(
                        "a second signal: what the process {} has made stays there; assay clean removes it",
                        self.connection.process_id()
                    )));
                }
                None => {}
            }
        }
    }
}

fn out_of_turn(answer: &Answer) -> Failure {
    Failure::internal_bug(format!("the process that makes the calls said {answer:?} out of turn"))
}
