//! The volumes of a trace: how many requests each has, and everything of one of them.

use assay_base::Direction;
use assay_model::observed::{Asked, Observed, Request};
use std::collections::BTreeMap;

/// Upper bound on the volumes that are told apart.
const VOLUMES_MAX: usize = 4096;
/// The longest name of a volume.
const NAME_MAX: usize = 64;

/// A request of a trace.
#[derive(Clone, Copy, Debug)]
pub(super) struct TracedRequest<'a> {
    pub volume: &'a str,
    pub direction: Direction,
    /// Nanoseconds.
    pub at: u64,
    /// Bytes.
    pub place: u64,
    pub bytes: u64,
}

/// The volume that is counted.
#[derive(Clone, Debug)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Its requests.
    pub observed: Observed,
    /// The end of the trace, in nanoseconds since its begin. It is that of all volumes: one that did little was traced
    /// for as long as the others.
    pub end: u64,
}

impl Volume {
    /// For how long it was traced.
    pub fn seconds(&self) -> f64 {
        self.end as f64 / 1e9
    }
}

/// See the module.
#[derive(Debug)]
pub struct Volumes {
    wanted: Option<String>,
    speed: f64,
    requests: BTreeMap<String, u64>,
    counted: Option<Volume>,
    began: Option<u64>,
    now: u64,
}

impl Volumes {
    pub(super) fn new(wanted: Option<&str>, speed: f64) -> Volumes {
        Volumes {
            wanted: wanted.map(str::to_owned),
            speed,
            requests: BTreeMap::new(),
            counted: None,
            began: None,
            now: 0,
        }
    }

    pub(super) fn add_request(&mut self, request: &TracedRequest<'_>) {
        let name = &request.volume[..request.volume.len().min(NAME_MAX)];
        if let Some(requests) = self.requests.get_mut(name) {
            *requests += 1;
        } else if self.requests.len() < VOLUMES_MAX {
            self.requests.insert(name.to_owned(), 1);
        }
        let began = *self.began.get_or_insert(request.at);
        // Requests that are out of order come now.
        let since = request.at.saturating_sub(began) as f64 / self.speed;
        self.now = self.now.max(since as u64);
        let is_wanted = match (&self.wanted, &self.counted) {
            (Some(wanted), _) => wanted == name,
            (None, Some(counted)) => counted.name == name,
            (None, None) => true,
        };
        if is_wanted {
            let new = || Volume { name: name.to_owned(), observed: Observed::default(), end: 0 };
            let asked = Asked::Data(request.direction);
            let (place, bytes) = (Some(request.place), request.bytes);
            let counted = Request { asked, at: Some(self.now), place, bytes, durable: false };
            self.counted.get_or_insert_with(new).observed.step(&counted, Some(0));
        }
        if let Some(counted) = &mut self.counted {
            counted.end = self.now;
        }
    }

    /// The volume that was counted.
    pub fn counted(&self) -> Option<&Volume> {
        self.counted.as_ref()
    }

    /// The volumes with the most requests, at most so many.
    pub fn busiest(&self, most: usize) -> Vec<(String, u64)> {
        let mut all: Vec<(String, u64)> = self.requests.iter().map(|(name, count)| (name.clone(), *count)).collect();
        all.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        all.truncate(most);
        all
    }
}
