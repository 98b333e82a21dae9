//! The workloads of a suite of mounts.

use crate::failure::{Failure, one_line};
use crate::procedure::pace::Pace;
use crate::workloads;
use assay_base::Span;
use assay_model::workload::Workload;

/// What runs where the user names nothing: what is waited for at a commit, a mail store, a file server, and compiling. They have
/// no phases, so that their length can be chosen, and together they use most operations.
const USUAL: [&str; 4] = ["commit", "mailspool", "fileserver", "build"];
/// How long each of them runs where the user says nothing.
const USUAL_LENGTH: Span = Span::from_secs(20);

/// A workload, and the pace of its runs.
#[derive(Clone, Debug)]
pub struct ChosenWorkload {
    /// The workload.
    pub workload: Workload,
    /// The pace.
    pub pace: Pace,
}

impl ChosenWorkload {
    /// The workloads with these names, or the usual ones; each runs for as long as `pace` says, or else for 20 s. The phases of one
    /// that has some keep their own lengths.
    ///
    /// # Errors
    /// Usage: a workload is given twice, or is not for directories. Workload: one cannot be read.
    pub fn find_all(names: &[String], pace: &Pace) -> Result<Vec<ChosenWorkload>, Failure> {
        let usual = USUAL.map(str::to_owned);
        let names = if names.is_empty() { &usual[..] } else { names };
        let mut all: Vec<ChosenWorkload> = Vec::new();
        for name in names {
            let workload = workloads::find_workload(name)?;
            if workload.load.as_files().is_none() {
                return Err(Failure::bad_usage(format!(
                    "{} is not for directories: choose workloads with model = \"files\", such as {}",
                    one_line(name),
                    USUAL.join(", ")
                )));
            }
            if all.iter().any(|known| known.workload.name == workload.name) {
                return Err(Failure::bad_usage(format!("the workload {} is given twice", one_line(&workload.name))));
            }
            let pace = pace_of(&workload, pace);
            all.push(ChosenWorkload { workload, pace });
        }
        Ok(all)
    }

    /// The workload of its first step: what a target is opened for.
    pub fn first_step(&self) -> Workload {
        self.workload.in_steps().into_iter().next().unwrap_or_else(|| self.workload.clone())
    }

    /// How long a run measures at most.
    pub fn length(&self) -> Span {
        let mut length = Span::ZERO;
        for step in self.workload.in_steps() {
            let own = step.timing.duration;
            length = length
                + match self.pace.measure {
                    // Of a phase it is a bound.
                    Some(most) if !self.workload.timing.steps.is_empty() => own.min(most),
                    asked => asked.unwrap_or(own),
                };
        }
        length
    }

    pub(super) fn length_in_words(&self) -> String {
        match (self.workload.timing.steps.len(), self.pace.measure) {
            (0, _) => self.length().to_string(),
            (phases, None) => format!("{phases} phases"),
            (phases, Some(each)) => format!("{phases} phases of at most {each}"),
        }
    }
}

/// A slice is at most as long as the run.
fn pace_of(workload: &Workload, asked: &Pace) -> Pace {
    if !workload.timing.steps.is_empty() {
        return asked.clone();
    }
    let measure = asked.measure.unwrap_or(USUAL_LENGTH.min(workload.timing.duration));
    let slice = asked.slice.unwrap_or(workload.timing.slice.min(measure));
    Pace { measure: Some(measure), slice: Some(slice), ..asked.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(names: &[&str], pace: &Pace) -> Result<Vec<ChosenWorkload>, Failure> {
        ChosenWorkload::find_all(&names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>(), pace)
    }

    #[test]
    fn the_usual_workloads_are_shipped_and_short() {
        let all = chosen(&[], &Pace::default()).unwrap();
        assert_eq!(all.iter().map(|one| one.workload.name.as_str()).collect::<Vec<_>>(), USUAL);
        assert!(all.iter().all(|one| one.length() == USUAL_LENGTH && one.length_in_words() == "20s"));
    }

    #[test]
    fn a_length_is_for_all_and_phases_keep_their_own_without_it() {
        let short = Pace { measure: Some(Span::from_secs(2)), ..Pace::default() };
        let all = chosen(&["commit", "metadata"], &short).unwrap();
        assert_eq!((all[0].length(), all[0].pace.slice), (Span::from_secs(2), Some(Span::from_secs(2))));
        assert!(all[1].length_in_words().ends_with("phases of at most 2s"), "{}", all[1].length_in_words());
        let own = chosen(&["metadata"], &Pace::default()).unwrap();
        assert!(own[0].pace.measure.is_none() && own[0].length() > Span::from_secs(60));
        assert!(own[0].first_step().timing.steps.is_empty());
    }

    #[test]
    fn what_is_not_for_directories_or_given_twice_is_refused() {
        for (names, says) in [
            (&["random-read"][..], "random-read is not for directories"),
            (&["commit", "commit"], "the workload commit is given twice"),
            (&["no-such-thing"], "no-such-thing"),
        ] {
            let failure = chosen(names, &Pace::default()).unwrap_err();
            assert!(failure.user_message().contains(says), "{}", failure.user_message());
        }
    }
}
