//! The load of a run, as a workload file describes it and as a plan keeps it: its pace, its mix, and how many sessions
//! carry it.

use super::mix::{Mix, TransactionKind};
use super::pacing::keying_time;
use crate::life::Life;
use crate::plan::{Arrival, Stream, Work};
use crate::profile::Derivation;
use assay_base::{Bound, Criterion, Measure, Multiple, Rate, Share, Span};
use serde::{Deserialize, Serialize};

/// Transactions per second and warehouse at 1x: ten terminals with the keying and mean think times of the standard, and
/// answers in no time. That is 12.86 new orders a minute (TPC-C 5.11, clause 4.1), which are 45 of 100 transactions:
/// 9/0.7 / 60 / 0.45 = 643/1350 to four digits.
const AT_1X: (u128, u128) = (643, 1350);

/// Terminals of a warehouse (TPC-C 5.11, clause 4.2.1: one for each district).
pub(crate) const TERMINALS: u32 = 10;

/// Sessions that carry an open loop, where neither the workload nor the kind of database says otherwise.
pub const SESSIONS: u32 = 32;

/// The load of transactions on a database.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Load {
    /// Which share each kind has.
    pub mix: Mix,
    /// Which warehouse a transaction is for.
    pub home: Homes,
    /// How a transaction is sent.
    pub mode: Mode,
    /// When transactions are wanted.
    pub pace: Pace,
    /// Upper bound on the sessions of the database; in a closed loop their number. Absent until the kind of database is
    /// known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions: Option<u32>,
    /// The warehouses of the database; absent until it was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warehouses: Option<u32>,
    /// What is kept of the commits that the database acknowledges.
    #[serde(default, skip_serializing_if = "Verify::is_no")]
    pub verify: Verify,
}

/// What is kept of the commits that a database acknowledges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verify {
    /// Nothing.
    #[default]
    No,
    /// All of them, in a ledger, with which the database is compared at the end and may be compared later.
    Ledger,
    /// The same, and somebody lets the server crash during the run: only what the database has kept is judged.
    Crash,
}

impl Verify {
    fn is_no(&self) -> bool {
        *self == Verify::No
    }
}

/// When transactions are wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pace {
    /// By a schedule, whatever happens: so many a second, over all kinds and the whole database.
    Open {
        /// At the load of the plan.
        rate: Rate,
    },
    /// By a schedule whose rate belongs to each warehouse.
    PerWarehouse {
        /// At the load of the plan.
        rate: Rate,
    },
    /// When a session has its answer.
    Closed,
    /// When the person at a terminal has thought about the answer and typed.
    Keyed,
}

/// Which warehouse a transaction is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Homes {
    /// Any, drawn for each transaction.
    #[default]
    All,
    /// That of its session, for the whole run.
    Session,
}

/// How a transaction is sent to the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One call of a procedure in the database, where the database has procedures.
    #[default]
    Procedures,
    /// Statement by statement.
    Client,
}

impl Pace {
    /// The rate at 1x: that of the standard's terminals, for each warehouse.
    pub fn at_1x() -> Pace {
        let rate = Rate::from_ratio(AT_1X.0, AT_1X.1).expect("two small numbers");
        Pace::PerWarehouse { rate }
    }

    fn scaled_by(self, load: Multiple) -> Option<Pace> {
        Some(match self {
            Pace::Open { rate } => Pace::Open { rate: load.scaled_rate(rate)? },
            Pace::PerWarehouse { rate } => Pace::PerWarehouse { rate: load.scaled_rate(rate)? },
            Pace::Closed | Pace::Keyed => self,
        })
    }
}

impl Load {
    /// The same at a multiple of its rate; `None` if that does not fit.
    pub fn scaled_by(&self, load: Multiple) -> Option<Load> {
        Some(Load { pace: self.pace.scaled_by(load)?, ..self.clone() })
    }

    /// The warehouses that rates and terminals are counted for: one, until the database was looked at.
    pub fn counted_warehouses(&self) -> u32 {
        self.warehouses.unwrap_or(1).max(1)
    }

    /// The number of terminals, where the load is paced by people at terminals.
    pub fn terminal_count(&self) -> Option<u32> {
        (self.pace == Pace::Keyed).then(|| self.counted_warehouses().saturating_mul(TERMINALS))
    }

    /// How many sessions of the database carry it.
    pub fn session_count(&self) -> u32 {
        let usual = match self.pace {
            Pace::Open { .. } | Pace::PerWarehouse { .. } | Pace::Closed => SESSIONS,
            Pace::Keyed => SESSIONS.min(self.counted_warehouses().saturating_mul(TERMINALS)),
        };
        self.sessions.unwrap_or(usual)
    }

    /// Transactions per second over the whole database; `None` where their number follows from the answers, or does not
    /// fit.
    pub fn transaction_rate(&self) -> Option<Rate> {
        match self.pace {
            Pace::Open { rate } => Some(rate),
            Pace::PerWarehouse { rate } => rate.scaled_by(self.counted_warehouses().into(), 1),
            Pace::Closed | Pace::Keyed => None,
        }
    }

    /// New orders a minute that the rate asks for; the hundredth of them that is rolled back is not among them.
    pub fn new_orders_a_minute(&self) -> Option<f64> {
        let share = self.mix.kind_weights()[TransactionKind::NewOrder as usize] as f64 / self.mix.total_weight() as f64;
        Some(self.transaction_rate()?.as_f64() * 60.0 * share * 0.99)
    }

    /// A stream for each kind, in the order of the kinds. `None` if the rates do not fit.
    pub fn kind_streams(&self) -> Option<Vec<Stream>> {
        TransactionKind::ALL
            .into_iter()
            .zip(self.mix.kind_weights())
            .map(|(kind, weight)| self.kind_stream(kind, weight))
            .collect()
    }

    fn kind_stream(&self, kind: TransactionKind, weight: u64) -> Option<Stream> {
        let arrival = match self.pace {
            Pace::Open { .. } | Pace::PerWarehouse { .. } => {
                Arrival::Poisson { rate: self.transaction_rate()?.scaled_by(weight, self.mix.total_weight())? }
            }
            Pace::Closed => Arrival::Closed { in_flight: self.session_count() },
            Pace::Keyed => Arrival::Paced { pause: keying_time(kind) },
        };
        Some(Stream {
            name: kind.stream_name().to_owned(),
            work: Work::Other { operation: kind.stream_name().to_owned() },
            arrival,
            per_target: false,
            targets: Vec::new(),
            life: Life::default(),
        })
    }

    /// The 90th percentiles of the standard, for windows of this length (TPC-C 5.11, clause 5.2.5.7; for deliveries the
    /// time of clause 2.7.2.2, because here a delivery is complete when it is committed).
    pub fn standard_criteria(slice: Span) -> Vec<Criterion> {
        let mut criteria = Vec::new();
        for kind in TransactionKind::ALL {
            let seconds = match kind {
                TransactionKind::NewOrder | TransactionKind::Payment | TransactionKind::OrderStatus => 5,
                TransactionKind::Delivery => 80,
                TransactionKind::StockLevel => 20,
            };
            criteria.push(Criterion {
                stream: kind.stream_name().to_owned(),
                measure: Measure::Response,
                bound: Bound::OverAtMost { over: Span::from_secs(seconds), at_most: Share::from_percent(10) },
                window: Some(slice),
                least_operations: 0,
                parts: assay_base::MarkedParts::EVERY,
            });
        }
        criteria
    }

    /// How the numbers came about, for one warehouse at 1x.
    pub fn derivation_steps(&self) -> Vec<Derivation> {
        let weights = self.mix.kind_weights();
        let shares: Vec<String> =
            TransactionKind::ALL.iter().zip(weights).map(|(kind, n)| format!("{n} {}", kind.stream_name())).collect();
        let (mix, of_mix) = match self.mix {
            Mix::Deck => ("a deck, shuffled anew when it is used up", "TPC-C 5.11, clause 5.2.4.2"),
            Mix::HammerDb => ("independent draws, so that TPM is 2.30 times NOPM", "HammerDB 6.0, its stored settings"),
        };
        let mut steps = vec![Derivation::new(
            "kinds of transactions",
            format!("{} of {}", shares.join(", "), self.mix.total_weight()),
            mix,
            of_mix,
        )];
        steps.extend(self.derivation_of_pace());
        for (what, formula) in [
            ("item", "NURand(8191, 1, 100000)"),
            ("customer", "NURand(1023, 1, 3000), in 40 of 100 payments and order statuses, and in every new order"),
            (
                "last name",
                "NURand(255, 0, 999), in 60 of 100 payments and order statuses; of those with it the middle one by first name",
            ),
        ] {
            steps.push(Derivation::new(what, formula, formula, "TPC-C 5.11, clause 2.1.6"));
        }
        let nurand = "((random(0..A) | random(x..y)) + C) mod (y - x + 1) + x, with a C of each field that follows from the seed";
        steps.push(Derivation::new("NURand(A, x, y)", nurand, nurand, "TPC-C 5.11, clause 2.1.6"));
        let remote = "1 of 100 order lines and 15 of 100 payments, where there are several warehouses";
        steps.push(Derivation::new("other warehouse", remote, remote, "TPC-C 5.11, clauses 2.4.1.5 and 2.5.1.2"));
        let undone =
            "1 of 100 new orders, whose last item does not exist; they count as done, and not as new orders a minute";
        steps.push(Derivation::new("rolled back", undone, undone, "TPC-C 5.11, clause 2.4.1.4"));
        steps
    }

    fn derivation_of_pace(&self) -> Vec<Derivation> {
        match self.pace {
            Pace::PerWarehouse { .. } => vec![Derivation::new(
                "rate of a warehouse",
                "12.86 new orders a minute / 60 / 45%",
                "643/1350 per second",
                "TPC-C 5.11, clause 4.1: the most that ten terminals do",
            )],
            Pace::Open { rate } => vec![Derivation::new("rate", "as written", rate.to_string(), "")],
            Pace::Closed => vec![Derivation::new(
                "pace",
                "a session asks again as soon as it has its answer",
                format!("{} sessions", self.session_count()),
                "",
            )],
            Pace::Keyed => vec![
                Derivation::new(
                    "terminals",
                    "10 for each warehouse",
                    "10 for each warehouse",
                    "TPC-C 5.11, clause 4.2.1",
                ),
                Derivation::new(
                    "keying",
                    "18, 3, 2, 2, 2 s for the kinds in their order",
                    "18, 3, 2, 2, 2 s for the kinds in their order",
                    "TPC-C 5.11, clause 5.2.5.7",
                ),
                Derivation::new(
                    "thinking",
                    "mean 12, 12, 10, 5, 5 s, exponential, cut at ten times the mean",
                    "mean 12, 12, 10, 5, 5 s, exponential, cut at ten times the mean",
                    "TPC-C 5.11, clauses 5.2.5.4 and 5.2.5.7",
                ),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(pace: Pace) -> Load {
        let (mix, home, mode) = (Mix::Deck, Homes::All, Mode::Client);
        Load { mix, home, mode, pace, sessions: None, warehouses: None, verify: Verify::No }
    }

    #[test]
    fn at_1x_a_warehouse_asks_for_the_new_orders_of_its_ten_terminals() {
        let one = load(Pace::at_1x());
        assert_eq!(one.transaction_rate(), Rate::from_ratio(643, 1350));
        let most = one.transaction_rate().unwrap().as_f64() * 60.0 * 0.45;
        assert!((most - 12.86).abs() < 1e-9, "{most}");
        let ten = Load { warehouses: Some(10), ..one.scaled_by(Multiple::from_whole(3)).unwrap() };
        assert_eq!(ten.transaction_rate(), Rate::from_ratio(643 * 30, 1350));
        assert!((ten.new_orders_a_minute().unwrap() - 30.0 * 12.86 * 0.99).abs() < 1e-9);
    }

    #[test]
    fn five_streams_share_the_rate_and_closed_loops_have_none() {
        let rates =
            |load: &Load| load.kind_streams().unwrap().iter().map(|it| it.arrival.mean_rate()).collect::<Vec<_>>();
        let open = load(Pace::Open { rate: Rate::per_second(100) });
        assert_eq!(rates(&open), [45, 43, 4, 4, 4].map(|n| Some(Rate::per_second(n))));
        for closed in [Pace::Closed, Pace::Keyed].map(load) {
            assert_eq!((rates(&closed), closed.transaction_rate()), (vec![None; 5], None));
            assert_eq!(closed.scaled_by(Multiple::from_whole(7)), Some(closed));
        }
        let huge = load(Pace::PerWarehouse { rate: Rate::per_second(u64::MAX) });
        assert_eq!(Load { warehouses: Some(2), ..huge }.kind_streams(), None);
    }

    #[test]
    fn terminals_are_ten_for_each_warehouse_and_sessions_follow_the_database() {
        let keyed = Load { warehouses: Some(2), ..load(Pace::Keyed) };
        assert_eq!((keyed.terminal_count(), keyed.session_count()), (Some(20), 20));
        let many = Load { warehouses: Some(500), sessions: Some(4), ..keyed };
        assert_eq!((many.terminal_count(), many.session_count()), (Some(5_000), 4));
        assert_eq!((load(Pace::Closed).terminal_count(), load(Pace::Closed).session_count()), (None, 32));
    }

    #[test]
    fn what_a_plan_keeps_is_read_back() {
        for pace in [Pace::at_1x(), Pace::Open { rate: Rate::per_second(20) }, Pace::Closed, Pace::Keyed] {
            let load = Load { sessions: Some(3), warehouses: Some(2), ..load(pace) };
            assert_eq!(serde_json::from_str::<Load>(&serde_json::to_string(&load).unwrap()).unwrap(), load);
        }
    }
}
