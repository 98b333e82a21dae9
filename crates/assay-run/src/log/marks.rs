//! Marks that another process asks for while a run goes on, as the run takes them.
//!
//! A log has one writer. Whoever wants a mark leaves a request in the directory of the run, under a name that only one request can
//! have at a time, and the run looks for it when it has written an interval: it writes the mark itself, behind that interval, on its
//! own time line. To take a request is to remove its file, which succeeds for one of both sides only; so a request that was
//! withdrawn is never taken, and one that was taken is in the log or the run has ended.

use crate::files;
use assay_base::MarkedPart;
use assay_base::text::printable_char;
use assay_record::{Event, EventKind, MARK_ID, PART};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The name of a request in the directory of a run.
pub(crate) const REQUEST: &str = "mark.pending";
/// The largest request.
pub(crate) const LARGEST_REQUEST: u64 = 4 << 10;
/// The longest text of a mark, in characters.
const LONGEST_TEXT: usize = 200;
/// The most marks of a run: each begins a part, and a result lists all of them.
const MOST_MARKS: usize = 100;

/// A mark that somebody asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MarkRequest {
    /// By what whoever asks knows it again in the log.
    pub(crate) id: String,
    /// What it says.
    pub(crate) text: String,
    /// What the part shows that begins with it; otherwise what usually follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) part: Option<MarkedPart>,
}

impl MarkRequest {
    /// What is wrong with its text or its number; nothing where it can be taken.
    pub(crate) fn fault(&self) -> Option<String> {
        let is_plain = |text: &str| text.chars().all(|c| printable_char(c) == c);
        if self.text.trim().is_empty() {
            Some("a mark without a text says nothing".to_owned())
        } else if self.text.chars().count() > LONGEST_TEXT {
            Some(format!("the text of a mark has at most {LONGEST_TEXT} characters"))
        } else if !is_plain(&self.text) || !is_plain(&self.id) || self.id.len() > LONGEST_TEXT {
            Some("the text of a mark is one line, without control characters".to_owned())
        } else {
            None
        }
    }
}

/// Which marks a log has.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct MarksSoFar {
    /// How many.
    number: usize,
    /// The kind of the part that the last one begins.
    present: MarkedPart,
}

impl MarksSoFar {
    /// Counts an event, if it is a mark.
    pub(crate) fn count_event(&mut self, event: &Event) {
        if event.what == EventKind::Mark {
            self.number += 1;
            let named = event.details.get(PART).and_then(|part| part.parse().ok());
            self.present = named.unwrap_or(self.present);
        }
    }
}

/// Where requests for marks of one run arrive.
#[derive(Debug)]
pub(crate) struct Mailbox {
    path: PathBuf,
    so_far: MarksSoFar,
    /// Whether it was said what stands in the place of a request.
    obstacle_said: bool,
}

/// What a look for requests brings.
#[derive(Debug, PartialEq)]
pub(crate) enum Mail {
    /// Nobody asks for a mark.
    Nothing,
    /// A mark, for the log.
    Mark(Event),
    /// Something that the user must know, said once.
    Obstacle(String),
}

impl Mailbox {
    /// The mailbox beside a log that has these marks.
    pub(crate) fn beside_log(log: &Path, so_far: MarksSoFar) -> Mailbox {
        Mailbox { path: log.with_file_name(REQUEST), so_far, obstacle_said: false }
    }

    /// Takes a request, if one is there, as a mark at `at_ns` on the run's time line.
    pub(crate) fn take_request(&mut self, at_ns: u64) -> Mail {
        match self.read_request() {
            Ok(None) => {
                self.obstacle_said = false;
                Mail::Nothing
            }
            Err(why) => self.note_obstacle(&why),
            Ok(Some(_)) if self.so_far.number >= MOST_MARKS => {
                self.note_obstacle(&format!("a run takes at most {MOST_MARKS} marks"))
            }
            Ok(Some(request)) => match files::take_away(&self.path) {
                Ok(true) => Mail::Mark(self.mark_from(request, at_ns)),
                // It was withdrawn just now.
                Ok(false) => Mail::Nothing,
                Err(why) => self.note_obstacle(&why.to_string()),
            },
        }
    }

    /// What stands there, if it is a request of which something can be made.
    fn read_request(&self) -> Result<Option<MarkRequest>, String> {
        let bytes = match files::read_own_file(&self.path, LARGEST_REQUEST) {
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|e| e.to_string())?,
        };
        let request: MarkRequest = serde_json::from_slice(&bytes).map_err(|_| "it is no request for a mark")?;
        request.fault().map_or(Ok(Some(request)), Err)
    }

    fn note_obstacle(&mut self, why: &str) -> Mail {
        if std::mem::replace(&mut self.obstacle_said, true) {
            return Mail::Nothing;
        }
        Mail::Obstacle(format!("no mark is taken from {}: {why}", crate::failure::escaped_path(&self.path)))
    }

    fn mark_from(&mut self, request: MarkRequest, at_ns: u64) -> Event {
        let MarkRequest { id, text, part } = request;
        let part = part.unwrap_or_else(|| self.so_far.present.usual_next());
        let details = [(PART.to_owned(), part.to_string()), (MARK_ID.to_owned(), id)].into();
        let event = Event { at_ns, what: EventKind::Mark, text, details };
        self.so_far.count_event(&event);
        event
    }

    /// Removes a request that nobody has taken before the run was interrupted: who asked for it was told so. Returns what it says.
    pub(crate) fn give_up_leftover(&self) -> Option<String> {
        let request = self.read_request().ok().flatten()?;
        let taken = files::take_away(&self.path).unwrap_or(false);
        taken.then_some(request.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(text: &str, part: Option<MarkedPart>) -> Vec<u8> {
        serde_json::to_vec(&MarkRequest { id: "7-1".into(), text: text.into(), part }).unwrap()
    }

    /// The part of the mark that was taken, if one was.
    fn taken(mail: Mail) -> Option<(String, String, u64)> {
        match mail {
            Mail::Mark(event) => Some((event.text.clone(), event.details[PART].clone(), event.at_ns)),
            _ => None,
        }
    }

    #[test]
    fn a_request_is_taken_once_and_the_parts_follow_each_other() {
        let dir = tempfile::tempdir().unwrap();
        let mut mailbox = Mailbox::beside_log(&dir.path().join("run.jsonl"), MarksSoFar::default());
        for (at_ns, (asked, part)) in
            [(None, "disturbed"), (None, "recovered"), (Some(MarkedPart::Healthy), "healthy"), (None, "disturbed")]
                .into_iter()
                .enumerate()
        {
            assert_eq!(mailbox.take_request(0), Mail::Nothing);
            std::fs::write(dir.path().join(REQUEST), request("a text", asked)).unwrap();
            let expected = Some(("a text".to_owned(), part.to_owned(), at_ns as u64));
            assert_eq!(taken(mailbox.take_request(at_ns as u64)), expected);
            assert!(!dir.path().join(REQUEST).exists());
        }
    }

    #[test]
    fn what_is_no_request_stays_and_is_said_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(REQUEST);
        let mut mailbox = Mailbox::beside_log(&dir.path().join("run.jsonl"), MarksSoFar::default());
        let long = "x".repeat(LONGEST_TEXT + 1);
        let large = vec![b' '; LARGEST_REQUEST as usize + 1];
        let texts = ["", "  ", "two\nlines", "\u{1b}[2J", "turned\u{202e}", &long].map(|text| request(text, None));
        for bytes in texts.into_iter().chain([b"{}".to_vec(), b"x".to_vec(), large]) {
            std::fs::write(&path, &bytes).unwrap();
            assert!(matches!(mailbox.take_request(1), Mail::Obstacle(_)), "{:?}", String::from_utf8_lossy(&bytes));
            assert_eq!(mailbox.take_request(2), Mail::Nothing, "it is said once");
            assert_eq!(std::fs::read(&path).unwrap(), bytes, "and stays");
            std::fs::remove_file(&path).unwrap();
            assert_eq!(mailbox.take_request(3), Mail::Nothing);
        }
        std::fs::write(dir.path().join("precious"), request("of somebody", None)).unwrap();
        std::os::unix::fs::symlink("precious", &path).unwrap();
        assert!(matches!(mailbox.take_request(4), Mail::Obstacle(why) if why.contains("symbolic link")));
        assert!(path.is_symlink() && dir.path().join("precious").exists());
    }

    #[test]
    fn marks_are_counted_over_interruptions_and_their_number_is_limited() {
        let dir = tempfile::tempdir().unwrap();
        let mark = Event {
            at_ns: 0,
            what: EventKind::Mark,
            text: "x".into(),
            details: [(PART.to_owned(), "disturbed".to_owned())].into(),
        };
        let mut so_far = MarksSoFar::default();
        (0..MOST_MARKS - 1).for_each(|_| so_far.count_event(&mark));
        so_far.count_event(&Event { what: EventKind::Warning, ..mark });
        let mut mailbox = Mailbox::beside_log(&dir.path().join("run.jsonl"), so_far);
        std::fs::write(dir.path().join(REQUEST), request("the last one", None)).unwrap();
        assert_eq!(taken(mailbox.take_request(5)).map(|mark| mark.1), Some("recovered".to_owned()));
        std::fs::write(dir.path().join(REQUEST), request("one too many", None)).unwrap();
        assert!(matches!(mailbox.take_request(6), Mail::Obstacle(why) if why.contains("at most 100 marks")));
        assert_eq!(mailbox.give_up_leftover().as_deref(), Some("one too many"));
        assert_eq!(mailbox.give_up_leftover(), None);
    }
}
