//! A run on a directory from its tree to its cleaning, over one or several phases, as requests and answers.

use super::activity::Activity;
use super::connection::Connection;
use super::protocol::{Answer, Begin, Examine, PlaceFacts, Request, RunEnd, TreeMade};
use crate::failure::Failure;
use crate::host::signals::StopCell;
use assay_base::{Instant, Span};
use assay_device::clock::Clock;
use assay_engine::shell::Stop;
use assay_files::own_dir::Claim;
use assay_model::files::FilesWorkload;
use assay_record::CloseReason;
use std::time::Duration;

/// The time between two looks at signals and at the clock.
pub(super) const TICK: Duration = Duration::from_millis(250);
/// How long a directory may take to be examined, and the process may rest while it cleans where nobody can end it: as long
/// as a call that is given up.
const LONGEST: Span = Span::from_secs(120);
/// How long the process may rest in one call while nobody asks for the end: to make a large tree durable on a slow disk is
/// one call.
pub(super) const SILENT_AT_MOST: Span = Span::from_secs(3600);

/// The process that makes the calls, and how far the run is.
#[derive(Debug)]
pub(super) struct Session {
    pub(super) connection: Connection,
    /// The directory, as it may be shown.
    shown: String,
    /// The tree, while there is one.
    pub(super) tree: Option<TreeMade>,
}

impl Session {
    /// Starts the process, and lets it examine the directory.
    pub(super) fn open(examine: Examine, shown: &str) -> Result<(Session, PlaceFacts), Failure> {
        let connection = Connection::start(examine.path.is_none())?;
        let mut session = Session { connection, shown: shown.to_owned(), tree: None };
        match session.ask_briefly(&Request::Examine(examine))? {
            Answer::Examined(facts) => Ok((session, facts)),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Makes a directory there for others to find. What all ranks do there together must fit.
    pub(super) fn make_claim(&mut self, run: String, load: FilesWorkload) -> Result<Claim, Failure> {
        match self.ask_briefly(&Request::Claim { run, load: Box::new(load) })? {
            Answer::Claimed(claim) => Ok(claim),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Which of these are there.
    pub(super) fn look_for(&mut self, claims: Vec<Claim>) -> Result<Vec<bool>, Failure> {
        let wanted = claims.len();
        match self.ask_briefly(&Request::LookFor(claims))? {
            Answer::Seen(seen) if seen.len() == wanted => Ok(seen),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Removes what was made for others to find.
    pub(super) fn remove_claim(&mut self) -> Result<(), Failure> {
        match self.ask_briefly(&Request::Unclaim)? {
            Answer::Unclaimed(None) => Ok(()),
            Answer::Unclaimed(Some(left)) => Err(Failure::host_unable(left)),
            other => Err(out_of_turn(&other)),
        }
    }

    /// Asks for something that takes a few calls.
    fn ask_briefly(&mut self, request: &Request) -> Result<Answer, Failure> {
        let clock = Clock::start();
        self.connection.send(request)?;
        loop {
            match self.connection.next_answer(TICK)? {
                Some(Answer::Refused(refusal)) => return Err(Failure::from_directory_trouble(refusal.into())),
                Some(answer) => return Ok(answer),
                None if clock.now().since(Instant::ZERO) > LONGEST => {
                    return Err(Failure::host_unable(format!(
                        "{} does not answer for {LONGEST}: the process {} waits in a call on it; examine the file system",
                        self.shown,
                        self.connection.process_id()
                    )));
                }
                None => {}
            }
        }
    }

    /// Makes the tree. A first signal ends that, and what was made is removed; a second one leaves what is there.
    pub(super) fn begin(&mut self, begin: Begin, wait: &Wait<'_>) -> Result<&TreeMade, NoAnswer> {
        match self.ask(&Request::Begin(Box::new(begin)), wait) {
            Ok(Answer::Begun(made)) => Ok(self.tree.insert(made)),
            Ok(other) => Err(NoAnswer::Failed(out_of_turn(&other))),
            Err(NoAnswer::Failed(why)) if wait.is_stopped() => {
                let text = format!("the run was ended while its tree was made; {}", why.user_message());
                Err(NoAnswer::Failed(Failure::cut_short(text)))
            }
            Err(why) => Err(why),
        }
    }

    /// Compares the tree with what was written, if so wanted, and removes it unless it shall stay. A first signal ends the
    /// comparison, a second one leaves what is there.
    pub(super) fn end(&mut self, verify: bool, keep: bool, wait: &Wait<'_>) -> Result<RunEnd, NoAnswer> {
        if self.tree.is_none() {
            return Ok(RunEnd::default());
        }
        let answer = self.ask(&Request::End { verify, keep }, wait);
        if !matches!(answer, Err(NoAnswer::Hangs(_))) {
            self.tree = None;
        }
        match answer? {
            Answer::Ended(found) => Ok(found),
            other => Err(NoAnswer::Failed(out_of_turn(&other))),
        }
    }

    /// Removes the tree, where nobody is left who could be told that this takes long.
    pub(super) fn end_unattended(&mut self) {
        let stop = StopCell::default();
        stop.request_stop(CloseReason::Interrupted);
        // Nobody is left who could be told what came of it.
        let _ = self.end(false, false, &Wait { stop: &stop, patience: LONGEST, warn: &|_| {} });
        self.tree = None;
    }

    /// Asks for something, and waits for the answer.
    fn ask(&mut self, request: &Request, wait: &Wait<'_>) -> Result<Answer, NoAnswer> {
        self.connection.send(request).map_err(NoAnswer::Failed)?;
        let mut watch = ActivityWatch::begin(self.connection.process_id());
        let mut told_to_stop = false;
        loop {
            match self.connection.next_answer(TICK).map_err(NoAnswer::Failed)? {
                Some(Answer::Refused(refusal)) => {
                    return Err(NoAnswer::Failed(Failure::from_directory_trouble(refusal.into())));
                }
                Some(answer) => return Ok(answer),
                None => {}
            }
            if matches!(wait.stop.stop_request(), Some(Stop::Now(_))) {
                return Err(NoAnswer::Failed(self.nobody_waits()));
            }
            if wait.is_stopped() && !told_to_stop {
                told_to_stop = true;
                // A call that hangs has had its time before as well.
                self.connection.send(&Request::Stop).map_err(NoAnswer::Failed)?;
            }
            let most = if told_to_stop { wait.patience } else { SILENT_AT_MOST };
            if watch.has_rested_for(most) {
                let id = self.connection.process_id();
                let text = format!(
                    "the process {id}, which makes the calls on the directory, waits in a call that has not returned for {most}"
                );
                return Err(NoAnswer::Hangs(text));
            }
            if let Some(text) = watch.new_warning(wait.patience) {
                (wait.warn)(&text);
            }
        }
    }

    fn nobody_waits(&self) -> Failure {
        Failure::cut_short(format!(
            "what the process {} has made stays there, because nobody waits for it any longer: assay clean removes it",
            self.connection.process_id()
        ))
    }
}

/// How long an answer is waited for.
pub(super) struct Wait<'a> {
    /// What a person, or the run itself, asks for.
    pub(super) stop: &'a StopCell,
    /// How long the process may rest in a call when the end was asked for, and after which a person is told otherwise.
    pub(super) patience: Span,
    /// Tells a person.
    pub(super) warn: &'a dyn Fn(&str),
}

impl Wait<'_> {
    fn is_stopped(&self) -> bool {
        self.stop.is_set()
    }
}

/// Why there is no answer.
#[derive(Debug)]
pub(super) enum NoAnswer {
    /// The process waits in a call that does not return, and why that is thought.
    Hangs(String),
    /// Anything else.
    Failed(Failure),
}

/// For how long a process does nothing. One that waits for a disk also rests, so that rest alone says little.
pub(super) struct ActivityWatch {
    clock: Clock,
    process: u32,
    seen: Option<Activity>,
    since: Instant,
    has_warned: bool,
}

impl ActivityWatch {
    pub(super) fn begin(process: u32) -> ActivityWatch {
        let clock = Clock::start();
        let since = clock.now();
        ActivityWatch { clock, process, seen: Activity::of_process(process), since, has_warned: false }
    }

    /// Whether it has done nothing for this long.
    pub(super) fn has_rested_for(&mut self, time: Span) -> bool {
        let (seen, now) = (Activity::of_process(self.process), self.clock.now());
        // What the kernel does not tell is no rest.
        if seen != self.seen || seen.is_none() {
            (self.seen, self.since, self.has_warned) = (seen, now, false);
        }
        now.since(self.since) > time
    }

    /// What a person is told, once for each time that it does nothing for this long.
    pub(super) fn new_warning(&mut self, time: Span) -> Option<String> {
        let rests = !self.has_warned && self.has_rested_for(time);
        self.has_warned |= rests;
        rests.then(|| {
            format!(
                "the process {}, which makes the calls on the directory, has waited in a call for {time}; Ctrl-C ends the run",
                self.process
            )
        })
    }
}

fn out_of_turn(answer: &Answer) -> Failure {
    Failure::internal_bug(format!("the process that makes the calls said {answer:?} out of turn"))
}
