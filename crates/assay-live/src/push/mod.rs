//! Sends what each state comes to to a receiver of OpenTelemetry's metrics (OTLP over HTTP, protobuf), on the thread that serves.
//!
//! Counters are the sums since the run began, so that a message that is lost loses no operation: the next one has it. `message` makes
//! one, `queue` keeps those that nobody has taken yet, `post` hands one over. A receiver that is slow, away or silent costs memory up to
//! a bound, and nothing else.

mod destination;
mod message;
mod post;
mod queue;

use crate::published::Published;
use message::message_for;
use post::{Answer, post_message};
use queue::{Pause, Queue};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Notify, watch};

pub use destination::{Destination, WallTime};

/// How long a receiver may take for a message.
const ANSWER_TIME: Duration = Duration::from_secs(10);
/// How long what still waits may take when everything is over.
const LAST_TIME: Duration = Duration::from_secs(10);

/// A destination with what else is needed to push there.
pub struct Push {
    /// Where to.
    pub destination: Destination,
    /// The time of day.
    pub wall_time: WallTime,
    /// Tells a person that the receiver does not take messages; once each time that this begins.
    pub tell: fn(&str),
}

/// How many messages were dropped.
#[derive(Clone, Debug, Default)]
pub(crate) struct Dropped(Arc<AtomicU64>);

impl Dropped {
    /// The number by now.
    pub(crate) fn count(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }
}

/// What the two sides share.
#[derive(Clone, Default)]
struct Waiting {
    queue: Rc<RefCell<Queue>>,
    came: Rc<Notify>,
    went: Rc<Notify>,
}

/// Pushes states until it is dropped. It ends by itself when nothing more will come and everything was sent.
pub(crate) async fn push_states(push: Push, states: watch::Receiver<Arc<Published>>, dropped: Dropped) {
    let waiting = Waiting::default();
    tokio::select! {
        () = queue_states(&push, states, &waiting, &dropped) => {}
        () = send_messages(&push, &waiting, &dropped) => {}
    }
}

/// Makes a message of each state, and waits at the end until all were sent, for some time.
async fn queue_states(push: &Push, mut states: watch::Receiver<Arc<Published>>, waiting: &Waiting, dropped: &Dropped) {
    states.mark_changed();
    // Of which run, up to which line, with which certain verdict the last message was.
    let mut newest = (0, 0, None);
    while states.changed().await.is_ok() {
        let state = states.borrow_and_update().clone();
        let own = (state.runs.len(), state.lines, state.standing.verdict());
        if state.head.is_some() && newest != own {
            newest = own;
            let message = message_for(Arc::clone(&state), dropped.count(), push.wall_time);
            dropped.add(waiting.queue.borrow_mut().add_message(message));
            waiting.came.notify_one();
        }
        if state.over {
            break;
        }
    }
    while !waiting.queue.borrow().is_empty() {
        waiting.went.notified().await;
    }
}

async fn send_messages(push: &Push, waiting: &Waiting, dropped: &Dropped) {
    let mut pause = Pause::default();
    loop {
        let Some((number, message)) = waiting.queue.borrow().oldest() else {
            waiting.came.notified().await;
            continue;
        };
        let sent = tokio::time::timeout(ANSWER_TIME, post_message(&push.destination, message)).await;
        match sent.unwrap_or_else(|_| Answer::Later(format!("no answer within {} s", ANSWER_TIME.as_secs()))) {
            Answer::Taken => {
                waiting.queue.borrow_mut().remove_message(number);
                pause = Pause::default();
            }
            Answer::Refused(why) => {
                waiting.queue.borrow_mut().remove_message(number);
                dropped.add(1);
                tell_first_time(push, &mut pause, &format!("{why}; such messages are dropped, and counted"));
            }
            Answer::Later(why) => {
                tell_first_time(push, &mut pause, &format!("{why}; it is tried again and again"));
                tokio::time::sleep(pause.next_pause()).await;
            }
        }
        waiting.went.notify_one();
    }
}

/// Says what is wrong where it was not said since the receiver took a message.
fn tell_first_time(push: &Push, pause: &mut Pause, why: &str) {
    if !pause.was_told {
        pause.was_told = true;
        let Destination { host, port, path } = &push.destination;
        (push.tell)(&format!("warning: metrics are not taken by http://{host}:{port}{path}: {why}"));
    }
}

/// How long what still waits may take when everything is over.
pub(crate) async fn finish_within_time(pushing: impl Future<Output = ()>) {
    let _ = tokio::time::timeout(LAST_TIME, pushing).await;
}
