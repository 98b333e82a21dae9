//! Verification against a disk in memory that guarantees no more than a real disk: sectors of an operation are written
//! and read one by one, at any time between its submission and its completion. Whatever overlaps, this alone is never
//! reported as damage; whatever is lost, torn, misdirected or changed is always reported.
#![allow(clippy::unwrap_used, reason = "a test")]

use crate::memory;

use assay_model::{Plan, workload};
use assay_record::FlowInterval;
use memory::{Fault, run, run_on};
use std::collections::BTreeSet;

fn plan(streams: &str, seed: u64) -> Plan {
    let file = format!("model = \"streams\"\nverify = true\nduration = \"200ms\"\ninterval = \"20ms\"\n{streams}");
    let adjust = workload::Adjust { targets: 1, seed, ..workload::Adjust::default() };
    workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap()
}

/// Reads and writes of many sizes that overlap in every way.
fn crowded() -> &'static str {
    "[[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = { from = \"512B\", to = \"16KiB\" }\nin_flight = 12\n\
     [[stream]]\nname = \"hot\"\ndirection = \"write\"\nsize = \"4KiB\"\nin_flight = 2\naddress = \"sequential\"\n\
     [[stream]]\nname = \"r\"\ndirection = \"read\"\nsize = { from = \"512B\", to = \"16KiB\" }\nin_flight = 12\n"
}

/// Writes of 4 KiB to separate places, and reads of the same places.
fn apart() -> &'static str {
    "[[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = \"4KiB\"\nin_flight = 1\naddress = { uniform = \"4KiB\" }\n\
     [[stream]]\nname = \"r\"\ndirection = \"read\"\nsize = \"4KiB\"\nin_flight = 4\naddress = { uniform = \"4KiB\" }\n"
}

fn covers(places: &[(u64, u64)], (offset, len): (u64, u64)) -> bool {
    places.iter().any(|(begin, length)| offset < begin + length && *begin < offset + len)
}

#[test]
fn whatever_overlaps_is_no_damage() {
    for seed in 1..=6 {
        for (fault, workers) in [(Fault::None, 1), (Fault::None, 3), (Fault::Fails, 1), (Fault::Fails, 3)] {
            let outcome = run(&plan(crowded(), seed), fault, 7, workers);
            let case = format!("seed {seed}, {fault:?}, {workers} workers");
            assert_eq!(outcome.told(), [], "{case}: {:?}", outcome.events.last());
            let read = &outcome.flows[2];
            assert!(read.verified > 500, "{case}: {read:?}");
            assert_eq!(read.verified + read.unverified, read.ok, "{case}");
            let back = &outcome.flows[3];
            assert!(back.verified + back.unverified == back.ok && back.verified > 10, "{case}: {back:?}");
            assert!(outcome.phases.keys().eq(&[0, 1]), "{case}: {:?}", outcome.phases);
        }
    }
}

#[test]
fn all_that_is_injected_is_found_and_nothing_else() {
    for seed in 1..=6 {
        for (fault, kind) in [
            (Fault::Lost, "lost"),
            (Fault::Torn, "torn"),
            (Fault::Misdirected, "misdirected"),
            (Fault::Corrupt, "corrupt"),
        ] {
            for workers in [1, 2] {
                let outcome = run(&plan(apart(), seed), fault, 13, workers);
                let case = format!("seed {seed}, {fault:?}, {workers} workers");
                let told = outcome.told();
                assert!(outcome.disk.injected > 50, "{case}: {}", outcome.disk.injected);
                for place in &told {
                    assert!(covers(&outcome.disk.damaged, *place), "{case}: {place:?} was never damaged");
                }
                assert!(outcome.kinds()[kind] > 0, "{case}: {:?}", outcome.kinds());
                let damaged: u64 = outcome.flows.iter().map(|flow| flow.damaged).sum();
                assert_eq!(damaged, told.len() as u64, "{case}");
                let failed: u64 = outcome.flows.iter().map(FlowInterval::failed_operations).sum();
                assert!(failed >= damaged, "{case}");
            }
        }
    }
}

#[test]
fn what_is_left_damaged_at_the_end_is_found_by_reading_back() {
    for seed in 1..=6 {
        for (fault, kinds) in [
            (Fault::Lost, &["lost"][..]),
            (Fault::Torn, &["torn"]),
            (Fault::Misdirected, &["lost", "misdirected"]),
            (Fault::Corrupt, &["corrupt"]),
        ] {
            // Single writes, one after the other, each to a place of its own: what is injected stays.
            let once = "[[stream]]\nname = \"w\"\ndirection = \"write\"\nsize = \"4KiB\"\nrate = \"1000/s\"\narrival = \"steady\"\naddress = \"sequential\"\n";
            let outcome = run(&plan(once, seed), fault, 13, 1);
            let case = format!("seed {seed}, {fault:?}: {:?}", outcome.kinds());
            assert_eq!(outcome.disk.writes, 200, "less than the 256 places of the disk");
            assert_eq!(outcome.disk.injected, 200 / 13, "{case}");
            let told: BTreeSet<u64> = outcome.told().iter().map(|(offset, _)| *offset).collect();
            for (offset, _) in outcome.disk.damaged.iter().filter(|_| fault != Fault::Misdirected) {
                assert!(told.contains(&(offset / 4096 * 4096)), "{case}: {offset}");
            }
            assert_eq!(told.len() as u64, outcome.disk.injected, "{case}");
            assert!(outcome.kinds().keys().all(|kind| kinds.contains(kind)), "{case}");
        }
    }
}

/// A page store of 2.4 MiB and its log of 1 MiB, which 5/s for each mailbox write round once.
fn mail(check: &str, iops: &str, seed: u64) -> Plan {
    let file = format!(
        "model = \"mail\"\nverify = true\nduration = \"200ms\"\ninterval = \"20ms\"\nslice = \"200ms\"\niops_per_mailbox = \"{iops}\"\n\
         log_size = \"1MiB\"\nmaintenance = \"paced\"\nwrite_batch = 4\ncheck = \"{check}\"\ndurable = false"
    );
    let adjust = workload::Adjust { targets: 1, seed, ..workload::Adjust::default() };
    workload::read_workload("t", &file).unwrap().make_plan(&adjust).unwrap()
}

const STORE: u64 = 4 << 20;
const LOG: u64 = 3 << 20;

/// Pages and log blocks have units of their own, and what is damaged in either is found where it is.
#[test]
fn damage_of_pages_and_of_the_log_is_found_at_its_address() {
    for (fault, kind) in
        [(Fault::Lost, "lost"), (Fault::Torn, "torn"), (Fault::Misdirected, "misdirected"), (Fault::Corrupt, "corrupt")]
    {
        let (mut pages, mut blocks) = (0, 0);
        for (seed, workers) in [(1, 1), (2, 2), (3, 1), (4, 3)] {
            let outcome = run_on(STORE, &mail("written", "5/s", seed), fault, 11, workers);
            let case = format!("{fault:?}, seed {seed}, {workers} workers");
            assert!(outcome.disk.injected > 20, "{case}: {}", outcome.disk.injected);
            let told = outcome.told();
            for place in &told {
                assert!(covers(&outcome.disk.damaged, *place), "{case}: {place:?} was never damaged");
            }
            assert!(outcome.kinds().get(kind).is_some_and(|n| *n > 0), "{case}: {:?}", outcome.kinds());
            pages += told.iter().filter(|(offset, _)| *offset < LOG).count();
            blocks += told.iter().filter(|(offset, _)| *offset >= LOG).count();
        }
        assert!(pages > 10 && blocks > 10, "{fault:?}: {pages} pages and {blocks} blocks");
    }
}

#[test]
fn a_sound_store_is_read_back_page_by_page() {
    for (check, workers) in [("written", 1), ("written", 3), ("all", 1), ("all", 3)] {
        let outcome = run_on(STORE, &mail(check, "0.5/s", 9), Fault::None, 11, workers);
        assert_eq!(outcome.told(), [], "{check}: {:?}", outcome.events.last());
        let back = outcome.flows.last().unwrap();
        assert!(back.verified > 10, "{check}: {back:?}");
        // Of what was written every read proves something; of the rest of the pages none does.
        assert_eq!(back.unverified > 0, check == "all", "{check}: {back:?}");
        assert_eq!(back.verified + back.unverified, back.ok, "{check}");
    }
}
