//! The keys of a mail store, its streams on targets of any kind, and files that are wrong.

use super::*;
use crate::arrival::Part;
use crate::generator::Generator;
use crate::plan::{Arrival, Plan, Stream};
use crate::workload::{self, Adjust};
use assay_base::{Geometry, Instant, Rate, Span};

fn read(keys: &str) -> Result<workload::Workload, String> {
    workload::read_workload("mail.toml", &format!("model = \"mail\"\n{keys}\n")).map_err(|faults| faults.to_string())
}

fn plan(keys: &str, targets: u16) -> Result<Plan, String> {
    read(keys)?.make_plan(&Adjust { targets, seed: 5, ..Adjust::default() })
}

fn stream<'a>(plan: &'a Plan, name: &str) -> &'a Stream {
    plan.load.streams.iter().find(|stream| stream.name == name).unwrap_or_else(|| panic!("{name}"))
}

/// Where the part of a stream begins and ends, in bytes, on a target of `size` bytes.
fn extent(plan: &Plan, name: &str, size: u64, block: u32) -> (u64, u64) {
    let (begin, length) = stream(plan, name).as_block().unwrap().extent.unwrap().range_within(size, block);
    (begin, begin + length)
}

#[test]
fn a_store_without_keys_is_the_edition_of_2013() {
    let workload = read("").unwrap();
    assert_eq!((workload.timing.duration, workload.timing.slice), (Span::from_secs(7200), Span::from_secs(300)));
    assert!(workload.verification.if_possible && !workload.verification.verify);
    let plan = plan("", 1).unwrap();
    let rates: Vec<String> = plan
        .load
        .streams
        .iter()
        .map(|it| {
            format!("{} {} {:.4}", it.name, it.arrival.arrival_name(), it.arrival.mean_rate().map_or(0.0, Rate::as_f64))
        })
        .collect();
    assert_eq!(
        rates,
        [
            "db-reads poisson 29.6760",
            "db-writes poisson 29.5113",
            "db-extends poisson 0.8127",
            "log-writes poisson 9.6660",
            "maintenance steady 4.0000"
        ]
    );
    let criteria: Vec<String> = plan.criteria.iter().map(ToString::to_string).collect();
    assert_eq!(
        criteria,
        [
            "db-reads response mean at most 20ms per run",
            "db-reads response mean at most 100ms per 15s",
            "log-writes response mean at most 10ms per run",
            "log-writes response mean at most 100ms per 15s"
        ]
    );
    assert!(plan.load.streams.iter().all(|it| it.as_block().unwrap().durable == it.writes_blocks()));
    assert!(
        plan.notes.remarks.iter().any(|note| note.contains("not comparable with Microsoft's results")),
        "{:?}",
        plan.notes.remarks
    );
    assert_eq!(serde_json::from_str::<Plan>(&serde_json::to_string(&plan).unwrap()).unwrap(), plan);
}

#[test]
fn keys_change_what_they_name() {
    let whole = plan(
        "edition = \"2010\"\nmailboxes = 50\niops_per_mailbox = \"2/s\"\nreads = \"60%\"\nlog_writes = \"10%\"\ngrowth = \"0%\"\n\
         log_mean = \"6KiB\"\nwrite_batch = 8\ncopies = 3\ndurable = false\ntest = \"stress\"\ncheck = \"all\"\nverify = true",
        1,
    )
    .unwrap();
    assert_eq!(stream(&whole, "db-reads").arrival, Arrival::Poisson { rate: Rate::per_second(60) });
    assert_eq!(stream(&whole, "db-writes").arrival, Arrival::Batches { rate: Rate::per_second(40), batch: 8 });
    assert!(whole.load.streams.iter().all(|it| it.name != "db-extends" && !it.as_block().unwrap().durable));
    assert_eq!(stream(&whole, "maintenance").arrival, Arrival::Paced { pause: Span::from_ms(20) });
    let shipped = stream(&whole, "log-reads").arrival.mean_rate().unwrap().as_f64();
    assert!((shipped - 2.0 * 10.0 * 6144.0 / 262_144.0).abs() < 1e-9, "{shipped}");
    assert_eq!(
        (whole.timing.measured_length(), whole.verification.check_all.clone()),
        (Span::from_secs(86_400), vec!["db-reads".to_owned()])
    );
    assert!(whole.criteria.iter().any(|it| it.to_string() == "log-writes response mean at most 200ms per 15s"));
    for (keys, arrival) in
        [("\"off\"", None), ("\"2.5/s\"", Some(Arrival::Steady { rate: Rate::from_ratio(5, 2).unwrap() }))]
    {
        let plan = plan(&format!("maintenance = {keys}"), 1).unwrap();
        let own = plan.load.streams.iter().find(|it| it.name == "maintenance").map(|it| it.arrival.clone());
        assert_eq!(own, arrival, "{keys}");
    }
    let counted = plan("mailboxes = 250", 2).unwrap().load.load_unit().unwrap();
    assert_eq!(
        counted.at_load(assay_base::Multiple::from_whole(3)),
        "750 mailboxes in each of 2 databases, 1500 in all"
    );
}

/// Database, room to grow and log lie one after the other, for any size and block size of the target.
#[test]
fn parts_do_not_meet_and_pages_do_not_cross_an_end() {
    let plan = plan("log_size = \"300MiB\"", 1).unwrap();
    for (size, block) in
        [(1 << 30, 512u32), ((1 << 30) + 512 * 7, 512), ((1 << 40) + 4096, 4096), ((301 << 20) + 4096, 4096)]
    {
        let (database, reserve, log) = (
            extent(&plan, "db-reads", size, block),
            extent(&plan, "db-extends", size, block),
            extent(&plan, "log-writes", size, block),
        );
        assert_eq!(
            (database, extent(&plan, "maintenance", size, block)),
            (extent(&plan, "db-writes", size, block), database)
        );
        assert!(
            database.0 == 0 && database.1 <= reserve.0 && reserve.1 <= log.0 && log.1 <= size,
            "{size}: {database:?} {reserve:?} {log:?}"
        );
        assert_eq!((log.1 - log.0, log.0 % u64::from(block)), (300 << 20, 0), "{size}");
        assert!(
            reserve.0 - database.1 <= PAGE.get() && log.0 - reserve.1 <= PAGE.get(),
            "nothing is left between them"
        );
        let parts =
            [("db-reads", database), ("db-writes", database), ("db-extends", reserve), ("maintenance", database)];
        for (name, (begin, end)) in parts {
            let at = plan.load.streams.iter().position(|it| it.name == name).unwrap() as u16;
            let geometry = Geometry { size, block };
            let mut own = Generator::new(&plan, at, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
            for _ in 0..2000 {
                let op = own.next_operation(Instant::ZERO);
                assert!(
                    op.offset >= begin && op.offset + u64::from(op.len) <= end,
                    "{name}: {op:?} in {begin} to {end}"
                );
                assert!(
                    op.offset.is_multiple_of(PAGE.get()) && u64::from(op.len).is_multiple_of(PAGE.get()),
                    "{name}: whole pages: {op:?}"
                );
            }
        }
        assert!(plan.check_fits(&[Geometry { size, block }]).is_ok(), "{size}");
    }
    for size in [0, 4096, 299 << 20, 300 << 20, (300 << 20) + 65_536] {
        let told = plan.check_fits(&[Geometry { size, block: 512 }]).unwrap_err();
        assert!(told.contains("does not fit on target 1") && told.contains("log_size"), "{size}: {told}");
    }
}

/// A database that is not as large as its target allows still has a quarter of its size as room to grow, right behind it.
#[test]
fn a_database_has_the_size_that_is_asked_for() {
    const GIB: u64 = 1 << 30;
    for (keys, size, database, room) in [
        ("", 11 * GIB, 8 * GIB, 2 * GIB),
        ("database_size = \"80%\"", 11 * GIB, 8 * GIB, 2 * GIB),
        ("database_size = \"40%\"", 11 * GIB, 4 * GIB, GIB),
        ("database_size = \"4GiB\"", 11 * GIB, 4 * GIB, GIB),
        ("database_size = \"4GiB\"", 6 * GIB, 4 * GIB, GIB),
        ("database_size = \"17179934720B\"", 100 * GIB, 17_179_934_720, 4 * GIB),
        ("database_size = \"100%\"\ngrowth = \"0%\"", 11 * GIB, 10 * GIB, 0),
        ("database_size = \"50%\"\nlog = \"last\"", 10 * GIB, 5 * GIB, 5 * GIB / 4),
    ] {
        let plan = plan(keys, 1 + u16::from(keys.contains("last"))).unwrap();
        let own = extent(&plan, "db-reads", size, 512);
        assert_eq!(
            (own, extent(&plan, "maintenance", size, 512)),
            ((0, database / PAGE.get() * PAGE.get()), own),
            "{keys}"
        );
        match room {
            0 => assert!(plan.load.streams.iter().all(|it| it.name != "db-extends"), "{keys}"),
            room => {
                let (begin, end) = extent(&plan, "db-extends", size, 512);
                assert_eq!((begin, (end - begin) / PAGE.get()), (own.1, room / PAGE.get()), "{keys}");
            }
        }
        let mail = plan.load.mail().unwrap();
        let log = if keys.contains("last") { 0 } else { GIB };
        assert_eq!(mail.database_space(size, 512), size - log, "{keys}");
        assert!(
            plan.check_fits(&vec![Geometry { size, block: 512 }; usize::from(plan.load.targets)]).is_ok(),
            "{keys}"
        );
        let again: Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
        assert_eq!(again, plan, "{keys}");
    }
    assert!(!serde_json::to_string(&plan("", 1).unwrap()).unwrap().contains("database_size"), "as logs had it before");
    let large = plan("database_size = \"10GiB\"", 1).unwrap();
    let told = large.check_fits(&[Geometry { size: 11 * GIB, block: 512 }]).unwrap_err();
    assert!(told.contains("db-extends does not fit on target 1") && told.contains("database_size"), "{told}");
}

#[test]
fn logs_on_the_last_target_are_those_of_the_databases_on_the_others() {
    let keys = "log = \"last\"\ncopies = 2\nlog_size = \"256MiB\"";
    let three = plan(keys, 4).unwrap();
    assert_eq!(stream(&three, "db-reads").targets, [0, 1, 2]);
    for database in 0..3u64 {
        let (writes, reads) = (format!("log-writes-{}", database + 1), format!("log-reads-{}", database + 1));
        assert_eq!(
            (stream(&three, &writes).targets.as_slice(), stream(&three, &reads).targets.as_slice()),
            (&[3][..], &[3][..])
        );
        let begin = database * (256 << 20);
        assert_eq!(extent(&three, &writes, 1 << 30, 512), (begin, begin + (256 << 20)));
        assert_eq!(stream(&three, &reads).arrival.followed_stream(), Some(&writes));
        assert!(three.criteria.iter().filter(|it| it.stream == writes).count() == 2, "each log is judged");
    }
    let rate = |name: &str| stream(&three, name).arrival.mean_rate().unwrap().as_f64();
    assert!((rate("db-reads") - 3.0 * 29.676).abs() < 1e-6 && (rate("log-writes-2") - 9.666).abs() < 1e-6);
    let (small, large) = (Geometry { size: 16 << 20, block: 512 }, Geometry { size: 768 << 20, block: 512 });
    assert!(three.check_fits(&[small, large, small, large]).is_ok(), "a database needs no room for a log");
    let told = three.check_fits(&[large, large, large, small]).unwrap_err();
    assert!(told.contains("log-writes-1 does not fit on target 4"), "{told}");

    let one = plan(keys, 2).unwrap();
    assert_eq!((stream(&one, "log-writes").targets.as_slice(), one.criteria.len()), (&[1][..], 4));
    assert!(plan(keys, 1).unwrap_err().contains("give a target for each database and one more for the logs"));
    assert!(plan(keys, 300).unwrap_err().contains("streams"));
}

#[test]
fn what_is_wrong_has_a_caret_and_a_remedy() {
    for (keys, what, remedy) in [
        ("mailboxes = 0", "0 is not a number of mailboxes", "write 1 to 100000000"),
        ("mailboxes = -4", "", "mailboxes"),
        ("iops_per_mailbox = \"0/s\"", "causes no I/O", "\"0.06/s\""),
        ("iops_per_mailbox = 0.06", "", ""),
        ("reads = \"100%\"", "100% is not a share of reads", "write 0.0000001% to"),
        ("reads = \"0%\"", "is not a share of reads", ""),
        ("log_writes = \"0%\"", "is not a share of log writes", "1000%"),
        ("growth = \"51%\"", "by which a database grows", "write 0% to 50%"),
        ("log_mean = \"64KiB\"", "is not a mean size of log writes", "write 512B to 32KiB"),
        ("write_batch = 0", "pages at one moment", "write 1 to 4096"),
        ("copies = 17", "number of copies", "write 1 to 16"),
        ("copies = 2\nlog_size = \"255MiB\"", "too small for 2 copies", "copies = 1"),
        ("log_size = \"1MB\"", "not a size of a log", "multiple of 1MiB"),
        ("log_size = \"0B\"", "not a size of a log", "multiple of 1MiB"),
        ("database_size = \"81%\"", "81% is not a share of the space", "at most 80%, or growth = \"0%\""),
        ("database_size = \"0%\"", "0% is not a share of the space", "more than 0%"),
        ("database_size = \"101%\"\ngrowth = \"0%\"", "101% is not a share", "at most 100%"),
        ("database_size = \"1000000B\"", "is not a size of a database", "multiple of 32KiB"),
        ("database_size = \"0B\"", "is not a size of a database", "multiple of 32KiB"),
        ("database_size = \"large\"", "", "\"50%\""),
        ("maintenance = \"fast\"", "\"fast\" is not a value for maintenance", "\"paced\""),
        ("maintenance = \"0/s\"", "is not a value for maintenance", "above 0/s"),
        ("edition = \"2016\"", "2016", "2010"),
        ("log = \"first\"", "first", "same"),
        ("test = \"soak\"", "soak", "stress"),
        ("check = \"all\"\nverify = false", "nothing is checked without verify", "remove check"),
        ("mailbox = 3", "mailbox", "mailboxes"),
    ] {
        let told = read(keys).unwrap_err();
        assert!(told.contains(what) && told.contains(remedy), "{keys}: {told}");
        assert!(told.contains("mail.toml:") && told.contains('^'), "{keys}: {told}");
    }
}

#[test]
fn a_batch_is_written_in_ascending_order() {
    let plan = plan("write_batch = 16", 1).unwrap();
    let geometry = Geometry { size: 8 << 30, block: 512 };
    let mut own = Generator::new(&plan, 1, 0, geometry, Part { index: 0, of: 1 }, Instant::ZERO).unwrap();
    let mut schedule = own.schedule.take().unwrap();
    let mut last = (Instant::ZERO, 0);
    let mut ascents = 0;
    for at in 0..1600 {
        let (due, offset) = (schedule.next_due(), own.next_operation(schedule.next_due()).offset);
        schedule.advance_to_next();
        if at % 16 != 0 {
            assert!(due == last.0 && offset >= last.1, "{at}");
            ascents += u64::from(offset > last.1);
        } else {
            assert!(due > last.0, "{at}");
        }
        last = (due, offset);
    }
    assert!(ascents > 1400, "places of their own");
}
