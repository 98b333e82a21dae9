//! The commits of an interrupted run, as far as its log counts them. A database that is continued must have at least
//! them: otherwise it has lost what it acknowledged, or it is another copy of it, such as a backup.

use assay_model::tpcc::TransactionKind;
use assay_record::{DatabaseSums, Header, Interval};
use assay_sql::ROLLED_BACK;

/// The transactions that one database has acknowledged to a segment of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggedCommits {
    /// The sums of the database before the segment.
    before: DatabaseSums,
    orders: u64,
    payments: u64,
}

impl LoggedCommits {
    /// Nothing yet, for each database of a segment; none for a log that does not say what they held before.
    pub(crate) fn of_header(header: &Header) -> Vec<LoggedCommits> {
        let sums: Option<Vec<DatabaseSums>> = header.databases.iter().map(|database| database.sums).collect();
        let sums = sums.unwrap_or_default().into_iter();
        sums.map(|before| LoggedCommits { before, orders: 0, payments: 0 }).collect()
    }

    /// Adds what an interval counts to the databases of its segment.
    pub(crate) fn add_interval(all: &mut [LoggedCommits], header: &Header, interval: &Interval) {
        for (head, flow) in header.flows.iter().zip(&interval.flows) {
            let Some(database) = all.get_mut(usize::from(head.target)) else { continue };
            let stream = header.streams.get(usize::from(head.stream)).map(|stream| stream.name.as_str());
            let rolled_back = flow.counted.get(ROLLED_BACK).copied().unwrap_or(0);
            match stream {
                Some(name) if name == TransactionKind::NewOrder.stream_name() => {
                    database.orders += flow.ok.saturating_sub(rolled_back)
                }
                Some(name) if name == TransactionKind::Payment.stream_name() => database.payments += flow.ok,
                _ => {}
            }
        }
    }

    /// Says which of these commits a database does not have whose sums are `now`.
    pub(super) fn describe_missing(&self, now: DatabaseSums) -> Option<String> {
        let sums = [
            ("D_NEXT_O_ID", now.next_orders, self.before.next_orders, self.orders),
            ("C_PAYMENT_CNT", now.payments, self.before.payments, self.payments),
        ];
        let missing = sums.into_iter().filter_map(|(name, now, before, committed)| {
            let least = before.saturating_add(i64::try_from(committed).unwrap_or(i64::MAX));
            (now < least).then(|| format!("the sum of {name} is {now}, and must be at least {least}"))
        });
        let missing: Vec<String> = missing.collect();
        (!missing.is_empty()).then(|| {
            let what = "commits that were acknowledged before the run was interrupted are not there";
            format!("{what}: {}", missing.join("; "))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use assay_record::{DatabaseHead, FlowHead, FlowInterval, StreamHead};
    use std::collections::BTreeMap;

    fn header(sums: Option<DatabaseSums>) -> Header {
        let plan = crate::workloads::find_workload("random-read").unwrap().make_plan(&Default::default()).unwrap();
        let stream = |kind: TransactionKind| StreamHead {
            name: kind.stream_name().to_owned(),
            direction: None,
            operation: None,
            arrival: String::new(),
            rate: None,
            size: String::new(),
            size_done: String::new(),
            per_target: true,
        };
        let streams: Vec<StreamHead> = TransactionKind::ALL.map(stream).into();
        let flows = (0..streams.len() as u16).map(|stream| FlowHead { stream, target: 0 }).collect();
        let databases = vec![DatabaseHead { sums, ..DatabaseHead::default() }];
        Header { streams, flows, databases, ..crate::log::header::make_header(&plan, Default::default()) }
    }

    #[test]
    fn a_database_that_has_less_than_the_log_counts_has_lost_it() {
        let before = DatabaseSums { next_orders: 100, payments: 50, ytd: 1_000 };
        let header = header(Some(before));
        let mut all = LoggedCommits::of_header(&header);
        let counted = BTreeMap::from([(ROLLED_BACK.to_owned(), 1)]);
        let flow = |ok| FlowInterval { ok, ..FlowInterval::default() };
        let new_orders = FlowInterval { counted, ..flow(4) };
        let interval = Interval { flows: vec![new_orders, flow(3), flow(9), flow(9), flow(9)], ..Interval::default() };
        LoggedCommits::add_interval(&mut all, &header, &interval);
        LoggedCommits::add_interval(&mut all, &header, &interval);
        let [commits] = all.as_slice() else { panic!("one database") };
        for (next_orders, payments, missing) in [
            (106, 56, None),
            (200, 200, None),
            (105, 56, Some("the sum of D_NEXT_O_ID is 105, and must be at least 106")),
            (106, 55, Some("the sum of C_PAYMENT_CNT is 55, and must be at least 56")),
            (100, 50, Some("at least 106; the sum of C_PAYMENT_CNT is 50")),
        ] {
            let found = commits.describe_missing(DatabaseSums { next_orders, payments, ytd: 0 });
            assert_eq!(found.is_some(), missing.is_some(), "{found:?}");
            assert!(found.unwrap_or_default().contains(missing.unwrap_or_default()));
        }
    }

    #[test]
    fn a_log_that_does_not_say_what_was_there_before_claims_nothing() {
        assert_eq!(LoggedCommits::of_header(&header(None)), []);
    }
}
