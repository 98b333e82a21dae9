//! The stream that keeps a page up to date: server-sent events, each with the number of the line of the log that it is of.
//!
//! A reader gets everything once (`snapshot`), then each interval (`interval`), what the judge says whenever that is new (`histograms`),
//! what happened (`event`), and the end (`end`). Nothing is kept for a reader that is slow: it is told what is newest when it reads on,
//! and where it missed more than a few intervals, everything once more.

use crate::published::Published;
use axum::body::Bytes;
use futures_util::stream::{self, Stream};
use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// After this time without anything to say a comment is sent, so that nobody in between ends the connection.
const SIGN_OF_LIFE: Duration = Duration::from_secs(15);
/// So many intervals at most are sent one by one; a reader that missed more gets everything once more.
const ONE_BY_ONE: usize = 10;

/// What was sent to a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sent {
    /// Of which of the runs; 0 before anything.
    run: usize,
    /// Of which segment: the line of its header.
    head: Option<u64>,
    /// Up to which line.
    seq: u64,
    /// How many lines there were.
    lines: u64,
    /// Up to which line the judge's figures went.
    judged: Option<u64>,
    /// Whether that was everything at least once.
    begun: bool,
    /// Whether the log of the run had ended, and whether it was the end of everything.
    ended: bool,
    over: bool,
}

struct Reader {
    states: watch::Receiver<Arc<Published>>,
    sent: Sent,
    /// What is being sent: of one state at most.
    frames: VecDeque<Bytes>,
}

/// The stream for one reader.
pub(crate) fn stream_for_reader(
    mut states: watch::Receiver<Arc<Published>>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    states.mark_changed();
    stream::unfold(Reader { states, sent: Sent::default(), frames: VecDeque::new() }, next_frame)
}

async fn next_frame(mut reader: Reader) -> Option<(Result<Bytes, Infallible>, Reader)> {
    loop {
        if let Some(frame) = reader.frames.pop_front() {
            return Some((Ok(frame), reader));
        }
        if reader.sent.over {
            return None;
        }
        match tokio::time::timeout(SIGN_OF_LIFE, reader.states.changed()).await {
            Err(_) => return Some((Ok(Bytes::from_static(b": nothing new\n\n")), reader)),
            Ok(Err(_)) => return None,
            Ok(Ok(())) => {
                let state = reader.states.borrow_and_update().clone();
                reader.frames = frames_for(&mut reader.sent, &state).into();
            }
        }
    }
}

/// What a reader that got `sent` has to be told of `state`.
pub(crate) fn frames_for(sent: &mut Sent, state: &Published) -> Vec<Bytes> {
    let mut frames = Vec::new();
    let seq = state.seq;
    let ended = state.standing_in_words().ended;
    let head = state.head.as_ref().map(|head| head.seq);
    let judged = state.judged.as_ref().map(|judged| judged.seq);
    let new_moments = || state.recent.iter().filter(|moment| !sent.begun || moment.seq > sent.seq);
    let kept_up = state.recent.front().is_none_or(|oldest| oldest.seq <= sent.seq) || state.recent.len() <= ONE_BY_ONE;
    if !sent.begun
        || sent.run != state.runs.len()
        || sent.head != head
        || new_moments().count() > ONE_BY_ONE
        || !kept_up
    {
        frames.push(event_frame("snapshot", seq, &state.snapshot_text()));
    } else if state.lines > sent.lines || ended != sent.ended {
        let standing = as_json(&state.standing_in_words());
        let new_events = state.events.iter().filter(|event| event.seq > sent.seq);
        frames.extend(new_events.map(|event| event_frame("event", event.seq, &as_json(event.as_ref()))));
        for moment in new_moments() {
            let data = format!("{{\"standing\":{standing},\"moment\":{}}}", moment.json_text());
            frames.push(event_frame("interval", moment.seq, &data));
        }
        if judged != sent.judged || ended != sent.ended {
            let (figures, newest) = state
                .judged
                .as_ref()
                .map_or(("null", "null"), |judged| (judged.figures_text(), judged.newest_lines_text()));
            let runs = as_json(&state.runs);
            let data =
                format!("{{\"standing\":{standing},\"runs\":{runs},\"judged\":{figures},\"newest_lines\":{newest}}}");
            frames.push(event_frame("histograms", seq, &data));
        }
    }
    if state.over {
        let data =
            format!("{{\"standing\":{},\"runs\":{}}}", as_json(&state.standing_in_words()), as_json(&state.runs));
        frames.push(event_frame("end", seq, &data));
    }
    *sent = Sent { run: state.runs.len(), head, seq, lines: state.lines, judged, begun: true, ended, over: state.over };
    frames
}

fn as_json<T: serde::Serialize>(data: &T) -> String {
    serde_json::to_string(data).unwrap_or_else(|_| "null".to_owned())
}

/// One event. JSON has no line feed of its own.
fn event_frame(kind: &str, seq: u64, data: &str) -> Bytes {
    let mut text = String::with_capacity(data.len() + 64);
    // Writing to a text never fails.
    let _ = write!(text, "event: {kind}\nid: {seq}\ndata: {data}\n\n");
    Bytes::from(text)
}
