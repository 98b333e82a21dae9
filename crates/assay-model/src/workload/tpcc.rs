//! `model = "tpcc"`: transactions on a database, derived from TPC-C.

use super::common::workload_file;
use super::definition::{self, Application, Timing, Workload};
use super::source::Source;
use crate::plan::{Stream, WarmUp};
use crate::tpcc::Mix;
use crate::tpcc::load::{Homes, Load, Mode, Pace, Verify};
use assay_base::{Fault, Rate, Span};
use serde::Deserialize;
use toml::Spanned;

/// Measured time, unless the file says otherwise.
const DURATION: Span = Span::from_secs(600);
/// Time before it: the first transactions meet an empty cache.
const WARM_UP: Span = Span::from_secs(60);
/// Length of the judging windows, unless the file says otherwise.
const SLICE: Span = Span::from_secs(60);
/// The schedule may fall this far behind: a database that says nothing for as long is stuck.
const MAX_LAG: Span = Span::from_secs(30);
/// What waits at the end of a window is on its way, if the schedule takes no longer than this for it: a fifth of what
/// the shortest criterion allows a response. A database has few sessions, and a transaction that finds all of them busy
/// for some milliseconds is none that the database did not take.
const BACKLOG: Span = Span::from_secs(1);
/// The most sessions: each is a thread here and a connection there.
const MOST_SESSIONS: u32 = 4096;

workload_file! {
    struct File {
        rate: Option<Spanned<Rate>>,
        sessions: Option<Spanned<u32>>,
        pacing: Option<Spanned<Pacing>>,
        mix: Option<Mix>,
        home: Option<Homes>,
        mode: Option<Mode>,
    }
}

/// The only pacing that has a name.
#[derive(Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Pacing {
    Keyed,
}

pub(super) fn read_tpcc(source: Source<'_>) -> Result<Workload, Fault> {
    let mut file: File = source.parse_file()?;
    let load = read_load(source, &file)?;
    for (there, key, what) in [
        (
            file.in_flight_bound.is_some(),
            "in_flight_bound",
            "what is in flight on a database are its sessions: write sessions",
        ),
        (
            file.verify.is_some(),
            "verify",
            "there are no blocks to verify: what a run leaves is checked by conditions; remove verify",
        ),
        (file.cache.is_some(), "cache", "a database has a cache of its own: remove cache"),
        (
            file.scheduler.is_some(),
            "scheduler",
            "a database is not a block device: set the scheduler of its disk yourself, and remove scheduler",
        ),
    ] {
        if there {
            return Err(source.fault_of(key, what));
        }
    }
    let streams = load.kind_streams();
    let streams = streams.ok_or_else(|| {
        Fault::for_file(source.file, "the rate is too large to be represented", "write a smaller rate")
    })?;
    let workload = Workload {
        timing: Timing {
            duration: DURATION,
            warm_up: WarmUp::For(WARM_UP),
            slice: SLICE,
            max_lag: MAX_LAG,
            backlog_allowed: BACKLOG,
            ..Timing::default()
        },
        derivation: load.derivation_steps(),
        criteria: Load::standard_criteria(SLICE),
        notes: load_notes(&load),
        load: of_sessions(streams, load),
        ..Workload::new(source.file, "tpcc", Vec::new(), |_| Vec::new())
    };
    workload.with_common_keys(source, file.common())
}

fn read_load(source: Source<'_>, file: &File) -> Result<Load, Fault> {
    let keyed = file.pacing.is_some();
    if let Some(rate) = &file.rate {
        if keyed {
            let what = "people at terminals have no rate: it follows from how long they think and type";
            return Err(source.fault_at(rate.span(), what, "remove rate, or remove pacing"));
        }
        if rate.get_ref().is_zero() {
            return Err(source.fault_at(rate.span(), "a rate of 0 asks for nothing", "write for example \"20/s\""));
        }
    }
    if let Some(sessions) = &file.sessions {
        if keyed {
            let what = "with keyed pacing there are 10 terminals for each warehouse of the database";
            return Err(source.fault_at(sessions.span(), what, "remove sessions, or remove pacing"));
        }
        if !(1..=MOST_SESSIONS).contains(sessions.get_ref()) {
            let what = format!("{} is not a number of sessions", sessions.get_ref());
            return Err(source.fault_at(sessions.span(), what, format!("write 1 to {MOST_SESSIONS}")));
        }
    }
    let pace = match (&file.rate, &file.sessions) {
        _ if keyed => Pace::Keyed,
        (Some(rate), _) => Pace::Open { rate: *rate.get_ref() },
        (None, Some(_)) => Pace::Closed,
        (None, None) => Pace::at_1x(),
    };
    Ok(Load {
        mix: file.mix.unwrap_or_default(),
        home: file.home.unwrap_or_default(),
        mode: file.mode.unwrap_or_default(),
        pace,
        sessions: file.sessions.as_ref().map(|it| *it.get_ref()),
        warehouses: None,
        verify: Verify::No,
    })
}

fn load_notes(load: &Load) -> Vec<String> {
    match load.pace {
        Pace::PerWarehouse { .. } => {
            vec!["1x is the rate of ten terminals for each warehouse of the database".to_owned()]
        }
        Pace::Keyed => vec!["a delivery is queued: the terminal goes on without waiting for it".to_owned()],
        Pace::Open { .. } | Pace::Closed => Vec::new(),
    }
}

/// The streams of a load on a database, which share its sessions.
fn of_sessions(streams: Vec<Stream>, load: Load) -> definition::Load {
    let in_flight_bound = load.session_count();
    definition::Load {
        in_flight_bound,
        application: Some(Application::Tpcc(load)),
        ..definition::Load::from_streams(streams)
    }
}

impl Workload {
    /// The same load on a database with this many warehouses, of a kind that works best with `usual` sessions where the
    /// workload names no number. `None` if the rates do not fit.
    pub fn on_database(&self, warehouses: Option<u32>, usual: u32) -> Option<Workload> {
        let Some(load) = self.load.as_tpcc() else { return Some(self.clone()) };
        let mut load = Load { warehouses, ..load.clone() };
        if load.sessions.is_none() {
            load.sessions = Some(load.terminal_count().map_or(usual, |terminals| terminals.min(usual)));
        }
        let streams = load.kind_streams()?;
        Some(Workload { load: of_sessions(streams, load), ..self.clone() })
    }

    /// The same as a closed loop of this many sessions, which asks as fast as it is answered. `None` where the workload
    /// does not drive a database.
    pub fn with_sessions(&self, sessions: u32) -> Option<Workload> {
        let load = Load { pace: Pace::Closed, sessions: Some(sessions), ..self.load.as_tpcc()?.clone() };
        let streams = load.kind_streams()?;
        let derivation = load.derivation_steps();
        Some(Workload { load: of_sessions(streams, load), derivation, ..self.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Adjust, read_workload};
    use super::*;
    use assay_base::Multiple;

    fn workload(keys: &str) -> Workload {
        read_workload("shop.toml", &format!("model = \"tpcc\"\n{keys}")).map_err(|e| e.to_string()).unwrap()
    }

    fn plan(workload: &Workload, load: u64) -> crate::Plan {
        let adjust = Adjust { load: Some(Multiple::from_whole(load)), targets: 1, ..Adjust::default() };
        workload.make_plan(&adjust).unwrap()
    }

    #[test]
    fn a_rate_is_offered_whatever_is_answered_and_load_multiplies_it() {
        let of_file = plan(&workload("rate = \"20/s\""), 3);
        assert_eq!(of_file.load.tpcc().unwrap().transaction_rate(), Some(Rate::per_second(60)));
        assert_eq!(of_file.load.streams[0].arrival.mean_rate(), Some(Rate::per_second(27)));
        let usual = workload("").on_database(Some(5), 4).unwrap();
        let usual = plan(&usual, 2);
        assert_eq!(usual.load.tpcc().unwrap().transaction_rate(), Rate::from_ratio(643 * 10, 1350));
        assert_eq!((usual.load.in_flight_bound, usual.criteria.len()), (4, 5));
        assert_eq!(
            plan(&workload("rate = \"20/s\"\nsessions = 9").on_database(Some(1), 4).unwrap(), 1).load.in_flight_bound,
            9
        );
        let told = usual.criteria.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(told[0], "new-order response over 5s at most 10% per 1min");
        assert_eq!(told[3], "delivery response over 80s at most 10% per 1min");
    }

    #[test]
    fn sessions_alone_are_a_closed_loop_and_terminals_come_with_the_warehouses() {
        let closed = workload("sessions = 8\nmix = \"hammerdb\"\nhome = \"session\"\nmode = \"client\"");
        let load = closed.load.as_tpcc().unwrap();
        assert_eq!(
            (load.pace, load.mix, load.home, load.mode),
            (Pace::Closed, Mix::HammerDb, Homes::Session, Mode::Client)
        );
        assert_eq!(closed.on_database(Some(2), 4).unwrap().load.in_flight_bound, 8);
        let adjust = Adjust { load: Some(Multiple::from_whole(2)), targets: 1, ..Adjust::default() };
        assert!(closed.make_plan(&adjust).unwrap_err().contains("closed loop"));
        let keyed = workload("pacing = \"keyed\"").on_database(Some(3), 4).unwrap();
        assert_eq!(keyed.load.as_tpcc().as_ref().unwrap().terminal_count(), Some(30));
        assert_eq!(keyed.load.in_flight_bound, 4);
        let three = workload("rate = \"20/s\"").with_sessions(3).unwrap();
        assert_eq!((three.load.as_tpcc().unwrap().pace, three.load.in_flight_bound), (Pace::Closed, 3));
        assert!(three.load.streams.iter().all(|stream| stream.arrival.mean_rate().is_none()));
    }

    #[test]
    fn what_contradicts_itself_is_refused_with_place_and_remedy() {
        for (keys, line, says) in [
            ("pacing = \"keyed\"\nrate = \"20/s\"", 3, "remove rate, or remove pacing"),
            ("pacing = \"keyed\"\nsessions = 4", 3, "10 terminals for each warehouse"),
            ("rate = \"0/s\"", 2, "asks for nothing"),
            ("sessions = 0", 2, "write 1 to 4096"),
            ("sessions = 5000", 2, "write 1 to 4096"),
            ("in_flight_bound = 4", 2, "write sessions"),
            ("verify = true", 2, "remove verify"),
            ("scheduler = \"none\"", 2, "remove scheduler"),
            ("cache = { size = \"1GiB\" }", 2, "remove cache"),
            ("mix = \"cards\"", 2, "deck"),
            ("pacing = \"open\"", 2, "keyed"),
            ("sesions = 3", 2, "sessions"),
        ] {
            let faults = read_workload("shop.toml", &format!("model = \"tpcc\"\n{keys}")).unwrap_err();
            let fault = &faults.in_file_order()[0];
            assert!(fault.line == line && fault.to_string().contains(says), "{keys}: {fault}");
        }
    }
}
